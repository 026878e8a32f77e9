/**
 * Carries edits to the service, at most `batchSize` users a request:
 *
 * 1. read the users again and merge anew: the interface has no compare-and-set, so the window between
 *    this read and the answer is all that is left to chance;
 * 2. write down what will be sent (an open intent per user), and only then send it;
 * 3. match the answer by id and field; base moves on confirmation only;
 * 4. whatever stays unknown keeps its intent open, and the next run reads it back.
 *
 * Nothing is ever sent twice blindly.
 */
import type { Hold, Intent, UserPlan } from '../model/change.ts';
import { chunks } from './chunks.ts';
import { planUser } from './plan-user.ts';
import type { Answered } from './push-result.ts';
import { type PushPlaces, type PushSettings, readBackIntents, record, sendIntents } from './push-send.ts';
import { readBack } from './roster.ts';
import { judgeLate, patchedFields } from './verdict.ts';

/** Reads the users again, merges anew, and writes down what is still to be sent. */
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
    phones: shown.map((user) => (user?.email ? null : (user?.phone ?? null))),
  };
  const seen = await readBack(service, addresses, ids, findings);
  const users = ids.flatMap((id) => seen.get(id) ?? []);
  if (users.length < ids.length)
    findings.partial(`${ids.length - users.length} users could not be read again before a push`);
  const states = await mirror.readDifferingUsers(users, places.roles);
  const plans = states.map((state) => planUser(state, places.members.get(state.id), settings.policy));
  const locked = new Set(await mirror.applyUsers(plans));
  const holds: readonly Hold[] = plans.flatMap(({ holds: of }) => of);
  findings.count('held', holds.length);
  const intents = await mirror.openIntents(
    plans.filter(({ id, patch }) => patchedFields(patch).length > 0 && !locked.has(id)),
    places.approved,
  );
  return { intents, users: seen };
}

/** Pushes all edits. Stops at once when the service turns us away; what it refuses is held and costs nobody else. */
export async function pushEdits(
  places: PushPlaces,
  settings: PushSettings,
  plans: readonly UserPlan[],
): Promise<void> {
  const { findings, monotonicMs } = places;
  let done = 0;
  for (const batch of chunks(plans, settings.batchSize)) {
    if (places.breaker.open) return;
    const readAtMs = monotonicMs();
    const { intents, users } = await prepare(places, settings, batch);
    if (intents.length > 0) {
      const taken = await sendIntents({ ...places, users }, settings, intents);
      const windowMs = Math.round(monotonicMs() - readAtMs);
      findings.event({
        kind: 'push',
        users: intents.map(({ userId }) => userId),
        requestId: findings.requestIds.at(-1) ?? null,
        windowMs,
      });
      if (!taken && intents.length > 1) {
        findings.partial('the service refused every user of a batch: pushing stopped');
        return;
      }
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
      const outcomes = judgeLate(intent.sent, intent.base, user, intent.ageMs >= settings.quietPeriodMs);
      return { intent, seen: user, outcomes, requestId: null };
    });
    findings.event({ kind: 'step', step: 'open pushes' });
    await record(places, settings, answers);
  }
}
