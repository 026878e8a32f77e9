/** Users who are not gone. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { PresentUser } from '../model/plan.ts';
import type { Queryable, Row } from './database.ts';

export async function countPresentUsers(db: Queryable, teamId: Id): Promise<number> {
  const { count } = await db
    .selectFrom('mirror.users')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('team_id', '=', teamId)
    .where('gone_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Everybody who is not gone, with the values last agreed on; of whoever has none, with the mirror's. */
export async function readPresentUsers(db: Queryable, teamId: Id): Promise<readonly PresentUser[]> {
  const { rows } = await sql<Row<'mirror.users', 'id' | 'email' | 'phone' | 'role_id'>>`
    select u.id, case when b.id is null then u.email else b.email end as email,
      case when b.id is null then u.phone else b.phone end as phone,
      case when b.id is null then u.role_id else b.role_id end as role_id
    from mirror.users u
    left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where u.team_id = ${teamId} and u.gone_at is null`.execute(db);
  return rows.map(({ role_id: roleId, ...rest }) => ({ ...rest, roleId }));
}
