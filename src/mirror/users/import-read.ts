/** Reads the data that an import is compared with: all users of the team, and the roles in use. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { BaseUser, MirrorRow } from '../../model/user.ts';
import { valuesAs, valuesOf } from '../db/field-sql.ts';
import type { Queryable } from '../db/database.ts';
import { type MirrorAndBaseRow, toBase, toMirror } from './users-read.ts';

export async function readTeamUsers(
  db: Queryable,
  teamId: Id,
): Promise<readonly { readonly id: Id; readonly mirror: MirrorRow; readonly base: BaseUser | undefined }[]> {
  const { rows } = await sql<MirrorAndBaseRow>`
    select u.id, u.name, u.name_split, ${valuesOf('u')},
      case when u.role_id is null then u.role else r.name end as role, u.resolved,
      b.id is not null as has_base, b.name as base_name, ${valuesAs('b', 'base_')}
    from mirror.users u
    left join mirror.roles r on r.team_id = u.team_id and r.role_id = u.role_id
    left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where u.team_id = ${teamId} and u.gone_at is null
    order by u.id`.execute(db);
  return rows.map((row) => ({ id: row.id, mirror: toMirror(row, false), base: toBase(row) }));
}

/**
 * Reads the names of roles by id, from the users who have them. A user's role name is only updated when a run reads all
 * users. So users whose role was edited or pushed since are left out: their role name still belongs to the previous role.
 */
export async function readRoles(
  db: Queryable,
  teamId: Id,
): Promise<readonly { readonly id: Id; readonly name: string }[]> {
  const { rows } = await sql<{ id: Id; name: string }>`
    select distinct u.role_id as id, u.role as name
    from mirror.users u
    join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where u.team_id = ${teamId} and u.gone_at is null and u.resolved and u.role <> '' and u.role_id = b.role_id
      and not exists (
        select from sync.held_fields h where h.team_id = u.team_id and h.user_id = u.id and h.field = 'role_id')
      and not exists (
        select from sync.changes c
        where c.team_id = u.team_id and c.user_id = u.id and c.kind = 'push' and c.new ? 'role_id'
          and c.opened_at >= (
            select max(r.started_at) from sync.runs r
            where r.team_id = u.team_id and r.outcome = 'complete' and 'users' = any (r.groups)))
    order by u.role_id, u.role`.execute(db);
  return rows;
}
