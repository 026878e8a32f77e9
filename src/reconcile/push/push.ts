/**
 * Sends edits to the service, at most `batchSize` users per request, several requests in parallel:
 *
 * 1. read the users again and merge again: the interface has no compare-and-set, so only changes between
 *    this read and the answer can be overwritten. A push that now differs from what the guard let
 *    pass waits for the next run;
 * 2. write down what will be sent (an open intent per user), and only then send it;
 * 3. match the answer by id and field; base moves on confirmation only;
 * 4. if the outcome stays unknown, the intent stays open, and the next run reads the user back.
 *
 * Nothing is sent twice blindly, and nothing leaves long after it was prepared (`send-guard.ts`).
 */
import { ServiceError } from '../../errors.ts';
import { type Field, singleNames } from '../../model/fields.ts';
import { mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { Intent } from '../../model/intent.ts';
import { countWords } from '../../model/name.ts';
import { readable } from '../../model/user.ts';
import { arrangeBatches, type Batch, batchesAtOnce, readLessons, takeGroup } from './batches.ts';
import { type Prepared, prepare, takePlanned } from './prepare.ts';
import { isNameHeld, isNameless } from './carry-name.ts';
import type { PushContext, PushSettings } from './record.ts';
import { sendIntents } from './send.ts';
import { isPassing, LateError } from './send-guard.ts';
import { patchedFields } from './outcome.ts';

async function arrange(
  { mirror, users, fresh }: PushContext,
  { batchSize }: PushSettings,
  plans: readonly UserPlan[],
): Promise<readonly Batch<UserPlan>[]> {
  const pushes = plans.map((plan) => ({ id: plan.id, patch: pushOf(plan), plan }));
  const lessons = fresh?.lessons ?? (await mirror.inSnapshot((snapshot) => readLessons(snapshot, pushes)));
  const canPutBack = ({ id }: UserPlan) => countWords(readable(users.get(id)?.name) ?? '') <= 2;
  const batches = arrangeBatches(pushes, batchSize, lessons, (probes) => {
    const free = probes.filter(({ plan }) => !isNameHeld(plan));
    return free.find(({ plan }) => canPutBack(plan)) ?? free[0] ?? probes[0];
  });
  return batches.map((batch) => ({ ...batch, plans: batch.plans.map(({ plan }) => plan) }));
}

/** How often a batch is prepared and sent if a 429 or a long wait keeps stopping it. */
const maxRounds = 3;

/** `refused` means that all of several users were refused, `nothing` that only one was, or that none was left to send. */
type BatchResult = 'taken' | 'refused' | 'nothing' | 'late';

/** The outcome of a batch, and the users that the service refused individually. */
interface SentBatch {
  readonly pushed: BatchResult;
  readonly refused: readonly Intent[];
  /** The reason why nothing of it was sent, so that it may be prepared and sent again; `null` if it is not put off. */
  readonly putOff: Error | null;
  /** Whether the batch was prepared more than once. */
  readonly wasPutOff: boolean;
}

/** A batch of which nothing was refused or put off. */
const sentAtOnce: Omit<SentBatch, 'pushed'> = { refused: [], putOff: null, wasPutOff: false };

/** Sends the rest of one batch. @throws errors that end the push */
async function sendPrepared(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  readAtMs: number,
): Promise<SentBatch> {
  const { notes, monotonicMs, breaker } = places;
  if (intents.length === 0) return { ...sentAtOnce, pushed: 'nothing' };
  const sending = { ...places, answered: { requestId: null } };
  try {
    const refused = await sendIntents(sending, settings, intents);
    const windowMs = Math.round(monotonicMs() - readAtMs);
    notes.pushWindow(windowMs);
    const users = intents.map(({ userId }) => userId);
    notes.event({ kind: 'push', users, requestId: sending.answered.requestId, windowMs });
    if (refused.length < intents.length) return { ...sentAtOnce, pushed: 'taken', refused };
    return { ...sentAtOnce, pushed: intents.length === 1 ? 'nothing' : 'refused', refused };
  } catch (error) {
    if (!(error instanceof Error) || !isPassing(error)) throw error;
    // Another update of the group opened the breaker and reported it: nothing more is pushed.
    if (breaker.open) return { ...sentAtOnce, pushed: 'late' };
    return { ...sentAtOnce, pushed: 'late', putOff: error };
  }
}

/**
 * Prepares batches together and sends them in parallel. A batch that was stopped before it had any effect (by a 429,
 * or because it got too old) is prepared and sent again alone. If that happens each time, it waits for the next run and
 * the others go on. If an error ends the push, the outcomes of the others are recorded first.
 */
async function sendBatches(
  places: PushContext,
  settings: PushSettings,
  batches: readonly Batch<UserPlan>[],
  ofNamed = false,
  round = 1,
): Promise<readonly SentBatch[]> {
  const planned = round === 1 ? await takePlanned(places, batches) : undefined;
  const readAtMs = planned?.readAtMs ?? places.monotonicMs();
  const plans = batches.flatMap((batch) => batch.plans);
  const prepared: Prepared = planned ?? (await prepare(places, settings, plans, ofNamed));
  const { intents, users } = prepared;
  const sending = { ...places, users, sendByMs: prepared.readAtMs + settings.sendDeadlineMs };
  const ends = await Promise.allSettled(
    batches.map(async (batch) => {
      const ids = new Set(batch.plans.map(({ id }) => id));
      const mine = intents.filter(({ userId }) => ids.has(userId));
      return { batch, sent: await sendPrepared(sending, settings, mine, readAtMs) };
    }),
  );
  const all = ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
  const results: SentBatch[] = [];
  for (const { batch, sent } of all) {
    if (sent.putOff === null) results.push(sent);
    else if (round < maxRounds) {
      const again = await sendBatches(places, settings, [batch], ofNamed, round + 1);
      results.push(...again.map((result) => ({ ...result, wasPutOff: true })));
    } else {
      if (!(sent.putOff instanceof LateError)) throw sent.putOff;
      places.notes.partial(sent.putOff.message);
      results.push(sent);
    }
  }
  return results;
}

/**
 * Sends each field of a refused update alone, like any other push, so that only the bad one is held. If names are known
 * to be kept, an edited name goes last, so that no other field overwrites it; otherwise it goes first, so that the
 * others can carry it. The email comes after the other fields: most users are looked up by it.
 */
async function pushByField(
  places: PushContext,
  settings: PushSettings,
  plan: UserPlan,
  { sent }: Intent,
): Promise<boolean> {
  if (patchedFields(sent).length === 1) return false;
  const keepsName = (await places.mirror.readNameSafety()) === 'keeps';
  const others = singleNames.toReversed();
  const order: readonly Field[] = keepsName ? [...others, 'name'] : ['name', ...others];
  let taken = false;
  for (const field of order.filter((name) => sent[name] !== undefined)) {
    if (places.breaker.open) break;
    const part = mapPushes(plan, (other, push) => (other === field ? push : { kind: 'wait' }));
    const alone = { plans: [part], isProbe: false, isTroubled: false, keepsNames: false };
    const [result] = await sendBatches(places, settings, [alone], sent.name !== undefined);
    if (result?.pushed === 'taken') taken = true;
  }
  return taken;
}

/** Pushes batches, and field by field the users that the service refused as a whole. */
async function pushBatches(
  places: PushContext,
  settings: PushSettings,
  batches: readonly Batch<UserPlan>[],
): Promise<{ readonly results: readonly BatchResult[]; readonly isSmooth: boolean }> {
  const results: BatchResult[] = [];
  const all = await sendBatches(places, settings, batches);
  for (const { pushed, refused } of all) {
    let taken = false;
    for (const intent of refused) {
      const plan = batches.flatMap((batch) => batch.plans).find(({ id }) => id === intent.userId);
      if (plan !== undefined && (await pushByField(places, settings, plan, intent))) taken = true;
    }
    results.push(taken ? 'taken' : pushed);
  }
  return { results, isSmooth: all.every(({ wasPutOff }) => !wasPutOff) };
}

/** After this many updates without an answer the service counts as down; it is not about single users. */
const maxUnanswered = 3;

/**
 * The pushes that are left after a probe. If the probe showed nothing (refused, no answer,
 * no effect, or no name to see), the next one follows. If the probe could not leave in time, no update goes without
 * a name.
 */
async function afterProbe(
  places: PushContext,
  settings: PushSettings,
  pushed: BatchResult,
  batches: readonly Batch<UserPlan>[],
): Promise<readonly Batch<UserPlan>[]> {
  const plans = batches.flatMap((batch) => batch.plans);
  const left = pushed === 'late' ? plans.filter((plan) => !isNameless(pushOf(plan))) : plans;
  // The probe has taught something since the plan was made.
  return await arrange({ ...places, fresh: null }, settings, left);
}

/** An error that ends the run counts more than one that makes it partial. */
function gravestOf(failures: readonly unknown[]): unknown {
  const endsRun = (error: unknown) => !(error instanceof ServiceError) || error.code === 'credentials';
  return failures.find(endsRun) ?? failures[0];
}

/**
 * Pushes all edits, unless nothing may be sent (`sendBlock`). Stops at once if the service refuses us; refused fields are
 * held and do not affect others. Sends one batch at a time until one was accepted at the first attempt, and after an
 * update without an answer; otherwise several in parallel. Each user is in one batch.
 */
export async function pushEdits(
  places: PushContext,
  settings: PushSettings,
  plans: readonly UserPlan[],
): Promise<void> {
  const { notes, breaker } = places;
  if (places.sendBlock !== undefined) return;
  let batches = await arrange(places, settings, plans);
  let done = 0;
  let wasTaken = false;
  let halted = false;
  const failures: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  /** Nothing leaves in parallel to a probe, because its result is not known yet. It comes first. */
  let isProbing = false;
  const isOver = () => halted || breaker.open || breaker.unanswered >= maxUnanswered || failures.length > 0;

  const push = async (group: readonly Batch<UserPlan>[]) => {
    const { results, isSmooth } = await pushBatches(places, settings, group);
    wasTaken = isSmooth && (wasTaken || results.includes('taken'));
    if (results.includes('refused') && !halted) {
      halted = true;
      notes.partial('the service refused every user of a batch: pushing stopped');
    }
    if (group[0]?.isProbe === true && !halted)
      batches = await afterProbe(places, settings, results[0] ?? 'nothing', batches);
    done += group.flatMap((batch) => batch.plans).length;
    if (!halted) notes.event({ kind: 'progress', step: 'push', done, total: plans.length });
  };

  for (;;) {
    const atOnce = wasTaken && breaker.unanswered === 0 ? settings.updatesAtOnce : 1;
    const group = takeGroup(batches, atOnce);
    // While the updates of one group are in flight, the users of the next group are read.
    const goesAlone = isProbing || group[0]?.isTroubled === true;
    const most = goesAlone ? 1 : atOnce / batchesAtOnce;
    if (underWay.size > 0 && (underWay.size >= most || group.length === 0 || isOver())) {
      await Promise.race(underWay);
      continue;
    }
    if (group.length === 0 || isOver()) break;
    batches = batches.slice(group.length);
    isProbing = group[0]?.isProbe === true;
    const work = push(group)
      .catch((error: unknown) => {
        failures.push(error);
      })
      .finally(() => {
        underWay.delete(work);
      });
    underWay.add(work);
  }
  if (failures.length > 0) throw gravestOf(failures);
  if (breaker.unanswered >= maxUnanswered && batches.length > 0)
    notes.partial(`${breaker.unanswered} updates were not answered: pushing stopped`);
}
