/**
 * The short way of an edit to the service: what a run makes of those users alone who were edited in the
 * mirror. They are looked up by their addresses; nobody else is read, and nothing is concluded from
 * whoever is not answered.
 */
import type { Team } from '../model/team.ts';
import { warnOfStale } from './findings.ts';
import type { GuardSettings } from './guard.ts';
import { planUser } from './plan-user.ts';
import { checkOverlap, judge, type Places, type UsersPlan } from './plan-users.ts';
import type { Policy } from './policy.ts';
import { readBack } from './roster.ts';

export async function planEdited(
  { service, mirror, findings }: Places,
  team: Team,
  settings: { readonly policy: Policy; readonly guard: GuardSettings },
): Promise<UsersPlan> {
  findings.event({ kind: 'step', step: 'edits' });
  await checkOverlap(mirror, team);
  const edited = await mirror.readEditedUsers();
  const addresses = await mirror.readAddresses(edited);
  const asked = {
    emails: addresses.flatMap(({ emails }) => emails),
    phones: addresses.flatMap(({ phones }) => phones),
  };
  const found = edited.length === 0 ? new Map() : await readBack(service, asked, edited);
  const users = new Map([...found].filter(([, user]) => (user.teamId ?? team.id) === team.id));
  findings.count('users_read', users.size);
  const members = new Map(team.members.map((member) => [member.id, member]));
  const roles = new Map(
    members.values().flatMap(({ id, role }) => (role === null ? [] : [[id, role] as const])),
  );
  const states = await mirror.readDifferingUsers([...users.values()], roles);
  const plans = states.map((state) => planUser(state, members.get(state.id), settings.policy));
  const stale = states.filter((state) => state.stale === true).map(({ id }) => id);
  warnOfStale(findings, stale.length);
  const population = await mirror.countPresentUsers();
  const verdict = await judge(mirror, { states, plans, users, members, population }, settings.guard);
  const roster = { users, members, rejected: [], unresolved: [], refusedLookups: 0 };
  return { roster, roles, plans: verdict.plans, absent: [], stale, verdict };
}
