/**
 * The product, in one function:
 *
 * 1. find out what became of pushes whose outcome is still unknown;
 * 2. read the roster from the service and the users in whom anything differs from the mirror;
 * 3. plan: merge each of them field by field, against the base that both sides last agreed on;
 * 4. apply what the service changed to the mirror, push what was edited in the mirror to the service;
 * 5. refresh the read-only listings and count the contacts.
 *
 * A plan is the same up to step 3 and the comparison of the listings, with nothing written on either side.
 */
import { ServiceError } from '../errors.ts';
import type { AbsentRow } from '../model/absence.ts';
import type { UserPlan } from '../model/change.ts';
import type { Segment } from '../model/contact-count.ts';
import type { Id } from '../model/id.ts';
import type { Team, TeamMember } from '../model/team.ts';
import type { AbsenceSettings } from './absence.ts';
import { judgeAbsences } from './absence.ts';
import { chunks } from './chunks.ts';
import type { Findings } from './findings.ts';
import { planUser } from './plan-user.ts';
import type { Policy } from './policy.ts';
import type { MirrorPort, MirrorWriter, ServicePort } from './ports.ts';
import { pushEdits, settleIntents } from './push.ts';
import { countContacts, listedContactFields, listedTags, planRefresh, refresh } from './refresh.ts';
import { type Roster, readRoster } from './roster.ts';
import { patchedFields } from './verdict.ts';

export interface ReconcileSettings {
  readonly push: { readonly batchSize: number; readonly quietPeriodMs: number; readonly maxTries: number };
  readonly pageSize: number;
  readonly absence: AbsenceSettings;
  readonly policy: Policy;
  readonly segments: readonly Segment[];
}

export interface Places {
  readonly service: ServicePort;
  readonly mirror: MirrorPort;
  readonly findings: Findings;
  readonly monotonicMs: () => number;
}

export interface WritablePlaces extends Places {
  readonly mirror: MirrorPort & MirrorWriter;
}

/** What one run makes of the users. */
export interface UsersPlan {
  readonly roster: Roster;
  readonly roles: ReadonlyMap<Id, string>;
  readonly plans: readonly UserPlan[];
  /** In no listing of this pass. */
  readonly absent: readonly AbsentRow[];
}

export interface ListingsPlan {
  readonly resource: string;
  readonly added: number;
  readonly changed: number;
  readonly absent: number;
}

/** Rows written per transaction: small enough to leave editors in peace, large enough for one statement. */
const usersPerTransaction = 5000;

async function planUsers(
  { service, mirror, findings }: Places,
  team: Team,
  policy: Policy,
): Promise<UsersPlan> {
  findings.event({ kind: 'step', step: 'users' });
  const roster = await readRoster(service, mirror, team, findings);
  const { users, members, rejected, unresolved } = roster;
  findings.count('users_read', users.size);
  findings.count('users_unresolved', unresolved.length);
  if (rejected.length > 0) findings.partial(`users: ${rejected.length} rows could not be taken`);
  const unlisted = [...users.keys()].filter((id) => !members.has(id)).length;
  if (members.size === 0 && unlisted > 0)
    findings.partial(`users: the team lists nobody, and ${unlisted} users answer`);
  else if (unlisted > 0) findings.warn(`${unlisted} users answer whom the team does not list`);
  if (unresolved.length > 0) {
    findings.warn(
      `${unresolved.length} members are answered by no lookup; add addresses with "musterd lookups add" or in mirror.user_lookups`,
    );
  }
  const roles = new Map(
    members.values().flatMap(({ id, role }) => (role === null ? [] : [[id, role] as const])),
  );
  const differing = await mirror.readDifferingUsers([...users.values()], roles);
  const unseen = await mirror.readUnseenUsers([...users.keys()], [...members.keys()]);
  const known = new Set(unseen.map(({ id }) => id));
  const strangers = unresolved.filter((id) => !known.has(id)).map(unknownUser);
  const states = [...differing, ...unseen, ...strangers].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const plans = states.map((state) => planUser(state, members.get(state.id), policy));
  const missing = new Set(plans.filter(({ presence }) => presence === 'missing').map(({ id }) => id));
  const absent = unseen
    .filter(({ id }) => missing.has(id))
    .map(({ id, missingForMs }) => ({ id, missingForMs }));
  return { roster, roles, plans, absent };
}

function unknownUser(id: Id) {
  return {
    id,
    service: undefined,
    base: undefined,
    mirror: undefined,
    held: [],
    hasOpenIntent: false,
    missingForMs: undefined,
    observedDiffers: true,
  };
}

const isPushed = ({ patch }: UserPlan) => patchedFields(patch).length > 0;

/** Writes what the service changed; an editor who holds a row is left alone, and the row waits for the next run. */
async function applyPulls({ mirror, findings }: WritablePlaces, plans: readonly UserPlan[]): Promise<void> {
  const todo = plans.filter(
    ({ write, holds, releases, presence }) =>
      write !== null ||
      holds.length > 0 ||
      releases.length > 0 ||
      presence === 'merge' ||
      presence === 'unresolved',
  );
  const deferred = new Set<Id>();
  let done = 0;
  for (const chunk of chunks(todo, usersPerTransaction)) {
    for (const id of await mirror.applyUsers(chunk)) deferred.add(id);
    done += chunk.length;
    findings.event({ kind: 'progress', step: 'users', done, total: todo.length });
  }
  const forgotten = plans.filter(({ presence }) => presence === 'forget').map(({ id }) => id);
  if (forgotten.length > 0) await mirror.forgetUsers(forgotten);
  findings.count('deferred', deferred.size);
  if (deferred.size > 0)
    findings.partial(`${deferred.size} users were being edited and wait for the next run`);
  countPlans(
    plans.filter(({ id }) => !deferred.has(id)),
    findings,
  );
}

export function countPlans(plans: readonly UserPlan[], findings: Findings): void {
  for (const { presence, moves, holds } of plans) {
    if (presence === 'adopt') findings.count('adopted');
    if (presence === 'return') findings.count('returned');
    findings.count('pulled', moves.filter(({ kind }) => kind === 'pull').length);
    findings.count('settled', moves.filter(({ kind }) => kind === 'settle').length);
    findings.count('held', holds.length);
  }
}

async function applyUserAbsences(
  places: WritablePlaces,
  plan: UsersPlan,
  settings: AbsenceSettings,
): Promise<void> {
  const { mirror, findings } = places;
  if (plan.absent.length === 0 || plan.roster.rejected.length > 0) return;
  const population = await mirror.countPresentUsers();
  const { due, refused } = judgeAbsences(plan.absent, population, settings);
  if (refused !== null) findings.partial(`users: ${refused}; none of them is called gone`);
  await mirror.applyAbsences('users', { missing: plan.absent.map(({ id }) => id), gone: due });
  findings.count('missing', plan.absent.length - due.length);
  findings.count('gone', due.length);
}

/** A part of the run that the others do not need: an answer that never came makes the run partial, not void. */
async function attempt(findings: Findings, part: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'credentials') throw error;
    findings.partial(`${part}: ${error.message}`);
  }
}

/** What would be done to the users and the listings. Reads only. */
export async function plan(
  places: Places,
  team: Team,
  settings: ReconcileSettings,
): Promise<{ readonly users: UsersPlan; readonly listings: readonly ListingsPlan[] }> {
  const { findings, mirror } = places;
  const users = await planUsers(places, team, settings.policy);
  countPlans(users.plans, findings);
  const { service } = places;
  const listings: ListingsPlan[] = [];
  const add = (resource: string, { added, changed, absent }: Awaited<ReturnType<typeof planRefresh>>) => {
    listings.push({ resource, added, changed, absent: absent.length });
  };
  await attempt(findings, 'tags', async () =>
    add('tags', await planRefresh(listedTags(service, mirror), mirror, settings, findings)),
  );
  await attempt(findings, 'contact_fields', async () =>
    add(
      'contact_fields',
      await planRefresh(listedContactFields(service, mirror), mirror, settings, findings),
    ),
  );
  return { users, listings };
}

/** One complete two-way run for one team. What it found stands in `places.findings`. */
export async function reconcile(
  places: WritablePlaces,
  team: Team,
  settings: ReconcileSettings,
): Promise<void> {
  const { service, mirror, findings } = places;
  await mirror.applyTeam(team);
  const pushSettings = { ...settings.push, policy: settings.policy };
  const members = new Map<Id, TeamMember>(team.members.map((member) => [member.id, member]));
  await attempt(findings, 'users', async () => {
    const push = { ...places, members, users: new Map(), roles: new Map(), breaker: { open: false } };
    await settleIntents(push, pushSettings);
    const users = await planUsers(places, team, settings.policy);
    await mirror.applyRejectedRows('users', users.roster.rejected);
    await applyPulls(places, users.plans);
    await applyUserAbsences(places, users, settings.absence);
    await pushEdits(
      { ...push, users: users.roster.users, roles: users.roles },
      pushSettings,
      users.plans.filter(isPushed),
    );
  });
  await attempt(findings, 'tags', () =>
    refresh(listedTags(service, mirror), (rows) => mirror.applyTags(rows), mirror, settings, findings),
  );
  await attempt(findings, 'contact_fields', () =>
    refresh(
      listedContactFields(service, mirror),
      (rows) => mirror.applyContactFields(rows),
      mirror,
      settings,
      findings,
    ),
  );
  await mirror.applyContactCounts(await countContacts(service, settings.segments, findings));
}
