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

/** The intents of the next updates, and the data they are based on. */
export interface Prepared extends Pick<PushContext, 'users'> {
  readonly intents: readonly Intent[];
  /** The start of the deadline. Waiting for the database counts too: the read values get older. */
  readonly readAtMs: number;
  /** How many requests wait for a place between that and the first byte, the update among them. */
  readonly places: number;
}

/**
 * Whether something that the guard let pass as approved, or that was approved since, is not sent because the service
 * has changed the user. This counts for the whole user, even if another part of an update sends that field, or none
 * does.
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

/** The values that were seen are not written either, because the next run finds them, and what follows from them. */
const leaveAll = (plan: UserPlan): UserPlan => ({
  ...plan,
  fields: decideEach(() => ({ kind: 'wait' })),
  write: null,
});

/**
 * Reads the users again, merges again, and writes down the remaining pushes: only values that the guard
 * has let pass.
 * @param ofNamed whether the batch is a part of an update with a name, so that a name goes along unless it is known to be kept
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
    notes.partial(`${unread.length} users wait: a field of theirs could not be read again before a push`);
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

/** How long the plan's read may be used in place of a new one: most of the deadline is then left. */
const youngMs = 1_000;

/**
 * The plan's read, if it is as good as a new one: it is a moment old, has all these users, and no
 * name has to be carried. Users edited or decided about since are left out when the intents are written.
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
