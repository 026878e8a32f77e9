/**
 * The fast path of an edit to the service: plans only the users that were edited in the
 * mirror. They are looked up by their addresses, and nothing is concluded if a user does not show.
 * Other users are looked up only if a field limit needs them, and they are not merged.
 */
import { canonicalEmail, canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { EditedUser, PresentUser, Addresses } from '../model/plan.ts';
import type { Team } from '../model/team.ts';
import { pushOf, type UserPlan } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import type { ReviewedPushes } from './only-reviewed.ts';
import { guard } from './guard/guard.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import { planUser } from './merge/plan-user.ts';
import { concernsOthers, type RunContext, readKnown, type UsersPlan } from './plan-users.ts';
import type { MirrorPort } from './ports.ts';
import type { FreshRead } from './push/record.ts';
import { createUserLookup, type UserLookup } from './read/lookup.ts';
import { type Members, membersOf, rolesOf } from './read/members.ts';
import { differingOf, noteRefused, type Roster } from './read/roster.ts';
import { type RunNotes, warnOfStale, warnOfTwice } from './run-notes.ts';
import { noteUnread } from './unread.ts';

const allOf = (addresses: readonly Addresses[]) => ({
  emails: addresses.flatMap(({ emails }) => emails),
  phones: addresses.flatMap(({ phones }) => phones),
});

/** Looks users up by all their known addresses. */
async function find(lookup: UserLookup, mirror: MirrorPort, ids: readonly Id[]): Promise<void> {
  const unseen = ids.filter((id) => !lookup.users.has(id));
  if (unseen.length === 0) return;
  await lookup.find(unseen, allOf(await mirror.readAddresses(unseen)));
}

/**
 * Users that a field limit depends on, by base. They have to be looked up: the owner of an address that is pushed may no
 * longer have it, and the other administrators may have been demoted.
 */
export function concernedBy(
  plans: readonly UserPlan[],
  present: readonly PresentUser[],
  adminRoleIds: readonly Id[],
): readonly Id[] {
  const isAdmin = (roleId: unknown) => adminRoleIds.some((admin) => admin === roleId);
  const demotes = ({ fields: { roleId } }: UserPlan) =>
    roleId.kind === 'push' &&
    !isAdmin(roleId.values.mirror) &&
    isAdmin(roleId.values.service === undefined ? roleId.values.base : roleId.values.service);
  const demotesAny = plans.some(demotes);
  const patches = plans.map(pushOf);
  const emails = new Set(patches.map(({ email }) => canonicalEmail(email ?? null)));
  const phones = new Set(patches.map(({ phone }) => canonicalPhone(phone ?? null)));
  emails.delete('');
  phones.delete('');
  return present.flatMap(({ id, email, phone, roleId }) => {
    const had = emails.has(canonicalEmail(email)) || phones.has(canonicalPhone(phone));
    return had || (demotesAny && isAdmin(roleId)) ? [id] : [];
  });
}

/** Looks up all others that a field limit depends on: owners of addresses that are pushed, and administrators. */
async function lookAround(
  lookup: UserLookup,
  mirror: MirrorPort,
  { plans, present }: { readonly plans: readonly UserPlan[]; readonly present: readonly PresentUser[] },
  adminRoleIds: readonly Id[],
): Promise<void> {
  const pushes = plans.filter(concernsOthers);
  if (pushes.length === 0) return;
  await lookup.askAll({
    emails: pushes.map((plan) => pushOf(plan).email ?? null),
    phones: pushes.map((plan) => pushOf(plan).phone ?? null),
  });
  await find(lookup, mirror, concernedBy(pushes, present, adminRoleIds));
}

/** Reports about these lookups: the run may claim to have handled all edits only if it has. */
function noteLookup(
  { users, rejected, repeated, refusedLookups }: UserLookup,
  edited: readonly EditedUser[],
  notes: RunNotes,
) {
  notes.count('users_read', users.size);
  if (rejected.length > 0) notes.partial(`users: ${rejected.length} rows could not be taken`);
  warnOfTwice(notes, 'users', differingOf(repeated));
  noteRefused(refusedLookups, notes);
  const unanswered = edited.filter(({ id }) => !users.has(id));
  const lost = unanswered.filter(({ resolved }) => resolved).length;
  if (lost > 0) notes.partial(`no lookup returns ${lost} edited users any more: their edits wait`);
  const unknown = unanswered.length - lost;
  if (unknown > 0) notes.warn(`no lookup returns ${unknown} edited users: their edits wait`);
}

function rosterOf({ users, rejected, repeated, refusedLookups }: UserLookup, members: Members): Roster {
  const whole = { unresolved: [], unproven: new Set<Id>() };
  return { users, shown: users.size, members, rejected, repeated, refusedLookups, ...whole };
}

/** The plan of users who were chosen one by one. */
export interface EditedPlan extends UsersPlan {
  readonly kind: 'edited';
  readonly fresh: FreshRead;
  /** The states of the planned users. */
  readonly states: readonly UserState[];
  /** The number of present users, which this plan does not change. */
  readonly population: number;
}

/** @param exact if present, the only pushes to plan, instead of all edits */
export async function planEdited(
  { service, mirror, notes, monotonicMs, recalled }: RunContext,
  team: Team,
  settings: { readonly policy: Policy; readonly guard: GuardSettings },
  { exact }: { readonly exact?: ReviewedPushes } = {},
): Promise<EditedPlan> {
  notes.event({ kind: 'step', step: 'edits' });
  const edited =
    exact === undefined
      ? await mirror.readEditedUsers()
      : (await mirror.readAddresses(exact.ids)).map((user) => ({ ...user, resolved: true }));
  const ids = edited.map(({ id }) => id);
  const lookup = createUserLookup(service, team.id);
  const readAtMs = monotonicMs();
  await lookup.find(ids, allOf(edited));
  const foundUsers = ids.flatMap((id) => lookup.users.get(id) ?? []);
  const members = membersOf(team);
  const { states, plans, known } = await mirror.inSnapshot(async (snapshot) => {
    const found = await snapshot.readDifferingUsers(foundUsers, rolesOf(members));
    const differing = exact === undefined ? found : found.map(exact.approved);
    const planned = differing.map((state) => {
      const plan = planUser(state, members.get(state.id), settings.policy);
      return exact?.only(plan, state) ?? plan;
    });
    const population = recalled?.population ?? (await snapshot.countPresentUsers());
    const history = await snapshot.readGuardHistory();
    return {
      states: differing,
      plans: planned,
      known: { population, history, ...(await readKnown(snapshot, planned, settings.guard)) },
    };
  });
  const stale = states.filter((state) => state.stale === true).map(({ id }) => id);
  warnOfStale(notes, stale.length);
  noteUnread(notes, states, known.population);
  await lookAround(lookup, mirror, { plans, present: known.present }, settings.guard.adminRoleIds);
  noteLookup(lookup, edited, notes);
  const { users } = lookup;
  const wanted = new Set(ids);
  const roles = rolesOf(members);
  const others = [...users.values()].filter(({ id }) => !wanted.has(id));
  const around = others.length === 0 ? [] : await mirror.readDifferingUsers(others, roles);
  const view = {
    states: [...states, ...around],
    plans,
    users,
    differing: users.keys(),
    isWhole: false,
    members,
    ...known,
  };
  const verdict = guard(view, settings.guard);
  return {
    kind: 'edited',
    roster: rosterOf(lookup, members),
    roles,
    plans: verdict.plans,
    stale,
    verdict,
    fresh: { readAtMs },
    states,
    population: known.population,
  };
}
