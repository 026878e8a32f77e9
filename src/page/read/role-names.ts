/** The names of roles, which people know rather than their ids. */
import { sql } from 'kysely';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Queryable, Row } from '../../mirror/db/database.ts';
import type { Id } from '../../model/id.ts';

/** By team and id. */
export type RoleNames = ReadonlyMap<string, string>;

export async function readRoleNames(db: Queryable, teamIds: readonly Id[]): Promise<RoleNames> {
  const { rows } = await sql<Row<'mirror.roles', 'team_id' | 'role_id' | 'name'>>`
    select team_id, role_id, name from mirror.roles where team_id = any (${idArray(teamIds)}) and name is not null`.execute(
    db,
  );
  return new Map(rows.map((row) => [`${row.team_id} ${row.role_id}`, row.name ?? '']));
}

/** The value of a field as people know it: a role with its name, `1 admin`. */
export function withRoleName(
  names: RoleNames,
  teamId: Id | null,
  field: string | null,
  value: unknown,
): unknown {
  const name = field === 'role_id' ? names.get(`${teamId} ${String(value)}`) : undefined;
  return name === undefined ? value : `${String(value)} ${name}`;
}
