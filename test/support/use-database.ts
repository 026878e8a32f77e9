import { CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createDatabase, type Database, type Transaction } from '../../src/mirror/db/database.ts';
import { runSqlText, type SqlAnswer } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './database.ts';
import { watchStatements } from './watched-statements.ts';

export interface UsedDatabase extends Pick<TestDatabase, 'db' | 'url'> {
  /** The rows of the last statement, each as a list of its values. */
  readonly rows: (text: string) => Promise<SqlAnswer['rows']>;
  /** The same, each row by the names of its columns. */
  readonly objects: (text: string) => Promise<readonly Record<string, unknown>[]>;
  /** A transaction as musterd writes: the triggers that record edits let it pass. */
  readonly write: <R>(work: (tx: Transaction) => Promise<R>) => Promise<R>;
  /** These statements as musterd writes. */
  readonly force: (text: string) => Promise<unknown>;
}

/** A database for the tests of a file or of a `describe`: made before them, dropped after them. */
export function useDatabase(options: TestDatabaseOptions = {}): UsedDatabase {
  let made: TestDatabase | undefined;
  beforeAll(async () => {
    made = await createTestDatabase(options);
  });
  afterAll(async () => await made?.close());
  const database = () => {
    if (made === undefined) throw new Error('The database is made in beforeAll');
    return made;
  };
  const write: UsedDatabase['write'] = (work) =>
    database().db.transaction(async (tx) => {
      await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
      return await work(tx);
    });
  return {
    get db() {
      return database().db;
    },
    get url() {
      return database().url;
    },
    rows: async (text) => (await runSqlText(database().db, text)).rows,
    objects: async (text) =>
      (await database().db.kysely.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows,
    write,
    force: (text) => write((tx) => tx.executeQuery(CompiledQuery.raw(text))),
  };
}

/** Begins a run. @returns its number */
export async function beginRun({ rows }: UsedDatabase, team = 'north', teamId: number | null = 41) {
  const [[runId] = []] = await rows(
    `insert into sync.runs (team, team_id, command) values ('${team}', ${teamId}, 'reconcile') returning run_id`,
  );
  return runId as bigint;
}

/** The result of this work, in a transaction that leaves nothing behind. */
export async function aside<R>(
  db: Pick<Database, 'transaction'>,
  work: (tx: Transaction) => Promise<R>,
): Promise<R> {
  const undone = new Error('undone');
  let result: { readonly is: R } | undefined;
  const outcome = db.transaction(async (tx) => {
    result = { is: await work(tx) };
    throw undone;
  });
  await outcome.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  if (result === undefined) throw new Error('The transaction was committed');
  return result.is;
}

/** The same database for another role, whose password is `secret`. */
export function connectAs(of: string, role: string, maxConnections = 8): Database {
  const url = new URL(of);
  [url.username, url.password] = [role, 'secret'];
  return createDatabase({ url: url.href, applicationName: 'musterd test', maxConnections });
}

/** One session whose statements are watched until the test ends, so that the plans of its triggers stay. */
export async function watchSession(url: string) {
  const watch = await watchStatements(url);
  const db = createDatabase({ url: watch.url, applicationName: 'musterd test', maxConnections: 1 });
  onTestFinished(async () => {
    await db.close();
    await watch.close();
  });
  return { db, take: () => watch.take() };
}
