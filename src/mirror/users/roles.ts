/** Records the roles of users. The service has no list of roles: a user has the role's id, a member the role's name. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { UserPlan } from '../../model/user-plan.ts';
import type { Transaction } from '../db/database.ts';

/** True if the write of this user can change the counts or names of roles. */
export function movesRole({ write }: UserPlan): boolean {
  if (write === null) return false;
  const { expected, mirror, observed } = write;
  return (
    expected === null ||
    expected.gone ||
    expected.roleId !== mirror.roleId ||
    expected.role !== observed.role ||
    expected.resolved !== observed.resolved
  );
}

/**
 * Counts the users of each role again, from the base. Must be called after all pulls and before any push, because a user
 * whose role was just pushed still has the previous role's name. Unchanged rows are not written.
 */
export async function writeRoles(tx: Transaction, teamId: Id): Promise<void> {
  await sql`
    with named as (
      select b.role_id, case when h.field is null then nullif(u.role, '') end as name, count(*) as members
      from (select * from mirror.users where team_id = ${teamId} and gone_at is null and resolved) u
      full join (select id, role_id from sync.user_base where team_id = ${teamId} and role_id is not null) b on b.id = u.id
      left join sync.held_fields h on h.team_id = u.team_id and h.user_id = u.id and h.field = 'role_id'
      where case when u.id is null then false else b.id is not null end
      group by 1, 2
    ),
    counted as (
      select role_id, (array_agg(name order by members desc, name) filter (where name is not null))[1] as name,
        sum(members) as members
      from named group by role_id
    )
    insert into mirror.roles as r (team_id, role_id, name, members, gone_at)
    select ${teamId}, coalesce(c.role_id, k.role_id), coalesce(c.name, k.name), coalesce(c.members, 0),
      case when c.role_id is null then clock_timestamp() end
    from counted c
    full join (select * from mirror.roles where team_id = ${teamId}) k on k.role_id = c.role_id
    where c.role_id is null and k.gone_at is null or c.role_id is not null and (k.role_id is null or k.gone_at is not null
      or (coalesce(c.name, k.name), c.members) is distinct from (k.name, k.members))
    on conflict (team_id, role_id) do update set name = excluded.name, members = excluded.members, gone_at = excluded.gone_at`.execute(
    tx,
  );
}
