/** Users who are not gone. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { PresentUser } from '../model/plan.ts';
import type { Queryable } from './database.ts';

export async function countPresentUsers(db: Queryable, teamId: Id): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) as count from mirror.users where team_id = ${teamId} and gone_at is null`.execute(db);
  return Number(rows[0]?.count ?? 0n);
}

/** Everybody who is not gone, with the values last agreed on; of whoever has none, with the mirror's. */
export async function readPresentUsers(db: Queryable, teamId: Id): Promise<readonly PresentUser[]> {
  const { rows } = await sql<{
    id: bigint;
    email: string | null;
    phone: string | null;
    role_id: bigint | null;
  }>`
    select u.id, case when b.id is null then u.email else b.email end as email,
      case when b.id is null then u.phone else b.phone end as phone,
      case when b.id is null then u.role_id else b.role_id end as role_id
    from mirror.users u
    left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where u.team_id = ${teamId} and u.gone_at is null`.execute(db);
  return rows.map(({ role_id: roleId, ...rest }) => ({ ...rest, roleId }));
}
