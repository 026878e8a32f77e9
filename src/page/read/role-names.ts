import { sql } from 'kysely';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Queryable, Row } from '../../mirror/db/database.ts';
import type { Id } from '../../model/id.ts';
import type { NamedRoles } from '../../model/named-roles.ts';

export async function readRoleNames(db: Queryable, teamIds: readonly Id[]): Promise<NamedRoles> {
  const { rows } = await sql<Row<'mirror.roles', 'team_id' | 'role_id' | 'name'>>`
    select team_id, role_id, name from mirror.roles where team_id = any (${idArray(teamIds)}) and name is not null`.execute(
    db,
  );
  return new Map(rows.map((row) => [`${row.team_id} ${row.role_id}`, row.name ?? '']));
}
