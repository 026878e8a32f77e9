/** What is played of each command: what there is to do, how it is done once more after the crash, and how it has to end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/schema-dump.ts';
import { runMusterd } from '../system/run-musterd.ts';
import { createStage, onService, type Stage } from '../system/stage.ts';

/** A process to start. */
export interface Call {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What a scene plays in. */
export interface Theatre {
  readonly stage: Stage;
  readonly folder: string;
  readonly env: Call['env'];
  readonly close: () => Promise<void>;
}

export interface Scene {
  /** Makes work that no play before has done. */
  prepare(nonce: number): Promise<Call>;
  /** Whoever finds that the process is gone does the same once more. */
  again(call: Call): Promise<void>;
  /** Looks at how it ended, and says what must not change any more. */
  end(): Promise<unknown>;
}

/** A mirror and a small service that agree, and names that are cut where the service cuts them. */
export async function openTheatre(folder: string): Promise<Theatre> {
  const stage = await createStage({ emulator: { users: 6, tags: 2, fields: 1 } });
  const { team } = stage.emulator;
  for (const [at, { id }] of team.users().entries())
    team.editUser(id, { first: 'Given', last: `Family${id}`, email: emailOf(0, at), phone: phoneOf(0, at) });
  expect(await stage.run()).toMatchObject({ outcome: 'complete' });
  const env = {
    ...stage.env,
    MUSTERD__push__quietPeriodMs: '0',
    MUSTERD__log__level: 'silent',
  };
  return { stage, folder, env, close: () => stage.close() };
}

const emailOf = (nonce: number, at: number) => `n${nonce}.${at}@example.com`;
const phoneOf = (nonce: number, at: number) => `1555${1_000_000 + 10 * nonce + at}`;

const tables = [
  'mirror.users',
  'mirror.tags',
  'mirror.contact_fields',
  'mirror.roles',
  'sync.user_base',
  'sync.user_periods',
  'sync.changes',
  'sync.edits',
  'sync.held_fields',
  'sync.absences',
  'sync.listing_changes',
];
const digestOf = (table: string) =>
  `select '${table}', md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from ${table} t`;
const contentOf = async (db: Database) =>
  (await runSqlText(db, tables.map(digestOf).join(' union all '))).rows;

/** What the service has to be sent: once for each user, and nothing besides. */
type Sends = readonly { readonly id: number }[];

/** A command that works on the mirror of the theatre, and a run after it. */
function onStage(
  { stage, env }: Theatre,
  prepare: (
    nonce: number,
  ) => Promise<{ readonly args: readonly string[]; readonly sends: Sends; readonly env?: Call['env'] }>,
  before: (call: Call) => Promise<void> = () => Promise.resolve(),
): Scene {
  let sends: Sends = [];
  return {
    prepare: async (nonce) => {
      const prepared = await prepare(nonce);
      ({ sends } = prepared);
      stage.emulator.clearRequests();
      return { args: prepared.args, env: { ...env, ...prepared.env } };
    },
    again: async (call) => {
      await before(call);
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    },
    end: async () => {
      const sent = stage.updates().map((update) => ({ ...update, id: Number(update['id']) }));
      expect(sent.toSorted((one, other) => one.id - other.id)).toEqual(sends);
      sends = [];
      stage.emulator.clearRequests();
      expect(await stage.mirrored()).toEqual(onService(stage));
      const left = await stage.sql(`select (select count(*) from sync.changes where state = 'open') as open,
        (select count(*) from sync.runs where outcome = 'running') as running,
        (select count(*) from sync.held_fields) as held, (select count(*) from sync.edits where ended_at is null) as lasting,
        (select count(*) from mirror.tags where gone_at is null) as tags`);
      expect(left).toEqual([['0', '0', '0', '0', String(stage.emulator.team.tags().length)]]);
      return await contentOf(stage.db);
    },
  };
}

/** An empty database, which has the schema of this one in the end. */
function migrating({ stage, env }: Theatre): Scene {
  let database: TestDatabase | undefined;
  return {
    prepare: async () => {
      await database?.close();
      database = await createTestDatabase({ empty: true });
      return { args: ['migrate'], env: { ...env, DATABASE_URL: database.url } };
    },
    again: async (call) => {
      expect(await runMusterd(call.args, call.env)).toMatchObject({ code: 0 });
    },
    end: async () => {
      if (database === undefined) throw new Error('nothing was prepared');
      const found = await dumpSchema(database.db);
      expect(found).toEqual(await dumpSchema(stage.db));
      return found;
    },
  };
}

type Write = (theatre: Theatre) => Promise<Scene>;

const at = ({ stage }: Theatre, index: number) => {
  const user = stage.emulator.team.users()[index];
  if (user === undefined) throw new Error('no such user');
  return user.id;
};
/** Edits of the emails of these users, by SQL; the service has to be sent them. */
async function editEmails(theatre: Theatre, nonce: number, indexes: readonly number[]): Promise<Sends> {
  const sends = indexes.map((index) => ({ id: at(theatre, index), email: emailOf(nonce, index) }));
  for (const { id, email } of sends)
    await theatre.stage.sql(`update mirror.users set email = '${email}' where id = ${id}`);
  return sends;
}

export const scenes = {
  /** Both sides were edited, and a tag is new. */
  reconcile: (theatre) =>
    Promise.resolve(
      onStage(theatre, async (nonce) => {
        const { team } = theatre.stage.emulator;
        team.editUser(at(theatre, 1), { phone: phoneOf(nonce, 1) });
        team.editUser(at(theatre, 2), { last: `Family${nonce}` });
        team.addTag(`tag ${nonce}`);
        return { args: ['reconcile'], sends: await editEmails(theatre, nonce, [0]) };
      }),
    ),

  /** Every field of several users goes out, in several requests. */
  push: (theatre) =>
    Promise.resolve(
      onStage(theatre, async (nonce) => {
        const [emails, id] = [await editEmails(theatre, nonce, [0, 1, 2, 3]), at(theatre, 4)];
        const [phone, first] = [phoneOf(nonce, 4), `Given${nonce}`];
        await theatre.stage.sql(
          `update mirror.users set phone = '${phone}', first_name = '${first}' where id = ${id}`,
        );
        const sends = [...emails, { id, phone, first_name: first, last_name: `Family${id}` }];
        return { args: ['reconcile'], sends, env: { MUSTERD__push__batchSize: '2' } };
      }),
    ),

  /** Two pushes got no answer: one of them had its effect later, the other never. */
  settle: (theatre) =>
    Promise.resolve(
      onStage(theatre, async (nonce) => {
        const { stage } = theatre;
        const sends = await editEmails(theatre, nonce, [0, 1]);
        const unfault = stage.emulator.addFault({ kind: 'reset-before', path: '/v1/users/update', times: 9 });
        await stage.run({ push: { quietPeriodMs: 600_000, batchSize: 1 } });
        unfault();
        const open = await stage.sql(
          `select count(*) from sync.changes where state = 'open' and sent_at is not null`,
        );
        expect(open).toEqual([['2']]);
        stage.emulator.team.editUser(at(theatre, 0), { email: emailOf(nonce, 0) });
        return { args: ['reconcile'], sends: sends.slice(1) };
      }),
    ),

  migrate: (theatre) => Promise.resolve(migrating(theatre)),

  import: (theatre) => {
    const file = join(theatre.folder, 'people.csv');
    const imported = async ({ args, env }: Call) => {
      expect(await runMusterd(args, env)).toMatchObject({ code: 0 });
    };
    const prepare = (nonce: number) => {
      const sends = [0, 1, 2].map((index) => ({
        id: at(theatre, index),
        email: emailOf(nonce, index),
        phone: phoneOf(nonce, index),
      }));
      writeFileSync(file, ['id,email,phone', ...sends.map((one) => Object.values(one).join(','))].join('\n'));
      return Promise.resolve({ args: ['import', file, '--yes', '--reason', 'a list'], sends });
    };
    return Promise.resolve(onStage(theatre, prepare, imported));
  },
} as const satisfies Readonly<Record<string, Write>>;

export type Command = keyof typeof scenes;
