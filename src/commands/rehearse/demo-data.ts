/** The story of the demo: the edits of users on both sides. */
import type { UserRecord } from '../../emulator/rules/played-team.ts';
import type { Mirror } from '../../runs/open.ts';
import { runDemoSql } from '../../runs/rehearse/demo-database.ts';

/** The fields that the demo reads of a user on the service. */
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

/** Seconds between two runs of `musterd demo --serve`. */
export const runEverySeconds = 2;

/** Something to try in another terminal. */
export interface Idea {
  readonly why: string;
  readonly commands: readonly string[];
}

/** The number of users in an edit that the guard holds: above the limit per run, below the limit per day. */
const tooMany = 60;

/** Ideas to try after the story, with users that the story has not edited. */
export function ideasOf(users: readonly ShownUser[], { onService, inMirror }: Plot): readonly Idea[] {
  const played = new Set([onService.id, ...inMirror.map(({ userId }) => userId)]);
  const others = users.filter(({ id }) => !played.has(id));
  const [edited, moved, last] = [others[0], others[1], others.at(-tooMany - 1)];
  if (edited === undefined || moved === undefined || last === undefined)
    throw new Error('the emulated team has too few users for the demo');
  const update = { users: [{ id: moved.id, phone: '15550102' }] };
  return [
    {
      why: 'Edit a user in SQL; a moment later the service has it.',
      commands: [
        `musterd sql "update mirror.users set phone = '15550101' where id = ${edited.id}" --write --wait`,
      ],
    },
    {
      why: `Edit one on the service, as somebody does in the web app; within ${runEverySeconds} seconds the mirror has it.`,
      commands: [`echo '${JSON.stringify(update)}' | musterd api POST /v1/users/update --input -`],
    },
    {
      why: 'Edit too many at once: they wait for a person, and this terminal says how to let them pass.',
      commands: [
        `musterd sql "update mirror.users set email = replace(email, '@', '@mail.') where id > ${last.id}" --write`,
      ],
    },
    {
      why: 'Ask why a user is as it is, and whether both sides are equal.',
      commands: [`musterd why ${edited.id}`, 'musterd verify'],
    },
  ];
}

/** Runs one statement and returns its rows as text. */
export async function readRows(
  db: Mirror['db'],
  query: string,
): Promise<{ readonly head: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }> {
  const { head, rows } = await runDemoSql(db, query);
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
