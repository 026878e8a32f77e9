/** The plot of the demo: who is edited on which side, and how the two sides compare. */
import type { UserRecord } from '../emulator/played-team.ts';
import type { Database } from '../mirror/database.ts';
import { runSqlText } from '../mirror/sql-text.ts';
import { canonicalPhone } from '../model/canonical.ts';

/** A user as the demo sees it on the service's side. */
export type ShownUser = Pick<UserRecord, 'id' | 'first' | 'last' | 'email' | 'phone' | 'roleId'>;

export interface SqlEdit {
  readonly userId: number;
  readonly statement: string;
  readonly why: string;
}

export interface Plot {
  readonly onService: { readonly id: number; readonly phone: string };
  readonly inMirror: readonly SqlEdit[];
}

function pick(users: readonly ShownUser[], what: string, test: (user: ShownUser) => boolean): ShownUser {
  const user = users.find(test);
  if (user === undefined) throw new Error(`the emulated team has no ${what}`);
  return user;
}

/** Chooses four users: one to edit on the service, three in SQL. */
export function editsOf(users: readonly ShownUser[]): Plot {
  const twoWords = pick(
    users,
    'user of two names',
    ({ first, last }) => first !== '' && /^\S+$/.test(last) && !first.includes(' '),
  );
  const single = pick(users, 'user of one name', ({ last, email }) => last === '' && email !== null);
  const rest = users.filter(({ id }) => id !== twoWords.id && id !== single.id);
  const role = pick(
    rest,
    'user without a special role',
    ({ roleId, phone }) => roleId === 4 && phone !== null,
  );
  const onService = pick(rest, 'user with a phone', ({ id, phone }) => id !== role.id && phone !== null);
  return {
    onService: { id: onService.id, phone: '15550100' },
    inMirror: [
      {
        userId: twoWords.id,
        statement: `update mirror.users set first_name = 'Robin' where id = ${twoWords.id}`,
        why: 'the first name alone; the service needs both halves',
      },
      {
        userId: single.id,
        statement: `update mirror.users set email = 'only.one.name@example.com' where id = ${single.id}`,
        why: 'a name of a single word stays as it is',
      },
      {
        userId: role.id,
        statement: `update mirror.users set role_id = 1, phone = null where id = ${role.id}`,
        why: 'promoted, and without a phone',
      },
    ].toSorted((a, b) => a.userId - b.userId),
  };
}

/** Runs one statement and gives its rows as text, ready to be shown. */
export async function readRows(
  db: Database,
  query: string,
): Promise<{ readonly head: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }> {
  const { head, rows } = await runSqlText(db, query);
  return { head, rows: rows.map((row) => row.map(inWords)) };
}

function inWords(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object') {
    const { first = '', last = '' } = value as { first?: string; last?: string };
    return `${first} ${last}`.trim();
  }
  return `${value as string | number | bigint | boolean}`;
}

/** The ids of the users who differ between the service and the mirror, byte for byte but for a phone's plus sign. */
export async function differencesOf(db: Database, users: readonly ShownUser[]): Promise<readonly number[]> {
  const { rows } = await runSqlText(
    db,
    'select id, name, email, phone, role_id from mirror.users where gone_at is null',
  );
  const mirrored = new Map(rows.map(([id, ...values]) => [Number(id), values]));
  const differs = ({ id, first, last, email, phone, roleId }: ShownUser) => {
    const [name, ...rest] = mirrored.get(id) ?? [];
    const [mirrorEmail, mirrorPhone, mirrorRole] = rest as [string | null, string | null, bigint];
    return (
      name !== [first, last].filter(Boolean).join(' ') ||
      mirrorEmail !== email ||
      canonicalPhone(mirrorPhone) !== canonicalPhone(phone) ||
      Number(mirrorRole) !== roleId
    );
  };
  const extra = mirrored.size > users.length ? [Number.NaN] : [];
  return [...users.filter(differs).map(({ id }) => id), ...extra];
}
