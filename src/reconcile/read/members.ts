/** Who is in the team, as an index of the service's answer that is made once: a run of one edit looks at no more. */
import type { Id } from '../../model/id.ts';
import type { Team, TeamMember } from '../../model/team.ts';

export type Members = ReadonlyMap<Id, TeamMember>;

const byAnswer = new WeakMap<Team['members'], Members>();

export function membersOf({ members }: Pick<Team, 'members'>): Members {
  const known = byAnswer.get(members) ?? new Map(members.map((member) => [member.id, member]));
  byAnswer.set(members, known);
  return known;
}

/** The names of their roles. */
export function rolesOf(members: Members, ids: Iterable<Id>): ReadonlyMap<Id, string> {
  const roles = new Map<Id, string>();
  for (const id of ids) {
    const role = members.get(id)?.role ?? null;
    if (role !== null) roles.set(id, role);
  }
  return roles;
}
