/**
 * Carries edits to the service, at most `batchSize` users a request:
 *
 * 1. read the users again and merge again: the interface has no compare-and-set, so the window between
 *    this read and the answer is all that is left to chance. What differs by now from what the guard let
 *    pass waits for the next run;
 * 2. write down what will be sent (an open intent per user), and only then send it;
 * 3. match the answer by id and field; base moves on confirmation only;
 * 4. whatever stays unknown keeps its intent open, and the next run reads it back.
 *
 * Nothing is ever sent twice blindly, and nothing leaves long after it was prepared (`send-guard.ts`).
 */

import type { Id } from '../../model/id.ts';
import type { Intent } from '../../model/intent.ts';
import { type Field, readable, type UserPatch } from '../../model/user.ts';
import { decisionsOf, holdsOf, isPush, mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import { chunks } from '../chunks.ts';
import { onlyGuarded } from '../guard/planned-push.ts';
import { planUser } from '../merge/plan-user.ts';
import { readBack } from '../read/roster.ts';
import { tell, warnOfStale } from '../run-notes.ts';
import { isUnread } from '../unread.ts';
import { arrangeBatches, type Batch, readLessons } from './batches.ts';
import { isNameless, nameAlong } from './carry-name.ts';
import { judgeLate, patchedFields } from './outcome.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import { neverLeft } from './request.ts';
import type { Answered } from './result.ts';
import { sendIntents } from './send.ts';
import { isPassing, LateError } from './send-guard.ts';

/** What is written down of a batch, and what it was judged by. */
interface Prepared extends Pick<PushContext, 'users'> {
  readonly intents: readonly Intent[];
  /** From then on the deadline counts. */
  readonly readAtMs: number;
}

/**
 * Reads the users again, merges again, and writes down what is still to be sent: nothing but what the guard
 * has let pass.
 * @param ofNamed whether the batch is a part of an update with a name
 */
async function prepare(
  places: PushContext,
  settings: PushSettings,
  batch: readonly UserPlan[],
  ofNamed: boolean,
): Promise<Prepared> {
  const { service, mirror, notes, monotonicMs } = places;
  const ids = batch.map(({ id }) => id);
  const shown = batch.map(({ id }) => places.users.get(id));
  const addresses = {
    emails: shown.map((user) => readable(user?.email) ?? null),
    phones: shown.map((user) => readable(user?.phone) ?? null),
  };
  const seen = await readBack(service, addresses, ids);
  const users = ids.flatMap((id) => seen.get(id) ?? []);
  if (users.length < ids.length)
    notes.partial(`${ids.length - users.length} users could not be read again before a push`);
  const states = await mirror.readDifferingUsers(users, places.roles);
  warnOfStale(notes, states.filter(({ stale }) => stale === true).length);
  const guarded = new Map(batch.map((plan) => [plan.id, plan]));
  const sentOf = (id: Id): UserPatch => {
    const plan = guarded.get(id);
    return plan === undefined ? {} : pushOf(plan);
  };
  const unread = states.filter((state) =>
    patchedFields(sentOf(state.id)).some((field) => isUnread(field, state)),
  );
  if (unread.length > 0)
    notes.partial(`${unread.length} users wait: a field of theirs could not be read again before a push`);
  const again = states.flatMap((state): readonly UserPlan[] => {
    const seenByGuard = guarded.get(state.id);
    if (seenByGuard === undefined) return [];
    return [onlyGuarded(planUser(state, places.members.get(state.id), settings.policy), seenByGuard)];
  });
  const { plans, along, said } = nameAlong(
    again,
    new Map(states.map((state) => [state.id, state])),
    (id) => !ofNamed && sentOf(id).name === undefined,
    again.some((plan) => isNameless(pushOf(plan))) ? await mirror.readNameSafety() : 'kept',
  );
  tell(notes, said);
  const locked = new Set(await mirror.applyUsers(plans));
  notes.count('held', plans.flatMap(holdsOf).length);
  const opened = await writeDown(
    places,
    plans.filter((plan) => isPush(plan) && !locked.has(plan.id)),
  );
  const intents = opened.map((intent): Intent => {
    const name = along.get(intent.userId);
    return name === undefined ? intent : { ...intent, along: name };
  });
  return { intents, users: seen, readAtMs: monotonicMs() };
}

async function writeDown(
  { mirror, approved }: PushContext,
  plans: readonly UserPlan[],
): Promise<readonly Intent[]> {
  const isApproved = (plan: UserPlan) =>
    decisionsOf(plan, 'push').every(([field]) => approved.get(plan.id)?.includes(field) === true);
  return await mirror.openIntents(plans, new Set(plans.filter(isApproved).map(({ id }) => id)));
}

/** For so long what the plan read may be sent by: most of the deadline is left. */
const youngMs = 1_000;

/**
 * What was read for the plan, where that is as good as reading it now: it was a moment ago, of all these users, and no
 * name has to go along. What was edited or decided since is left out when it is written down.
 */
async function takePlanned(places: PushContext, batch: Batch<UserPlan>): Promise<Prepared | undefined> {
  const { readAtMs, users, monotonicMs } = places;
  const isYoung = readAtMs !== undefined && monotonicMs() - readAtMs <= youngMs;
  if (!isYoung || !batch.keepsNames || batch.plans.some(({ id }) => !users.has(id))) return undefined;
  return { intents: await writeDown(places, batch.plans), users, readAtMs };
}

async function arrange(
  { mirror }: PushContext,
  { batchSize }: PushSettings,
  plans: readonly UserPlan[],
): Promise<readonly Batch<UserPlan>[]> {
  const pushes = plans.map((plan) => ({ id: plan.id, patch: pushOf(plan), plan }));
  const lessons = await readLessons(mirror, pushes);
  const keepsNames = lessons.safety === 'kept';
  const batches = arrangeBatches(pushes, batchSize, lessons);
  return batches.map((batch) => ({ ...batch, plans: batch.plans.map(({ plan }) => plan), keepsNames }));
}

/** How often one batch is prepared and sent while the service, or a wait on the way, keeps putting it off. */
const maxRounds = 3;

/** `refused`: every user of several. `nothing`: a single one, or none was left to be sent. */
type Pushed = 'taken' | 'refused' | 'nothing' | 'late';

/**
 * Prepares one batch and sends it; again where it was put off before it had any effect (a 429, or it grew
 * old while it waited). One that is late each time waits for the next run, and costs the others nothing.
 */
async function sendBatch(
  places: PushContext,
  settings: PushSettings,
  batch: Batch<UserPlan>,
  ofNamed = false,
): Promise<{ readonly pushed: Pushed; readonly refused: readonly Intent[] }> {
  const { notes, monotonicMs, breaker } = places;
  for (let round = 1; ; round += 1) {
    const planned = round === 1 ? await takePlanned(places, batch) : undefined;
    const readAtMs = planned?.readAtMs ?? monotonicMs();
    const prepared = planned ?? (await prepare(places, settings, batch.plans, ofNamed));
    const { intents, users } = prepared;
    if (intents.length === 0) return { pushed: 'nothing', refused: [] };
    try {
      const sendByMs = prepared.readAtMs + settings.sendDeadlineMs;
      const sending = { ...places, users, sendByMs };
      const refused = await sendIntents(sending, settings, intents);
      const windowMs = Math.round(monotonicMs() - readAtMs);
      notes.pushWindow(windowMs);
      notes.event({
        kind: 'push',
        users: intents.map(({ userId }) => userId),
        requestId: notes.requestIds.at(-1) ?? null,
        windowMs,
      });
      if (refused.length < intents.length) return { pushed: 'taken', refused };
      return { pushed: intents.length === 1 ? 'nothing' : 'refused', refused };
    } catch (error) {
      if (!isPassing(error) || breaker.open) throw error;
      if (round < maxRounds) continue;
      if (!(error instanceof LateError)) throw error;
      notes.partial(error.message);
      return { pushed: 'late', refused: [] };
    }
  }
}

/**
 * Sends each field of a refused update by itself, as any other push, so that only the bad one is held. An edited name
 * goes last where it is known to be kept, so that no other field overwrites it, and otherwise first, so that it can go
 * along with the others. The email comes after them: most users are looked up by it.
 */
async function pushByField(
  places: PushContext,
  settings: PushSettings,
  plan: UserPlan,
  { sent }: Intent,
): Promise<boolean> {
  if (patchedFields(sent).length === 1) return false;
  const keepsName = (await places.mirror.readNameSafety()) === 'kept';
  const others = ['roleId', 'phone', 'email'] as const;
  const order: readonly Field[] = keepsName ? [...others, 'name'] : ['name', ...others];
  let taken = false;
  for (const field of order.filter((one) => sent[one] !== undefined)) {
    if (places.breaker.open) break;
    const part = mapPushes(plan, (other, push) => (other === field ? push : { kind: 'wait' }));
    const ofNamed = sent.name !== undefined && field !== 'name';
    const { pushed } = await sendBatch(places, settings, { plans: [part], isProbe: false }, ofNamed);
    if (pushed === 'taken') taken = true;
  }
  return taken;
}

/** Pushes one batch, and field by field those whom the service refused as a whole. */
async function pushBatch(
  places: PushContext,
  settings: PushSettings,
  batch: Batch<UserPlan>,
): Promise<Pushed> {
  const { pushed, refused } = await sendBatch(places, settings, batch);
  let taken = pushed === 'taken';
  for (const intent of refused) {
    const plan = batch.plans.find(({ id }) => id === intent.userId);
    if (plan !== undefined && (await pushByField(places, settings, plan, intent))) taken = true;
  }
  return taken ? 'taken' : pushed;
}

/** So many updates without an answer say that the service is down, not that a user is odd. */
const maxUnanswered = 3;

/**
 * Who is left after a probe. One that taught nothing is followed by the next: it was refused, nobody answered it,
 * it had no effect, or there was no name to be seen. After one that could not leave in time nobody goes without
 * a name.
 */
async function afterProbe(
  places: PushContext,
  settings: PushSettings,
  pushed: Pushed,
  batches: readonly Batch<UserPlan>[],
): Promise<readonly Batch<UserPlan>[]> {
  const plans = batches.flatMap((batch) => batch.plans);
  if (pushed !== 'late') return await arrange(places, settings, plans);
  return await arrange(
    places,
    settings,
    plans.filter((plan) => !isNameless(pushOf(plan))),
  );
}

/** Pushes all edits. Stops at once when the service turns us away; what it refuses is held and costs nobody else. */
export async function pushEdits(
  places: PushContext,
  settings: PushSettings,
  plans: readonly UserPlan[],
): Promise<void> {
  const { notes, breaker } = places;
  let batches = await arrange(places, settings, plans);
  let done = 0;
  for (;;) {
    const [batch, ...rest] = batches;
    if (batch === undefined || breaker.open) return;
    if (breaker.unanswered >= maxUnanswered) {
      notes.partial(`${breaker.unanswered} updates were not answered: pushing stopped`);
      return;
    }
    const pushed = await pushBatch(places, settings, batch);
    if (pushed === 'refused') {
      notes.partial('the service refused every user of a batch: pushing stopped');
      return;
    }
    batches = batch.isProbe ? await afterProbe(places, settings, pushed, rest) : rest;
    done += batch.plans.length;
    notes.event({ kind: 'progress', step: 'push', done, total: plans.length });
  }
}

/**
 * Finds out what became of the pushes whose outcome an earlier run could not learn. Only who holds the lease may
 * send, and notes it first. The lease is ours now: what was not on its way by then never will be.
 */
export async function settleIntents(places: PushContext, settings: PushSettings): Promise<void> {
  const { mirror, notes } = places;
  const intents = await mirror.readIntents();
  const unsent = intents.filter(({ hasLeft }) => !hasLeft);
  await record(places, settings, unsent.map(neverLeft));
  const left = intents.filter(({ hasLeft }) => hasLeft);
  for (const batch of chunks(left, 100)) {
    const seen = await readBackIntents(places, batch);
    const answers = batch.map((intent): Answered => {
      const user = seen.get(intent.userId) ?? null;
      const outcomes = judgeLate(intent.sent, intent.before, user, intent.ageMs >= settings.quietPeriodMs);
      return { intent, seen: user, outcomes, requestId: null };
    });
    notes.event({ kind: 'step', step: 'open pushes' });
    await record(places, settings, answers);
  }
}
