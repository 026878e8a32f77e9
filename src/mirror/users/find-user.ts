/** Finds users by a text that a person typed. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { endOfPhone, type UserQuery, wholeName } from './user-query.ts';
import type { Queryable, Row } from '../db/database.ts';

/** A matching user, with its distinguishing values. */
export interface FoundUser extends Row<'mirror.users', 'id' | 'name' | 'email' | 'phone'> {
  readonly gone: boolean;
  /** True if only a part of a value matches. Such a user may be shown as a suggestion, but not be used. */
  readonly isPart: boolean;
}

/** The least number of digits at the end of a phone number that identify it. */
const fewestDigits = 7;

/** The highest number of candidates: a longer list does not help a person to choose. */
const mostNear = 200;

/**
 * Finds users by id, email, phone or name. Emails and ids match exactly; names ignore case, diacritics and `ae` for `ä`.
 * Only matches of the best kind are returned, in this order: the id, a value in the mirror, a value in the base, the end
 * of a phone (unless the digits may be an id, or begin with the calling code), a part of a value. An id is found even if only the ledger still has it.
 */
export async function findUsers(db: Queryable, teamId: Id, query: UserQuery): Promise<readonly FoundUser[]> {
  const { id } = query;
  const digits = endOfPhone(query);
  const mayBeId = id !== null && digits === query.phone;
  const isLong = digits !== null && digits.length >= fewestDigits && !mayBeId;
  const isEnd = isLong ? `${query.isWhole ? '' : '%'}${digits}` : null;
  const { rows } = await sql<FoundUser>`
    with matches as (
      select ${id}::bigint as id, 1 as rank where
        exists (select from mirror.users u where u.team_id = ${teamId} and u.id = ${id})
        or exists (select from sync.user_base b where b.team_id = ${teamId} and b.id = ${id})
        or exists (select from sync.changes c where c.team_id = ${teamId} and c.user_id = ${id})
      union all
      select u.id, 2 from mirror.users u where u.team_id = ${teamId} and (
        ${answersTo('u', query)} or ${hasName(sql`u.first_name || ' ' || u.last_name`, query)})
      union all
      select b.id, 3 from sync.user_base b where b.team_id = ${teamId} and (${answersTo('b', query)})
    ),
    near as (
      select u.id, case when ${phoneColumn('u')} like ${isEnd}::text then 4 else 5 end as rank from mirror.users u
      where u.team_id = ${teamId} and not exists (select from matches) and ${fits('u', query)}
      limit ${mostNear}
    ),
    found as (select id, min(rank) as rank from (select * from matches union all select * from near) m group by id)
    select f.id, coalesce(u.name, b.name, '') as name, coalesce(u.email, b.email) as email,
           coalesce(u.phone, b.phone) as phone, coalesce(u.gone_at is not null, false) as gone, f.rank = 5 as "isPart"
    from found f
    left join mirror.users u on u.team_id = ${teamId} and u.id = f.id
    left join sync.user_base b on b.team_id = ${teamId} and b.id = f.id
    where f.rank = (select min(rank) from found)
    order by f.id`.execute(db);
  return rows;
}

/** The digits of a row's phone, as in `canonicalPhone`. */
const phoneColumn = (row: string) => sql`regexp_replace(${sql.ref(`${row}.phone`)}, '[^0-9]', '', 'g')`;

/** Makes a condition on the form of a text that `plain` returns. ASCII texts, the most, take a tenth of the time. */
const ifPlain = (
  text: RawBuilder<unknown>,
  ascii: (plain: RawBuilder<unknown>) => RawBuilder<unknown>,
  any: (plain: RawBuilder<unknown>) => RawBuilder<unknown>,
) => sql`case when octet_length(${text}) = length(${text}) then ${ascii(sql`lower((${text}) collate "C")`)}
  else ${any(sql`lower(regexp_replace(normalize(${text}, nfd), '[\u0300-\u036f]', '', 'g'))`)} end`;

/**
 * True if the email, phone or name of a row is the text. Emails and phones are compared in canonical form. A meaning that
 * is `null` is sent as a parameter, too, and Postgres then leaves the comparison out of its plan.
 */
function answersTo(row: string, query: UserQuery): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  return sql`
    lower(regexp_replace(${column('email')}, '^\\s+|\\s+$', '', 'g') collate "C") = ${query.email}::text
    or ${phoneColumn(row)} = ${query.phone}::text
    or ${hasName(column('name'), query)}`;
}

function hasName(text: RawBuilder<unknown>, query: UserQuery): RawBuilder<unknown> {
  const isName = (plain: RawBuilder<unknown>) => sql`${plain} ~ ${wholeName(query)}`;
  return query.name === null ? sql`false` : ifPlain(text, isName, isName);
}

/** True if a text contains each word of the query. */
export function contains(text: RawBuilder<unknown>, { words, rough }: UserQuery): RawBuilder<unknown> {
  const hasWords = (plain: RawBuilder<unknown>) => sql`${plain} ~ all (${words}::text[])`;
  return ifPlain(text, (plain) => sql`${plain} like all (${rough}::text[]) and ${hasWords(plain)}`, hasWords);
}

/** True if the name, email, phone or id of a row contains the search text. Digits are searched in this form only. */
export function fits(row: string, query: UserQuery): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  const text = sql`${column('name')} || e'\n' || coalesce(${column('email')}, '')`;
  const { phone, words } = query;
  if (phone === null) return contains(text, query);
  const end = endOfPhone(query);
  return sql`(${phoneColumn(row)} like ${end === null ? null : `%${end}%`}::text
    or ${text} || e'\n' || ${column('id')} ~ all (${words}::text[]))`;
}
