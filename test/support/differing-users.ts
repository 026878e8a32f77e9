import type { Database } from '../../src/mirror/db/database.ts';
import { compareSides } from '../../src/mirror/users/users-compare.ts';
import type { Id } from '../../src/model/id.ts';
import type { RoleNames } from '../../src/model/plan.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import type { UserState } from '../../src/model/user-state.ts';
import { unknownUser } from '../../src/reconcile/look.ts';

/** Those of these users who are not the same on both sides, or new here. */
export async function readDifferingUsers(
  db: Database,
  teamId: Id,
  users: readonly ServiceUser[],
  roles: RoleNames = new Map(),
): Promise<readonly UserState[]> {
  const byId = new Map(users.map((user) => [user.id, user]));
  const { differing, unknown } = await compareSides(db, teamId, { users: byId, roles, leftOut: null });
  return [...differing, ...unknown.map((id) => unknownUser(id, byId.get(id)))];
}
