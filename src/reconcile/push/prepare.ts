import { decideEach, decisionsOf, holdsOf, isPush, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import type { Intent } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { noteDeferred, tell, warnOfStale } from '../run-notes.ts';
import { planUser } from '../merge/plan-user.ts';
import { isApproved, holdOn } from '../merge/held-field.ts';
import { onlyGuarded, pushedValues } from '../guard/planned-push.ts';
import { isNameless, nameAlong } from './carry-name.ts';
import { look, staleOf } from '../look.ts';
import type { PushContext, PushSettings } from './record.ts';
import { isUnread } from '../unread.ts';
import { patchedFields } from './outcome.ts';

/** The intents of the next updates, and the read that they are based on. */
export interface Prepared extends Pick<PushContext, 'users'> {
  readonly intents: readonly Intent[];
  /** The time from which the send deadline runs. Waiting for the database counts, too, because the values get older. */
  readonly readAtMs: number;
  /** The number of requests, including the update, that wait for a place between that time and the update's first byte. */
  readonly places: number;
}

/**
 * True if an approval of a field, seen by the guard or given since, is void now because the service has changed the user.
 * Then the whole user waits, even if that field belongs to another part of a split update, or to none.
 */
function isVoid(plan: UserPlan, state: UserState, { approved }: Pick<PushContext, 'approved'>): boolean {
  return decisionsOf(plan, 'push').some(([field, { values }]) => {
    const hold = holdOn(field, state);
    const wasApproved = hold?.decision !== undefined || approved.get(plan.id)?.includes(field) === true;
    return wasApproved && !isApproved(hold, pushedValues(plan, field, values), state);
  });
}

/** The address, if the service shows one. */
const addressIn = (shown: ServiceUser['email']): readonly string[] =>
  [readable(shown)].flatMap((address) => address ?? []);

/** Leaves the whole user to the next run. Values seen on the service are not written either: the next run reads them. */
const leaveAll = (plan: UserPlan): UserPlan => ({
  ...plan,
  fields: decideEach(() => ({ kind: 'wait' })),
  write: null,
});

/**
 * Reads the users again, merges again, and opens intents for the remaining pushes: only values that the guard let pass.
 * @param ofNamed true if the batch is one field of a refused update that contained a name. The name then goes along unless
 * updates without a name are known to keep it.
 */
export async function prepare(
  places: PushContext,
  settings: PushSettings,
  batch: readonly UserPlan[],
  ofNamed: boolean,
): Promise<Prepared> {
  const { mirror, notes, team } = places;
  const wanted = batch.map(({ id }) => {
    const { email, phone } = places.users.get(id) ?? {};
    return { id, emails: addressIn(email), phones: addressIn(phone) };
  });
  const seen = await look(places, team, wanted);
  const { states, roster } = seen;
  const unseen = wanted.filter(({ id }) => !roster.users.has(id)).length;
  if (unseen > 0) notes.partial(`${unseen} users could not be read again before a push`);
  warnOfStale(notes, staleOf(seen).length);
  const guarded = new Map(batch.map((plan) => [plan.id, plan]));
  const sentOf = (id: Id): UserPatch => {
    const plan = guarded.get(id);
    return plan === undefined ? {} : pushOf(plan);
  };
  const unread = states.filter((state) =>
    patchedFields(sentOf(state.id)).some((field) => isUnread(field, state)),
  );
  if (unread.length > 0)
    notes.partial(`${unread.length} users wait: a field could not be read again before a push`);
  const again = states.flatMap((state): readonly UserPlan[] => {
    const seenByGuard = guarded.get(state.id);
    if (seenByGuard === undefined) return [];
    const plan = planUser(state, roster.members.get(state.id), settings.policy);
    return [isVoid(plan, state, places) ? leaveAll(plan) : onlyGuarded(plan, seenByGuard)];
  });
  const isLeft = (plan: UserPlan) =>
    patchedFields(sentOf(plan.id)).some((field) => plan.fields[field].kind === 'wait');
  notes.count('postponed', again.filter(isLeft).length);
  const known = again.some((plan) => isNameless(pushOf(plan))) ? await mirror.readNameSafety() : 'keeps';
  const { plans, along, remarks } = nameAlong(
    again,
    new Map(states.map((state) => [state.id, state])),
    settings.policy,
    known === 'unknown' && ofNamed ? 'clears' : known,
  );
  tell(notes, remarks);
  const locked = new Set(await mirror.applyUsers(plans));
  noteDeferred(notes, locked.size);
  notes.count('held', plans.flatMap(holdsOf).length);
  const opened = await writeDown(
    places,
    plans.filter((plan) => isPush(plan) && !locked.has(plan.id)),
  );
  const intents = opened.map((intent): Intent => {
    const name = along.get(intent.userId);
    return name === undefined ? intent : { ...intent, along: name };
  });
  return { intents, users: roster.users, readAtMs: seen.readAtMs, places: seen.requests };
}

async function writeDown(
  { mirror, approved, notes }: PushContext,
  plans: readonly UserPlan[],
): Promise<readonly Intent[]> {
  const isApproved = (plan: UserPlan) =>
    decisionsOf(plan, 'push').every(([field]) => approved.get(plan.id)?.includes(field) === true);
  const { intents, busy } = await mirror.openIntents(
    plans,
    new Set(plans.filter(isApproved).map(({ id }) => id)),
  );
  noteDeferred(notes, busy.length);
  return intents;
}

/** The age up to which the plan's read may replace a new read. Most of the send deadline is left then. */
const youngMs = 1_000;

/**
 * Opens intents from the plan's read if it is as good as a new one: it is young, has all of these users, and no name must
 * be carried. `openIntents` leaves out users that were edited or decided about since.
 */
export async function takePlanned(
  places: PushContext,
  batch: readonly UserPlan[],
): Promise<Prepared | undefined> {
  const { fresh, users, monotonicMs, mirror } = places;
  if (fresh === null || monotonicMs() - fresh.readAtMs > youngMs) return undefined;
  if (batch.some(({ id }) => !users.has(id))) return undefined;
  const isNamed = batch.every((plan) => !isNameless(pushOf(plan)));
  if (!isNamed && (await mirror.readNameSafety()) === 'clears') return undefined;
  return { intents: await writeDown(places, batch), users, readAtMs: fresh.readAtMs, places: 1 };
}
