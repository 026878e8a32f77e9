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
export async function findUsers(db: Queryable, teamId: Id, query: UserQuery): Promise<readonly FoundUser[]> {
  const { id } = query;
  const { rows } = await sql<FoundUser>`
    with matches as (
      select ${id}::bigint as id, 1 as rank where
        exists (select from mirror.users u where u.team_id = ${teamId} and u.id = ${id})
        or exists (select from sync.user_base b where b.team_id = ${teamId} and b.id = ${id})
        or exists (select from sync.changes c where c.team_id = ${teamId} and c.user_id = ${id})
      union all
      select u.id, 2 from mirror.users u where u.team_id = ${teamId} and (
        ${answersTo('u', query)} or ${sameName(sql`u.first_name || ' ' || u.last_name`, query)})
      union all
      select b.id, 3 from sync.user_base b where b.team_id = ${teamId} and (${answersTo('b', query)})
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

/**
 * Compares like `canonicalEmail`, where only ASCII letters are lowered, and like `canonicalPhone` and `canonicalName`. What is
 * `null` is a parameter and no column, so that Postgres leaves its expression out of the plan.
 */
function answersTo(row: string, query: UserQuery): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  return sql`
    lower(regexp_replace(${column('email')}, '^\\s+|\\s+$', '', 'g') collate "C") = ${query.email}::text
    or regexp_replace(${column('phone')}, '[^0-9]', '', 'g') = ${query.phone}::text
    or ${sameName(column('name'), query)}`;
}

/** Ignores case. */
function sameName(text: RawBuilder<unknown>, { name }: UserQuery): RawBuilder<unknown> {
  return sql`lower(btrim(regexp_replace(normalize(${text}), '\\s+', ' ', 'g'))) = lower(${name}::text)`;
}
