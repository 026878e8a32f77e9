/** Users who are not gone. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Concern, PresentUser } from '../model/plan.ts';
import { byKey } from './by-key.ts';
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

/** So many addresses are looked for one by one in each text, which takes half the time. */
const few = 3;

const containing = (parts: readonly string[]) =>
  parts.map((part) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`);

/**
 * A canonical email. Of few it is asked which texts they are in, whatever is around them; of many which are equal, and
 * one with white space or letters of other alphabets, which no comparison in SQL cuts, is always among them.
 */
const hasEmail = (table: string, emails: readonly string[]) => {
  const email = sql`${sql.ref(`${table}.email`)} collate "C"`;
  return emails.length <= few
    ? sql`lower(${email}) like any (${containing(emails)}::text[])`
    : sql`(lower(${email}) = any (${emails}::text[]) or ${email} ~ '[^!-~]')`;
};

/** The digits of a phone. Of few their order is looked at first, whatever is between them. */
const hasPhone = (table: string, phones: readonly string[]) => {
  const phone = sql.ref(`${table}.phone`);
  const isEqual = sql`regexp_replace(${phone}, '[^0-9]', '', 'g') = any (${phones}::text[])`;
  const inOrder = phones.map((digits) => `%${digits.split('').join('%')}%`);
  return phones.length <= few
    ? sql`(${phone} collate "C" like any (${inOrder}::text[]) and ${isEqual})`
    : isEqual;
};

const hasRole = (table: string, roleIds: readonly Id[]) =>
  sql`${sql.ref(`${table}.role_id`)} = any (${roleIds}::bigint[])`;

/**
 * Those who are not gone and have one of these addresses or roles by the values last agreed on; of whoever has none, by
 * the mirror's. Each table is read once, and nothing but what is asked for is compared: an index would cost every load
 * and every edit more than that.
 */
export async function readPresentUsers(
  db: Queryable,
  teamId: Id,
  { emails, phones, roleIds }: Concern,
): Promise<readonly PresentUser[]> {
  const isConcerned = (table: string) => [
    ...(emails.length > 0 ? [hasEmail(table, emails)] : []),
    ...(phones.length > 0 ? [hasPhone(table, phones)] : []),
    ...(roleIds.length > 0 ? [hasRole(table, roleIds)] : []),
  ];
  if (isConcerned('u').length === 0) return [];
  const some = (table: string) => sql`(${sql.join(isConcerned(table), sql` or `)})`;
  const { rows } = await sql<Row<'mirror.users', 'id' | 'email' | 'phone' | 'role_id'>>`
    select b.id, b.email, b.phone, b.role_id from sync.user_base b
    where b.team_id = ${teamId} and ${some('b')}
      and exists (select from ${byKey('mirror.users', teamId, sql`b.id`)} u where u.gone_at is null)
    union all
    select u.id, u.email, u.phone, u.role_id from mirror.users u
    where u.team_id = ${teamId} and u.gone_at is null and ${some('u')}
      and not exists (select from ${byKey('sync.user_base', teamId, sql`u.id`)} b)`.execute(db);
  return rows.map(({ role_id: roleId, ...rest }) => ({ ...rest, roleId }));
}
