/**
 * Carries edits to the service, at most `batchSize` users a request:
 *
 * 1. read the users again and merge anew: the interface has no compare-and-set, so the window between
 *    this read and the answer is all that is left to chance. What differs by now from what the guard let
 *    pass waits for the next run;
 * 2. write down what will be sent (an open intent per user), and only then send it;
 * 3. match the answer by id and field; base moves on confirmation only;
 * 4. whatever stays unknown keeps its intent open, and the next run reads it back.
 *
 * Nothing is ever sent twice blindly, and nothing leaves long after it was prepared (`send-guard.ts`).
 */
import type { Hold, Intent, UserPlan } from '../model/change.ts';
import { chunks } from './chunks.ts';
import { warnOfStale } from './findings.ts';
import { isPush } from './guard.ts';
import { planUser } from './plan-user.ts';
import { onlyGuarded } from './planned-push.ts';
import { type PushPlaces, type PushSettings, readBackIntents, record } from './push-record.ts';
import type { Answered } from './push-result.ts';
import { sendIntents } from './push-send.ts';
import { readBack } from './roster.ts';
import { isPassing } from './send-guard.ts';
import { judgeLate, patchedFields } from './verdict.ts';

/**
 * Reads the users again, merges anew, and writes down what is still to be sent: nothing but what the guard
 * has let pass.
 */
async function prepare(
  places: PushPlaces,
  settings: PushSettings,
  batch: readonly UserPlan[],
): Promise<{ readonly intents: readonly Intent[]; readonly users: PushPlaces['users'] }> {
  const { service, mirror, findings } = places;
  const ids = batch.map(({ id }) => id);
  const shown = batch.map(({ id }) => places.users.get(id));
  const addresses = {
    emails: shown.map((user) => user?.email ?? null),
    phones: shown.map((user) => user?.phone ?? null),
  };
  const seen = await readBack(service, addresses, ids);
  const users = ids.flatMap((id) => seen.get(id) ?? []);
  if (users.length < ids.length)
    findings.partial(`${ids.length - users.length} users could not be read again before a push`);
  const states = await mirror.readDifferingUsers(users, places.roles);
  warnOfStale(findings, states.filter(({ stale }) => stale === true).length);
  const guarded = new Map(batch.map((plan) => [plan.id, plan]));
  const plans = states.flatMap((state): readonly UserPlan[] => {
    const seenByGuard = guarded.get(state.id);
    if (seenByGuard === undefined) return [];
    return [onlyGuarded(planUser(state, places.members.get(state.id), settings.policy), seenByGuard)];
  });
  const locked = new Set(await mirror.applyUsers(plans));
  const holds: readonly Hold[] = plans.flatMap(({ holds: of }) => of);
  findings.count('held', holds.length);
  const sent = plans.filter((plan) => isPush(plan) && !locked.has(plan.id));
  const approved = sent.filter(({ id, patch }) =>
    patchedFields(patch).every((field) => places.approved.get(id)?.includes(field) === true),
  );
  const intents = await mirror.openIntents(sent, new Set(approved.map(({ id }) => id)));
  return { intents, users: seen };
}

/**
 * Who goes with whom. Whoever was sent before and never answered for goes alone and last, so that one
 * poisoned user costs nobody else. The first update ever that leaves a name out goes alone and first: some
 * deployments clear the name then, and where one is known to, no update without a name is sent.
 */
async function arrange(
  { mirror, findings }: PushPlaces,
  { batchSize }: PushSettings,
  plans: readonly UserPlan[],
): Promise<readonly (readonly UserPlan[])[]> {
  if (plans.length === 0) return [];
  const nameless = ({ patch }: UserPlan) => patch.name === undefined;
  const safety = plans.some(nameless) ? await mirror.readNameSafety() : 'kept';
  const sendable = safety === 'touched' ? plans.filter((plan) => !nameless(plan)) : plans;
  if (sendable.length < plans.length) {
    findings.partial(
      `${plans.length - sendable.length} users wait: an update without a name changes the name on this service`,
    );
  }
  const troubled = await mirror.readUnanswered(sendable.map(({ id }) => id));
  const first =
    safety === 'unknown' ? sendable.find((plan) => nameless(plan) && !troubled.has(plan.id)) : undefined;
  const others = sendable.filter((plan) => plan !== first && !troubled.has(plan.id));
  return [
    ...(first === undefined ? [] : [[first]]),
    ...chunks(others, batchSize),
    ...sendable.filter(({ id }) => troubled.has(id)).map((plan) => [plan]),
  ];
}

/** How often one batch is prepared and sent before a service that keeps putting it off ends the pushing. */
const maxRounds = 3;

/**
 * Prepares one batch and sends it; anew where it was put off before it had any effect (a 429, or it grew
 * old while it waited). @returns `false` if the service refused every user of several
 */
async function pushBatch(
  places: PushPlaces,
  settings: PushSettings,
  batch: readonly UserPlan[],
): Promise<boolean> {
  const { findings, monotonicMs, breaker } = places;
  for (let round = 1; ; round += 1) {
    const readAtMs = monotonicMs();
    const { intents, users } = await prepare(places, settings, batch);
    if (intents.length === 0) return true;
    const sendByMs = monotonicMs() + settings.sendDeadlineMs;
    try {
      const taken = await sendIntents({ ...places, users, sendByMs }, settings, intents);
      const windowMs = Math.round(monotonicMs() - readAtMs);
      findings.pushWindow(windowMs);
      findings.event({
        kind: 'push',
        users: intents.map(({ userId }) => userId),
        requestId: findings.requestIds.at(-1) ?? null,
        windowMs,
      });
      return taken || intents.length === 1;
    } catch (error) {
      if (!isPassing(error) || round === maxRounds || breaker.open) throw error;
    }
  }
}

/** So many updates without an answer say that the service is down, not that a user is odd. */
const maxUnanswered = 3;

/** Pushes all edits. Stops at once when the service turns us away; what it refuses is held and costs nobody else. */
export async function pushEdits(
  places: PushPlaces,
  settings: PushSettings,
  plans: readonly UserPlan[],
): Promise<void> {
  const { findings } = places;
  const batches = await arrange(places, settings, plans);
  let done = 0;
  for (const batch of batches) {
    if (places.breaker.open) return;
    if (places.breaker.unanswered >= maxUnanswered) {
      findings.partial(`${places.breaker.unanswered} updates were not answered: pushing stopped`);
      return;
    }
    if (!(await pushBatch(places, settings, batch))) {
      findings.partial('the service refused every user of a batch: pushing stopped');
      return;
    }
    done += batch.length;
    findings.event({ kind: 'progress', step: 'push', done, total: plans.length });
  }
}

/** Finds out what became of the pushes whose outcome an earlier run could not learn. */
export async function settleIntents(places: PushPlaces, settings: PushSettings): Promise<void> {
  const { mirror, findings } = places;
  const intents = await mirror.readIntents();
  for (const batch of chunks(intents, 100)) {
    const seen = await readBackIntents(places, batch);
    const answers = batch.map((intent): Answered => {
      const user = seen.get(intent.userId) ?? null;
      const outcomes = judgeLate(intent.sent, intent.before, user, intent.ageMs >= settings.quietPeriodMs);
      return { intent, seen: user, outcomes, requestId: null };
    });
    findings.event({ kind: 'step', step: 'open pushes' });
    await record(places, settings, answers);
  }
}
