/** Finds users by what a person types. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { UserQuery } from './user-query.ts';
import type { Queryable, Row } from '../db/database.ts';

/** A matching user, with enough to tell it from others. */
export interface FoundUser extends Row<'mirror.users', 'id' | 'name' | 'email' | 'phone'> {
  readonly gone: boolean;
}

/**
 * Users with exactly this id, email, phone or name, in canonical form. The mirror's values come first;
 * those of base count only if nobody in the mirror matches. An id is also found
 * if only the ledger still knows it.
 */
export async function findUsers(
  db: Queryable,
  teamId: Id,
  { id, email, phone, name }: UserQuery,
): Promise<readonly FoundUser[]> {
  const { rows } = await sql<FoundUser>`
    with asked as (
      select ${id}::bigint as id, ${email}::text as email, ${phone}::text as phone, ${name}::text as name
    ),
    matches as (
      select ${id}::bigint as id, 1 as rank from asked a where
        exists (select from mirror.users u where u.team_id = ${teamId} and u.id = a.id)
        or exists (select from sync.user_base b where b.team_id = ${teamId} and b.id = a.id)
        or exists (select from sync.changes c where c.team_id = ${teamId} and c.user_id = a.id)
      union all
      select u.id, 2 from mirror.users u, asked a where u.team_id = ${teamId} and (
        ${sameEmail(sql.ref('u.email'))} or ${samePhone(sql.ref('u.phone'))} or ${sameName(sql.ref('u.name'))}
        or ${sameName(sql`u.first_name || ' ' || u.last_name`)})
      union all
      select b.id, 3 from sync.user_base b, asked a where b.team_id = ${teamId} and (
        ${sameEmail(sql.ref('b.email'))} or ${samePhone(sql.ref('b.phone'))} or ${sameName(sql.ref('b.name'))})
    ),
    found as (select id, min(rank) as rank from matches group by id)
    select f.id, coalesce(u.name, b.name, '') as name, coalesce(u.email, b.email) as email,
           coalesce(u.phone, b.phone) as phone, coalesce(u.gone_at is not null, false) as gone
    from found f
    left join mirror.users u on u.team_id = ${teamId} and u.id = f.id
    left join sync.user_base b on b.team_id = ${teamId} and b.id = f.id
    where f.rank = (select min(rank) from found)
    order by f.id`.execute(db);
  return rows;
}

/** Compares like `canonicalEmail`: only ASCII letters are lowered. */
function sameEmail(text: RawBuilder<unknown>) {
  return sql`lower(regexp_replace(${text}, '^\\s+|\\s+$', '', 'g') collate "C") = a.email`;
}

function samePhone(text: RawBuilder<unknown>) {
  return sql`regexp_replace(${text}, '[^0-9]', '', 'g') = a.phone`;
}

/** Compares like `canonicalName`, ignoring case. */
function sameName(text: RawBuilder<unknown>) {
  return sql`lower(btrim(regexp_replace(normalize(${text}), '\\s+', ' ', 'g'))) = lower(a.name)`;
}
