/** An index of the team's members by id. It is kept with its answer, so that each small run need not make it again. */
import type { TeamMember } from '../../model/team-member.ts';
import type { Id } from '../../model/id.ts';
import { inTurns } from '../../model/in-turns.ts';
import type { Team } from '../../model/team.ts';
import type { RoleNames } from '../../model/plan.ts';

export type Members = ReadonlyMap<Id, TeamMember>;

const byAnswer = new WeakMap<Team['members'], Members>();

/** Pauses for other work, because the answer may be long. */
export async function membersOf({ members }: Pick<Team, 'members'>): Promise<Members> {
  const index = byAnswer.get(members);
  if (index !== undefined) return index;
  const byId = new Map<Id, TeamMember>();
  await inTurns(members, (member) => byId.set(member.id, member));
  byAnswer.set(members, byId);
  return byId;
}

/** The names of the members' roles, each read on demand. */
export function rolesOf(members: Members): RoleNames {
  return { get: (id) => members.get(id)?.role ?? undefined };
}
