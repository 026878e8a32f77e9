/** Reads users that are not marked as gone, by address or role. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { Concern, PresentUser } from '../../model/plan.ts';
import { byKey } from '../db/by-key.ts';
import type { Queryable, Row } from '../db/database.ts';

/** Up to this many addresses are each searched with LIKE, which takes half the time of comparing all at once. */
const few = 3;

const containing = (parts: readonly string[]) =>
  parts.map((part) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`);

/** True if a text begins with the first letter of one of these emails, or with a character that canonical forms drop. */
const beginsLike = (text: RawBuilder<unknown>, emails: readonly string[]) => {
  const letters = emails.flatMap((email) => [email.slice(0, 1), email.slice(0, 1).toUpperCase()]);
  const codes = [...new Set(letters.map((letter) => letter.charCodeAt(0)))];
  return sql`(ascii(${text}) = any (${codes}::int[]) or ascii(${text}) not between 33 and 126)`;
};

/**
 * A fast filter, which passes all rows with one of these canonical emails, and some more. Up to `few` emails are searched
 * as substrings if the first letter matches. More emails are compared for equality, and texts with white space or
 * non-ASCII letters always pass, because SQL cannot bring them into canonical form.
 */
const hasEmail = (emails: readonly string[]) => {
  const email = sql`t.email collate "C"`;
  return emails.length <= few
    ? sql`case when ${beginsLike(email, emails)} then lower(${email}) end like any (${containing(emails)}::text[])`
    : sql`(lower(${email}) = any (${emails}::text[]) or ${email} ~ '[^!-~]')`;
};

/** Compares the digits of phones. For up to `few` phones, LIKE first finds texts that have the digits in this order. */
const hasPhone = (phones: readonly string[]) => {
  const isEqual = sql`regexp_replace(t.phone, '[^0-9]', '', 'g') = any (${phones}::text[])`;
  const inOrder = phones.map((digits) => `%${digits.split('').join('%')}%`);
  return phones.length <= few
    ? sql`(t.phone collate "C" like any (${inOrder}::text[]) and ${isEqual})`
    : isEqual;
};

/**
 * Reads users who are not gone and have one of these addresses or roles: in the base or, without a base, in the mirror.
 * Each table is scanned once, and only the requested columns are compared, because an index would cost more at every load
 * and edit. All other columns are read only for matching rows; `offset 0` keeps the two steps apart.
 */
export async function readPresentUsers(
  db: Queryable,
  teamId: Id,
  { emails, phones, roleIds }: Concern,
): Promise<readonly PresentUser[]> {
  const isConcerned = [
    ...(emails.length > 0 ? [hasEmail(emails)] : []),
    ...(phones.length > 0 ? [hasPhone(phones)] : []),
    ...(roleIds.length > 0 ? [sql`t.role_id = any (${roleIds}::bigint[])`] : []),
  ];
  if (isConcerned.length === 0) return [];
  const found = (table: string) => sql`
    (select * from ${sql.table(table)} t where t.team_id = ${teamId} and (${sql.join(isConcerned, sql` or `)}) offset 0)`;
  const { rows } = await sql<Row<'mirror.users', 'id' | 'email' | 'phone' | 'role_id'>>`
    select b.id, b.email, b.phone, b.role_id from ${found('sync.user_base')} b
    where exists (select from ${byKey('mirror.users', teamId, sql`b.id`)} u where u.gone_at is null)
    union all
    select u.id, u.email, u.phone, u.role_id from ${found('mirror.users')} u
    where u.gone_at is null and not exists (select from ${byKey('sync.user_base', teamId, sql`u.id`)} b)`.execute(
    db,
  );
  return rows.map(({ role_id: roleId, ...rest }) => ({ ...rest, roleId }));
}
