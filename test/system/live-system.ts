import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { inText } from './stage.ts';
import { type Ended, type Running, spawnMusterd, startMusterd } from './run-musterd.ts';

interface Person {
  readonly id: number;
  readonly first: string;
  readonly last: string;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: number;
}

/** A service, a mirror and a daemon, each a process of its own, and what a person does beside them. */
export interface LiveSystem {
  readonly environment: Readonly<Record<string, string>>;
  readonly daemon: Running;
  /** Rows as arrays of text. */
  sql(text: string): Promise<readonly (readonly string[])[]>;
  /** The command line as a process. */
  musterd(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Everybody on the service. */
  people(): Promise<readonly Person[]>;
  /** Somebody edits a user in the web app; `null`: removes. */
  editPerson(id: number, edit: Partial<Person> | null): Promise<void>;
  /** What the service was sent, a row per user and update. */
  updates(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Nothing that the daemon could send is left. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it, up to the end of the daemon's first run. It reads all users every two seconds besides. */
export async function startLiveSystem(
  settings: Readonly<Record<string, string>> = {},
  mirror?: TestDatabase,
): Promise<LiveSystem> {
  const database = mirror ?? (await createTestDatabase());
  const args = ['--users', '200', '--tags', '20', '--fields', '5', '--rate', '0'];
  const emulator = startMusterd(['emulator', '--http', ...args]);
  await eventually('the service is there', () => /SECRET_KEY=.*\n/.test(emulator.output().stdout));
  const service = Object.fromEntries(
    [...emulator.output().stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>;
  const environment = {
    ...service,
    DATABASE_URL: database.url,
    MUSTERD__rate__perMinute: '100000',
    MUSTERD__log__level: 'warn',
    MUSTERD__schedule__users: '*/2 * * * * *',
    ...settings,
  };
  const daemon = startMusterd(['daemon'], environment);
  const sql = async (text: string) =>
    (await runSqlText(database.db, text)).rows.map((row) => row.map(inText));
  const control = async (path: string, method = 'GET', body?: object): Promise<unknown> => {
    const answer = await fetch(`${service['MUSTERD_BASE_URL']}/_emulator/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  };
  const isEmpty = async (text: string) => (await sql(text)).length === 0;
  await eventually('the first run is complete', async () => {
    if (daemon.process.exitCode !== null) throw new Error(daemon.output().stderr);
    return !(await isEmpty(`select from sync.runs where outcome = 'complete'`));
  });
  return {
    environment,
    daemon,
    sql,
    musterd: (given, env = {}) => spawnMusterd(given, { ...environment, ...env }),
    people: async () => (await control('teams/41/users')) as readonly Person[],
    editPerson: async (id, edit) => {
      if (edit === null) await control(`teams/41/users/${id}`, 'DELETE');
      else await control(`teams/41/users/${id}`, 'PATCH', edit);
    },
    updates: async () => {
      const requests = (await control('requests?path=/v1/users/update')) as readonly {
        readonly body: { readonly users: readonly Readonly<Record<string, unknown>>[] };
      }[];
      return requests.flatMap(({ body }) => body.users);
    },
    settled: async () => {
      await eventually('nothing waits for a run', () =>
        isEmpty(
          `select from report.pending where state in ('sending', 'unknown') or state = 'waiting' and detail is null`,
        ),
      );
    },
    close: async () => {
      for (const one of [daemon, emulator]) {
        one.process.kill('SIGTERM');
        await one.ended;
      }
      await database.close();
    },
  };
}
