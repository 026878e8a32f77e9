/** Users who are not gone. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Concern, PresentUser } from '../model/plan.ts';
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

const upperCase = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * Those who are not gone and have one of these addresses or roles by the values last agreed on; of whoever has none, by
 * the mirror's. An email with white space or letters of other alphabets is always among them: no comparison in SQL
 * cuts it as `canonicalEmail` does.
 */
export async function readPresentUsers(
  db: Queryable,
  teamId: Id,
  { emails, phones, roleIds }: Concern,
): Promise<readonly PresentUser[]> {
  const { rows } = await sql<Row<'mirror.users', 'id' | 'email' | 'phone' | 'role_id'>>`
    select u.id, a.email, a.phone, a.role_id
    from mirror.users u
    left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    cross join lateral (
      select case when b.id is null then u.email else b.email end as email,
        case when b.id is null then u.phone else b.phone end as phone,
        case when b.id is null then u.role_id else b.role_id end as role_id
    ) a
    where u.team_id = ${teamId} and u.gone_at is null and (
      ${emails.length > 0}::boolean and (a.email collate "C" ~ '[^!-~]'
        or translate(a.email, ${upperCase}, ${upperCase.toLowerCase()}) = any (${emails}::text[]))
      or ${phones.length > 0}::boolean and regexp_replace(a.phone, '[^0-9]', '', 'g') = any (${phones}::text[])
      or a.role_id = any (${roleIds}::bigint[])
    )`.execute(db);
  return rows.map(({ role_id: roleId, ...rest }) => ({ ...rest, roleId }));
}
