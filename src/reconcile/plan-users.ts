/** Plans what a run does with the users that it read: merges, and lets the guard check the result. Writes nothing. */
import type { Field } from '../model/fields.ts';
import type { AbsentRow } from '../model/absence.ts';
import { inTurns } from '../model/in-turns.ts';
import type { KnownUser } from '../model/plan.ts';
import type { SendBlock } from '../model/place.ts';
import { decideEach, type UserPlan } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import { concernOf, lookAround, readKnown } from './guard/concerned.ts';
import { indexAddresses, offerLimited } from './guard/field-limits.ts';
import { type GuardVerdict, guard } from './guard/guard.ts';
import type { GuardSettings } from './guard/limits.ts';
import { type Look, type LookContext, staleOf, unknownUser } from './look.ts';
import type { Policy } from './merge/merge-field.ts';
import { planUser } from './merge/plan-user.ts';
import { differingOf, type Roster } from './read/roster.ts';
import { type RunNotes, warnOfStale, warnOfTwice } from './run-notes.ts';
import { noteUnread } from './unread.ts';

export interface RunContext extends LookContext {
  readonly notes: RunNotes;
  /** The reason why nothing may be sent; absent if sending is allowed. */
  readonly sendBlock?: SendBlock | undefined;
}

/** The plan of one run for the users of a look. */
export interface UsersPlan {
  readonly look: Look;
  /** The plans, in which the guard has held some pushes. */
  readonly plans: readonly UserPlan[];
  readonly verdict: GuardVerdict;
  /** Users whom neither the team list nor a lookup of this run shows; empty if the run reads only some users. */
  readonly absent: readonly AbsentRow[];
}

async function noteWhole({ users, members, unresolved }: Roster, notes: RunNotes): Promise<void> {
  notes.count('users_unresolved', unresolved.length);
  let unlisted = 0;
  await inTurns(users.keys(), (id) => {
    if (!members.has(id)) unlisted += 1;
  });
  if (members.size === 0 && unlisted > 0)
    notes.partial(`users: the team lists no members, but ${unlisted} users were found`);
  else if (unlisted > 0) notes.warn(`${unlisted} users were found that the team does not list`);
  if (unresolved.length > 0) {
    notes.warn(
      `no lookup finds ${unresolved.length} members; insert their addresses into mirror.user_lookups`,
    );
  }
}

/** Notes the number of users read, the rows that could not be used, and the refused lookups. */
export async function noteLook({ isWhole, roster }: Look, notes: RunNotes): Promise<void> {
  const { users, rejected, repeated, refusedLookups } = roster;
  notes.count('users_read', users.size);
  if (rejected.length > 0) notes.partial(`users: ${rejected.length} rows could not be taken`);
  warnOfTwice(notes, 'users', differingOf(repeated));
  if (refusedLookups > 0)
    notes.warn(`the service rejects ${refusedLookups} of the addresses that lookups use`);
  if (isWhole) await noteWhole(roster, notes);
}

/** Notes edited users whom no lookup found, so that the run does not claim to have handled their edits. */
export function noteUnfound(
  { roster: { users } }: Look,
  edited: readonly KnownUser[],
  notes: RunNotes,
): void {
  const unanswered = edited.filter(({ id }) => !users.has(id));
  const lost = unanswered.filter(({ resolved }) => resolved).length;
  if (lost > 0) notes.partial(`lookups no longer return ${lost} edited users: their edits wait`);
  const unknown = unanswered.length - lost;
  if (unknown > 0) notes.warn(`no lookup returns ${unknown} edited users: their edits wait`);
}

/** Returns a plan that only makes the plan's new holds. All other fields wait, and the user's row is not written. */
function leaveAlone(plan: UserPlan): UserPlan {
  const decide = (field: Field) =>
    plan.fields[field].kind === 'hold' ? plan.fields[field] : ({ kind: 'wait' } as const);
  return { ...plan, fields: decideEach(decide), write: null };
}

type PlanOf = (state: UserState) => UserPlan;

/**
 * Plans each user of a look. If lookups suddenly find many users no longer, these users stay unchanged, because the
 * lookups must be at fault.
 * @param population the number of users present in the mirror
 */
export async function planEach(
  { states, roster }: Look,
  planOf: PlanOf,
  population: number,
  notes: RunNotes,
): Promise<readonly UserPlan[]> {
  noteUnread(notes, states, Math.max(population, roster.users.size));
  const plans: UserPlan[] = [];
  await inTurns(states, (state) => plans.push(planOf(state)));
  const resolved = new Set(states.filter(({ mirror }) => mirror?.resolved === true).map(({ id }) => id));
  const lost = new Set(
    plans.filter((plan) => plan.case === 'unresolved' && resolved.has(plan.id)).map(({ id }) => id),
  );
  if (lost.size <= Math.max(3, population * 0.1)) return plans;
  notes.partial(`users: lookups no longer find ${lost.size} of ${population} users`);
  return plans.map((plan) => (lost.has(plan.id) ? leaveAlone(plan) : plan));
}

/** Plans the users of a look, and lets the guard check the plan. */
export async function planUsers(
  { mirror, notes }: RunContext,
  seen: Look,
  settings: { readonly policy: Policy; readonly guard: GuardSettings },
): Promise<UsersPlan> {
  const { states, unknown, isWhole, roster } = seen;
  const { users, members } = roster;
  const { open, ...history } = await mirror.readGuardHistory();
  const planOf: PlanOf = (state) => planUser(state, members.get(state.id), settings.policy);
  const plans = await planEach(seen, planOf, history.population, notes);
  // Only a look at all users can show that a limit no longer has to hold a field.
  const offers = isWhole ? offerLimited(plans, states) : [];
  const { adminRoleIds } = settings.guard;
  const present = await readKnown(mirror, [...plans, ...offers], adminRoleIds);
  const { emails, phones } = concernOf([...plans, ...offers], []);
  const listed = await indexAddresses(emails.length + phones.length > 0 ? members : new Map());
  if (!isWhole) await lookAround(seen.lookup, plans, present, listed, adminRoleIds);
  await noteLook(seen, notes);
  warnOfStale(notes, staleOf(seen).length);
  const differing = isWhole ? [...states.map(({ id }) => id), ...unknown] : [...users.keys()];
  const view = { states, plans, users, differing, isWhole, members, listed, open, history, offers, present };
  const verdict = guard(view, settings.guard);
  const missing = new Set(plans.filter((plan) => plan.case === 'missing').map(({ id }) => id));
  const absent = states
    .filter(({ id }) => missing.has(id))
    .map(({ id, missingForMs }) => ({ id, missingForMs }));
  return { look: seen, plans: verdict.plans, absent, verdict };
}

/** Returns the given plans, and a plan for each user who is new to the mirror. */
export function planUnknown(
  { look: { roster, unknown }, plans }: UsersPlan,
  policy: Policy,
): readonly UserPlan[] {
  const { users, members } = roster;
  const adopted = unknown.map((id) => planUser(unknownUser(id, users.get(id)), members.get(id), policy));
  return [...plans, ...adopted].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
