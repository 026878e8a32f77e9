import { decideEach, decisionsOf, holdsOf, isPush, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import type { Intent } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { noteDeferred, warnOfStale } from '../run-notes.ts';
import { planUser } from '../merge/plan-user.ts';
import { isApproved, holdOn } from '../merge/held-field.ts';
import { onlyGuarded, pushedValues } from '../guard/planned-push.ts';
import { isNameless, nameAlong } from './carry-name.ts';
import { look, staleOf } from '../look.ts';
import type { PushContext, PushSettings } from './record.ts';
import { isUnread } from '../unread.ts';
import { patchedFields } from './outcome.ts';

/** The intents of the next updates, and the users that were read for these intents. */
export interface Prepared extends Pick<PushContext, 'users'> {
  readonly intents: readonly Intent[];
  /** When the users were read, by `monotonicMs`. The send deadline starts here, so waiting for the database counts too. */
  readonly readAtMs: number;
  /** The number of requests from `readAtMs` up to and including the update. Each waits for its place in the rate limit. */
  readonly places: number;
}

/**
 * True if the approval of a pushed field is void now, because the service has changed the user. Then the whole user waits,
 * even if the field is not part of this update.
 */
function isVoid(plan: UserPlan, state: UserState, { approved }: Pick<PushContext, 'approved'>): boolean {
  return decisionsOf(plan, 'push').some(([field, { values }]) => {
    const hold = holdOn(field, state);
    const wasApproved = hold?.decision !== undefined || approved.get(plan.id)?.includes(field) === true;
    return wasApproved && !isApproved(hold, pushedValues(plan, field, values), state);
  });
}

/** The address as a list, which is empty if the service shows no readable address. */
const addressIn = (shown: ServiceUser['email']): readonly string[] =>
  [readable(shown)].flatMap((address) => address ?? []);

/** Leaves the whole user to the next run. Values of the service are not written either, as the next run reads them. */
const leaveAll = (plan: UserPlan): UserPlan => ({
  ...plan,
  fields: decideEach(() => ({ kind: 'wait' })),
  write: null,
});

/**
 * Reads the users again, merges again, and opens intents for the pushes that the guard has let pass and that still apply.
 * @param ofNamed true if the batch is one field of a refused update that contained a name. The name is then sent, too,
 * unless updates without a name are known to keep it.
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
  const { plans, along, waiting } = nameAlong(
    again,
    new Map(states.map((state) => [state.id, state])),
    settings.policy,
    known === 'unknown' && ofNamed ? 'clears' : known,
  );
  if (waiting > 0)
    notes.partial(
      `${waiting} users wait: an update without the name may clear it, and the service does not show it now`,
    );
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

/** Up to this age in ms, users read for the plan need no new read, because most of the send deadline is left. */
const youngMs = 1_000;

/**
 * Opens intents without a new read, if the users read for the plan are as good: they were read just now, all of them
 * were found, and no name must be sent along. `openIntents` leaves out users that were edited or decided about since.
 */
export async function takePlanned(
  places: PushContext,
  batch: readonly UserPlan[],
): Promise<Prepared | undefined> {
  const { plannedAtMs, users, monotonicMs, mirror } = places;
  if (plannedAtMs === null || monotonicMs() - plannedAtMs > youngMs) return undefined;
  if (batch.some(({ id }) => !users.has(id))) return undefined;
  const isNamed = batch.every((plan) => !isNameless(pushOf(plan)));
  if (!isNamed && (await mirror.readNameSafety()) === 'clears') return undefined;
  return { intents: await writeDown(places, batch), users, readAtMs: plannedAtMs, places: 1 };
}
