/** Plans what one run does to the users: roster, differences, merge, guard. It only reads. */
import type { Field } from '../model/fields.ts';
import type { AbsentRow } from '../model/absence.ts';
import { canonicalEmail, canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import { inTurns } from '../model/in-turns.ts';
import type { SendBlock } from '../model/place.ts';
import type { Concern, RoleNames } from '../model/plan.ts';
import type { UsersAnswer } from '../model/service-request.ts';
import type { Team } from '../model/team.ts';
import type { ServiceUser } from '../model/user.ts';
import { decideEach, decisionsOf, isPush, pushOf, type UserPlan } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import { indexAddresses } from './guard/field-limits.ts';
import { type GuardVerdict, type GuardView, guard } from './guard/guard.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import { planUser } from './merge/plan-user.ts';
import type { MirrorPort, ServicePort, SnapshotPort } from './ports.ts';
import { rolesOf } from './read/members.ts';
import type { FreshRead } from './push/record.ts';
import { readEverybody } from './read/ask.ts';
import { differingOf, type Roster, readRoster } from './read/roster.ts';
import { type RunNote, type RunNotes, tell, warnOfStale, warnOfTwice } from './run-notes.ts';
import { noteUnread } from './unread.ts';

export interface RunContext {
  readonly service: ServicePort;
  readonly mirror: MirrorPort;
  readonly notes: RunNotes;
  readonly monotonicMs: () => number;
  /** The reason why nothing may be sent; absent if it may. */
  readonly sendBlock?: SendBlock | undefined;
  /** Set if a run of the last minute has read the team and compared it with the mirror. It may have counted the users. */
  readonly recalled?: { readonly population: number | undefined } | undefined;
  /** Reads everybody in the one look that has read the team; absent: by an answer of its own. */
  readonly everybody?: (() => Promise<UsersAnswer | null>) | undefined;
}

/** The plan of one run for its users, whether they are all or some. */
export interface UsersPlan {
  readonly roster: Roster;
  readonly roles: RoleNames;
  /** The plans after the guard. */
  readonly plans: readonly UserPlan[];
  /** Users who are shown with an older version than before. */
  readonly stale: readonly Id[];
  readonly verdict: GuardVerdict;
  /** The values that were read a moment ago and need not be read again before a push; `null` if all have to be. */
  readonly fresh: FreshRead | null;
}

export interface WholePlan extends UsersPlan {
  readonly kind: 'all';
  /** Users that are new here, who are taken as they are. */
  readonly unknown: readonly Id[];
  /** Users in no listing of this pass. */
  readonly absent: readonly AbsentRow[];
}

/** Notes what the roster as a whole says about this pass. */
export async function noteRoster(
  { users, shown, members, rejected, repeated, unresolved }: Roster,
  notes: RunNotes,
): Promise<void> {
  notes.count('users_read', shown);
  notes.count('users_unresolved', unresolved.length);
  if (rejected.length > 0) notes.partial(`users: ${rejected.length} rows could not be taken`);
  warnOfTwice(notes, 'users', differingOf(repeated));
  let unlisted = 0;
  await inTurns(users.keys(), (id) => {
    if (!members.has(id)) unlisted += 1;
  });
  if (members.size === 0 && unlisted > 0)
    notes.partial(`users: the team lists nobody, but ${unlisted} users are found`);
  else if (unlisted > 0) notes.warn(`${unlisted} users are found whom the team does not list`);
  if (unresolved.length > 0) {
    notes.warn(
      `${unresolved.length} members are answered by no lookup; add addresses with "musterd lookups add" or in mirror.user_lookups`,
    );
  }
}

export async function planUsers(
  places: RunContext,
  team: Team,
  settings: { readonly policy: Policy; readonly guard: GuardSettings },
): Promise<WholePlan> {
  const { service, mirror, notes } = places;
  notes.event({ kind: 'step', step: 'users' });
  const everybody = await (places.everybody?.() ?? readEverybody(service));
  const roster = await readRoster(service, mirror, team, notes, everybody);
  const { members } = roster;
  await noteRoster(roster, notes);
  const roles = rolesOf(members);
  const planned = await mirror.inSnapshot((snapshot) => planRoster(snapshot, { roster, roles }, settings));
  const { remarks, differing, ...plan } = planned;
  noteUnread(notes, differing, roster.shown);
  warnOfStale(notes, plan.stale.length);
  tell(notes, remarks);
  return { kind: 'all', roster, roles, fresh: null, ...plan };
}

/** Compares, merges and guards the roster. */
async function planRoster(
  mirror: SnapshotPort,
  { roster, roles }: Pick<UsersPlan, 'roster' | 'roles'>,
  settings: { readonly policy: Policy; readonly guard: GuardSettings },
): Promise<
  Omit<WholePlan, 'kind' | 'roster' | 'roles' | 'fresh'> & {
    readonly remarks: readonly RunNote[];
    readonly differing: readonly UserState[];
  }
> {
  const { users, members, unresolved } = roster;
  const { differing, unknown, unseen } = await mirror.compareShownUsers({
    users,
    roles,
    leftOut: unresolved,
  });
  const unseenIds = new Set(unseen.map(({ id }) => id));
  const strangers = unresolved.filter((id) => !unseenIds.has(id)).map((id) => unknownUser(id));
  const states = [...differing, ...unseen, ...strangers].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const merged: UserPlan[] = [];
  await inTurns(states, (state) => merged.push(planUser(state, members.get(state.id), settings.policy)));
  const stale = differing.filter((state) => state.stale === true).map(({ id }) => id);
  const population = await mirror.countPresentUsers();
  const { plans, remarks } = keepResolved(merged, states, population);
  const missing = new Set(plans.filter((plan) => plan.case === 'missing').map(({ id }) => id));
  const absent = unseen
    .filter(({ id }) => missing.has(id))
    .map(({ id, missingForMs }) => ({ id, missingForMs }));
  const news = [...states.map(({ id }) => id), ...unknown];
  const view = { states, plans, users, differing: news, isWhole: true, members, population };
  const verdict = await reviewPlans(mirror, view, settings.guard);
  return { plans: verdict.plans, unknown, absent, stale, verdict, remarks, differing };
}

/** Plans the users who are new here. */
export function planUnknown(plan: WholePlan, policy: Policy): readonly UserPlan[] {
  const { users, members } = plan.roster;
  const adopted = plan.unknown.map((id) => planUser(unknownUser(id, users.get(id)), members.get(id), policy));
  return [...plan.plans, ...adopted].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Lets the guard check these plans. */
async function reviewPlans(
  mirror: SnapshotPort,
  view: Omit<GuardView, 'history' | 'present' | 'open' | 'edits'>,
  settings: GuardSettings,
): Promise<GuardVerdict> {
  const history = await mirror.readGuardHistory();
  if (view.plans.some(concernsOthers)) await indexAddresses(view.members);
  return guard({ ...view, history, ...(await readKnown(mirror, view.plans, settings)) }, settings);
}

/** Whether a limit on single fields needs to know of other users, which it does not for a name. */
export const concernsOthers = (plan: UserPlan): boolean =>
  decisionsOf(plan, 'push').some(([field]) => field !== 'name');

/** The others whom a push concerns: those with an address that is pushed and, if a role is pushed, the administrators. */
export function concernOf(plans: readonly UserPlan[], adminRoleIds: readonly Id[]): Concern {
  const patches = plans.filter(isPush).map(pushOf);
  const known = (forms: readonly string[]) => [...new Set(forms)].filter((form) => form !== '');
  return {
    emails: known(patches.map(({ email }) => canonicalEmail(email ?? null))),
    phones: known(patches.map(({ phone }) => canonicalPhone(phone ?? null))),
    roleIds: patches.some(({ roleId }) => roleId !== undefined) ? adminRoleIds : [],
  };
}

/**
 * Reads what the guard needs to know about users who do not differ, and who edited the others. It is read only if
 * something would be pushed, and the editors only if a person sees each push first.
 */
export async function readKnown(
  mirror: SnapshotPort,
  plans: readonly UserPlan[],
  { adminRoleIds, isReviewed }: GuardSettings,
): Promise<Pick<GuardView, 'present' | 'open' | 'edits'>> {
  const pushed = isReviewed ? plans.filter(isPush).map(({ id }) => id) : [];
  const edits = pushed.length === 0 ? [] : await mirror.readLastEdits(pushed);
  if (!plans.some(concernsOthers)) return { present: [], open: [], edits };
  return {
    edits,
    present: await mirror.readPresentUsers(concernOf(plans, adminRoleIds)),
    open: await mirror.readIntents(),
  };
}

/** Nothing is pulled, and what is held stays so. */
function leaveAlone(plan: UserPlan): UserPlan {
  const decide = (field: Field) =>
    plan.fields[field].kind === 'hold' ? plan.fields[field] : ({ kind: 'wait' } as const);
  return { ...plan, fields: decideEach(decide), write: null };
}

/** Changes nothing if many users at once are no longer answered by any lookup, because that is a fault of the lookup. */
export function keepResolved(
  plans: readonly UserPlan[],
  states: readonly UserState[],
  population: number,
): { readonly plans: readonly UserPlan[]; readonly remarks: readonly RunNote[] } {
  const resolved = new Set(states.filter(({ mirror }) => mirror?.resolved === true).map(({ id }) => id));
  const lost = new Set(
    plans.filter((plan) => plan.case === 'unresolved' && resolved.has(plan.id)).map(({ id }) => id),
  );
  if (lost.size <= Math.max(3, population * 0.1)) return { plans, remarks: [] };
  const text = `users: no lookup answers any more for ${lost.size} of ${population} users`;
  return {
    plans: plans.map((plan) => (lost.has(plan.id) ? leaveAlone(plan) : plan)),
    remarks: [{ kind: 'partial', text }],
  };
}

/** The state of a user who is new here. */
export const unknownUser = (id: Id, service?: ServiceUser): UserState => ({
  id,
  service,
  base: undefined,
  mirror: undefined,
  held: [],
  edits: {},
  hasOpenIntent: false,
  missingForMs: undefined,
  observedDiffers: true,
});
