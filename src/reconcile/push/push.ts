/**
 * Sends edits to the service, at most `batchSize` users per request, two requests at a time:
 *
 * 1. read the users again and merge again. The interface has no compare-and-set. With this read, only changes
 *    between the read and the answer can be overwritten. If a push now differs from the push that the guard let
 *    pass, it waits for the next run;
 * 2. write down what will be sent (an open intent per user), and only then send it;
 * 3. match the answer by id and field; base gets only confirmed values;
 * 4. if the outcome stays unknown, the intent stays open, and the next run reads the user back.
 *
 * A refused request is sent again user by user, and a refused user field by field, each beginning with step 1. So
 * each repetition has a new read. A push prepared too long ago waits for the next run (`send-guard.ts`).
 */
import pLimit from 'p-limit';
import { ServiceError } from '../../errors.ts';
import { type Field, singleNames } from '../../model/fields.ts';
import { mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import { countWords } from '../../model/name.ts';
import { readable } from '../../model/user.ts';
import { arrangeBatches, readLessons } from './batches.ts';
import { prepare, takePlanned } from './prepare.ts';
import { isNameHeld } from './carry-name.ts';
import type { PushContext, PushSettings } from './record.ts';
import { type SendResult, sendIntents } from './send.ts';
import { patchedFields } from './outcome.ts';

type Batch = readonly UserPlan[];

/** Requests that may be in flight at the same time. */
const requestsAtOnce = 2;
/** If this many updates could not be sent or stayed unanswered, the service counts as down, and pushing stops. */
const maxUnanswered = 3;

async function arrange(
  { mirror, users }: PushContext,
  { batchSize }: PushSettings,
  plans: Batch,
): Promise<readonly Batch[]> {
  const pushes = plans.map((plan) => ({ id: plan.id, patch: pushOf(plan), plan }));
  const lessons = await readLessons(mirror, pushes);
  // The first update may clear a name. If the name has at most two words, its halves are known, and it can be restored.
  const batches = arrangeBatches(
    pushes,
    batchSize,
    lessons,
    ({ id, plan }) => !isNameHeld(plan) && countWords(readable(users.get(id)?.name) ?? '') <= 2,
  );
  return batches.map((batch) => batch.map(({ plan }) => plan));
}

/** The outcome of one request, and the plans that the request sent. */
interface Sent {
  readonly kind: SendResult['kind'];
  readonly plans: Batch;
}

/**
 * Prepares a batch and sends it in one request.
 * @param ofNamed true if the batch is one field of a refused update that contained a name
 * @returns `undefined` if no push of the batch was left to send
 */
async function sendBatch(
  places: PushContext,
  settings: PushSettings,
  batch: Batch,
  ofNamed = false,
): Promise<Sent | undefined> {
  const { notes, monotonicMs, breaker } = places;
  const startedMs = monotonicMs();
  const prepared = (await takePlanned(places, batch)) ?? (await prepare(places, settings, batch, ofNamed));
  const { intents, users, readAtMs, places: taken } = prepared;
  if (intents.length === 0) return undefined;
  const sending = {
    ...places,
    users,
    sendByMs: readAtMs + settings.sendDeadlineMs + taken * settings.placeMs,
  };
  const result = await sendIntents(sending, settings, intents);
  const ids = new Set(intents.map(({ userId }) => userId));
  if (result.kind === 'late') {
    breaker.unanswered += 1;
    if (!breaker.open) notes.partial(result.why);
  } else {
    const windowMs = Math.round(monotonicMs() - Math.min(startedMs, readAtMs));
    notes.pushWindow(windowMs);
    const requestId = result.kind === 'answered' ? result.requestId : null;
    notes.event({ kind: 'push', users: [...ids], requestId, windowMs });
  }
  return { kind: result.kind, plans: batch.filter(({ id }) => ids.has(id)) };
}

/** True if this run sends no more requests. */
const isOver = ({ breaker }: PushContext): boolean => breaker.open || breaker.unanswered >= maxUnanswered;

/**
 * Sends each field of a refused update alone, so that only the bad field is held. If updates without a name are known to
 * keep the name, an edited name is sent last, so that no later update overwrites it. Otherwise it is sent first, so that
 * later updates can contain it. The email is the last of all other fields, because most users are looked up by email.
 */
async function pushFields(places: PushContext, settings: PushSettings, plan: UserPlan): Promise<boolean> {
  const fields = patchedFields(pushOf(plan));
  if (fields.length === 1) return false;
  const others = singleNames.toReversed();
  const isKept = (await places.mirror.readNameSafety()) === 'keeps';
  const order: readonly Field[] = isKept ? [...others, 'name'] : ['name', ...others];
  let isTaken = false;
  for (const field of order.filter((name) => fields.includes(name))) {
    if (isOver(places)) break;
    const part = mapPushes(plan, (other, push) => (other === field ? push : { kind: 'wait' }));
    const sent = await sendBatch(places, settings, [part], fields.includes('name'));
    isTaken ||= sent?.kind === 'answered';
  }
  return isTaken;
}

/** Pushes a batch. @returns `taken` if any update was accepted, `refused` if each of several users was refused alone */
async function pushBatch(
  places: PushContext,
  settings: PushSettings,
  batch: Batch,
): Promise<'taken' | 'refused' | undefined> {
  const sent = await sendBatch(places, settings, batch);
  if (sent?.kind === 'answered') return 'taken';
  if (sent?.kind !== 'refused') return undefined;
  const again = { ...places, plannedAtMs: null };
  const isOne = sent.plans.length === 1;
  let isTaken = false;
  let isRefused = !isOne;
  for (const plan of sent.plans) {
    if (isOver(places)) return undefined;
    const alone = isOne ? sent : await sendBatch(again, settings, [plan]);
    if (alone?.kind !== 'refused') isRefused = false;
    else if (await pushFields(again, settings, plan)) isTaken = true;
    if (alone?.kind === 'answered') isTaken = true;
  }
  if (isTaken) return 'taken';
  return isRefused ? 'refused' : undefined;
}

/** Returns the worst error: one that ends the run, if any, otherwise one that makes the run partial. */
function gravestOf(failures: readonly unknown[]): unknown {
  const endsRun = (error: unknown) => !(error instanceof ServiceError) || error.code === 'credentials';
  return failures.find(endsRun) ?? failures[0];
}

/**
 * Pushes all edits, unless nothing may be sent (`sendBlock`). Refused fields are held and do not stop other fields. Pushing
 * stops if the service refuses every user of a batch. Until a batch is accepted, batches are sent one at a time, and the
 * remaining users are divided again after each batch, because it may show if updates keep the name.
 */
export async function pushEdits(places: PushContext, settings: PushSettings, plans: Batch): Promise<void> {
  const { notes, breaker } = places;
  if (places.sendBlock !== undefined || plans.length === 0) return;
  let done = 0;
  let isHalted = false;
  const failures: unknown[] = [];
  const isEnd = () => isHalted || isOver(places) || failures.length > 0;
  const push = async (batch: Batch): Promise<boolean> => {
    const result = await pushBatch(places, settings, batch);
    if (result === 'refused' && !isHalted) {
      isHalted = true;
      notes.partial('the service refused every user of a batch: pushing stopped');
    }
    done += batch.length;
    if (!isHalted) notes.event({ kind: 'progress', step: 'push', done, total: plans.length });
    return result === 'taken';
  };

  let left: Batch = plans;
  let batches: readonly Batch[] = [];
  for (let isTaken = false; !isTaken && left.length > 0 && !isEnd(); ) {
    const [first = [], ...others] = await arrange(places, settings, left);
    isTaken = await push(first);
    [left, batches] = [others.flat(), others];
  }
  const limit = pLimit(requestsAtOnce);
  const ends = batches.map((batch) =>
    limit(async () => isEnd() || (await push(batch).catch((error: unknown) => void failures.push(error)))),
  );
  await Promise.all(ends);
  if (failures.length > 0) throw gravestOf(failures);
  if (breaker.unanswered >= maxUnanswered && done < plans.length)
    notes.partial(`${breaker.unanswered} updates did not get through: pushing stopped`);
}
