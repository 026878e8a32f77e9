/** A connection for SQL that a person wrote. It runs one statement at a time, and returns the rows page by page. */
import pg from 'pg';
import Cursor from 'pg-cursor';
import { createPostgresClient } from './database-client.ts';
import { MusterdError } from '../../errors.ts';
import type { SqlStatement } from '../../model/sql-statements.ts';
import { describeConnectError, describeStatementError } from './database-errors.ts';
import { connectionOptions, readConnectionUrl } from './database-url.ts';
import { columnsInAnswer, type SqlColumn } from './sql-values.ts';

/** The values of a row, each in the text form of Postgres; NULL is `null`. */
export type SqlRow = readonly (string | null)[];

export interface AnswerSink {
  /** Called once if the result has columns, even without rows. */
  readonly begin: (columns: readonly SqlColumn[]) => Promise<void>;
  /** @returns true if more rows are wanted */
  readonly take: (rows: readonly SqlRow[]) => Promise<boolean>;
}

export interface SqlSession {
  /** @returns the command tag, such as `UPDATE 3` @throws MusterdError with the position, as in psql */
  run(statement: SqlStatement, sink: AnswerSink): Promise<string>;
  /** Cancels the current statement, if any. */
  cancel(): Promise<void>;
  /** True if a transaction is still open. */
  isInTransaction(): boolean;
  /** Rolls back the open transaction. */
  close(): Promise<void>;
}

export interface SqlSessionOptions {
  readonly url: string;
  /** If false, each statement is a read-only transaction. */
  readonly isWriting: boolean;
  /** Called with warnings and notices. */
  readonly onNotice: (words: string) => void;
}

const rowsOfPage = 1_000;

/** Statements that begin, end or divide a transaction. */
export const transactionWords: ReadonlySet<string> = new Set(
  'begin start commit end rollback abort savepoint release'.split(' '),
);

/** The formats of the session: times as everywhere in musterd, numbers in full precision. */
const terms = `set timezone to 'UTC'; set datestyle to 'ISO, YMD'; set extra_float_digits to 1`;

/**
 * After this first read, no statement can make the transaction read-write. The person's SQL is sent in the extended
 * protocol, which accepts only one statement: it cannot end the transaction and continue with a second statement.
 */
const beginReading =
  'begin isolation level read committed read only; select pg_catalog.pg_backend_pid() as pid';

async function connect({ url, onNotice }: SqlSessionOptions): Promise<pg.Client> {
  const connection = readConnectionUrl(url);
  const client = createPostgresClient({
    ...connectionOptions(connection),
    application_name: 'musterd sql',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    types: { getTypeParser: () => (text: string | Buffer) => text },
  });
  // The listener may ignore an error of the connection, because the current statement reports it.
  client.on('error', () => {});
  client.on('notice', ({ severity = 'NOTICE', message = '' }) => onNotice(`${severity}:  ${message}`));
  try {
    await client.connect();
    await client.query(terms);
    return client;
  } catch (error) {
    throw describeConnectError(error, connection.shown);
  }
}

/** Opens a session, and reads the backend's pid, which is needed to cancel a statement. */
export async function openSqlSession(options: SqlSessionOptions): Promise<SqlSession> {
  const { isWriting } = options;
  const { shown } = readConnectionUrl(options.url);
  const client = await connect(options);
  const readPid = async (text: string) => {
    const answer: unknown = await client.query(text);
    const results = (Array.isArray(answer) ? answer : [answer]) as readonly pg.QueryResult<{ pid: string }>[];
    return results.at(-1)?.rows[0]?.pid;
  };
  let pid = await readPid('select pg_catalog.pg_backend_pid() as pid');
  let underWay = false;

  const run = async (statement: SqlStatement, sink: AnswerSink) => {
    refuse(statement, isWriting);
    const answerTo = async <T>(work: Promise<T>) =>
      work.catch((error: unknown) => {
        throw describeSqlError(error, statement, isWriting) ?? describeStatementError(error, shown);
      });
    underWay = true;
    try {
      // The pid is read for each transaction, because behind a pooler each may run in another backend.
      if (!isWriting) pid = await answerTo(readPid(beginReading));
      const tag = await answer(client, statement, sink, answerTo);
      if (!isWriting) await answerTo(client.query('commit'));
      return tag;
    } catch (error) {
      // On a broken connection the rollback fails, too. Its error is ignored, because the first error says more.
      if (!isWriting) await client.query('rollback').catch(() => {});
      throw error;
    } finally {
      underWay = false;
    }
  };

  const cancel = async () => {
    if (!underWay || pid === undefined) return;
    const other = await connect({ ...options, onNotice: () => {} });
    try {
      await other.query('select pg_catalog.pg_cancel_backend($1::int)', [pid]);
    } finally {
      await other.end();
    }
  };

  return {
    run,
    cancel,
    isInTransaction: () => client.getTransactionStatus() !== 'I',
    close: () => client.end(),
  };
}

/** Refuses statements that would not have their usual effect in such a session. */
function refuse({ keyword }: SqlStatement, isWriting: boolean): void {
  if (keyword === 'copy')
    throw new MusterdError('usage', 'The command musterd sql cannot run COPY', {
      hint: 'Use select with --format csv, or psql: "musterd status" prints its command.',
    });
  if (!isWriting && (transactionWords.has(keyword) || keyword === 'prepare'))
    throw new MusterdError(
      'usage',
      `${keyword.toUpperCase()}: without --write, each statement runs in its own read-only transaction`,
      { hint: 'Leave it out, or add --write to control transactions yourself.' },
    );
}

/** Passes the rows on page by page. Waits until each page is taken, so that only one page is in memory. */
async function answer(
  client: pg.Client,
  { text, values = [] }: SqlStatement,
  sink: AnswerSink,
  answerTo: <T>(work: Promise<T>) => Promise<T>,
): Promise<string> {
  const types = { getTypeParser: () => (value: string | Buffer) => value };
  const cursor = new Cursor<string[]>(text, [...values], { rowMode: 'array', types });
  client.query(Object.assign(cursor, { handleCopyInResponse: failCopy, handleCopyData: () => {} }));
  const read = () =>
    new Promise<{ readonly rows: readonly SqlRow[]; readonly result: pg.QueryResult }>((resolve, reject) => {
      cursor.read(rowsOfPage, (error, rows, result) => {
        // pg passes `null` if there was no error.
        if (error instanceof Error) reject(error);
        else resolve({ rows, result });
      });
    });
  let isBegun = false;
  try {
    for (;;) {
      const { rows, result } = await answerTo(read());
      const hasColumns = result.fields.length > 0;
      if (!isBegun && hasColumns) await sink.begin(columnsInAnswer(result.fields));
      isBegun = true;
      const isWanted = rows.length === 0 || !hasColumns || (await sink.take(rows));
      if (rows.length < rowsOfPage || !isWanted)
        return [result.command, result.rowCount].filter(isSaid).join(' ');
    }
  } finally {
    await cursor.close().catch(() => {});
  }
}

const isSaid = (part: unknown) => part !== null && part !== undefined;

function failCopy(connection: { sendCopyFail(words: string): void }): void {
  connection.sendCopyFail('there is no data to copy');
}

const windowBefore = 50;
const windowAfter = 30;

/** The line with the position, and a caret below. @param position in characters, from 1 */
function showPlace({ text, line }: SqlStatement, position: number): readonly string[] {
  const characters = Array.from(text);
  const before = characters
    .slice(0, position - 1)
    .join('')
    .split('\n');
  const column = Array.from(before.at(-1) ?? '').length;
  const whole = Array.from(text.split('\n')[before.length - 1] ?? '');
  const from = Math.max(0, column - windowBefore);
  const to = Math.min(whole.length, column + windowAfter);
  const [left, right] = [from > 0 ? '…' : '', to < whole.length ? '…' : ''];
  const label = `LINE ${line + before.length - 1}: ${left}`;
  return [
    `${label}${whole.slice(from, to).join('')}${right}`,
    `${' '.repeat(Array.from(label).length + column - from)}^`,
  ];
}

/** @returns `undefined` if the error is not about this statement */
function describeSqlError(
  error: unknown,
  statement: SqlStatement,
  isWriting: boolean,
): MusterdError | undefined {
  if (!(error instanceof pg.DatabaseError) || error.severity !== 'ERROR') return undefined;
  const { code, message, detail, hint, position } = error;
  if (code === '25006' && !isWriting)
    return new MusterdError('mirror', `Refused: ${message}`, {
      hint: 'Add --write to allow it.',
      cause: error,
    });
  const place = position === undefined ? [] : showPlace(statement, Number(position));
  const more = detail === undefined ? [] : [`DETAIL:  ${detail}`];
  const missing = /\b(mirror|report|sync)\b/.test(message) && (code === '42P01' || code === '3F000');
  const hints = [
    hint,
    missing
      ? '"\\d" in "musterd sql" lists tables and views. In a new database, "musterd migrate" creates them.'
      : undefined,
    code === '42501' && statement.keyword === 'delete' && message.includes('user_lookups')
      ? 'To remove addresses, run "select mirror.forget_lookups(<team>, array[<address>, …])", with --write.'
      : undefined,
    code === '42501' && message === 'permission denied for table users'
      ? 'musterd_editor may update first_name, last_name, name_split, email and phone; musterd_role_editor may update role_id. The service alone creates and removes users.'
      : undefined,
  ];
  const hintWords = hints.filter((hint) => hint !== undefined).join(' ');
  return new MusterdError('mirror', [`ERROR:  ${message}`, ...place, ...more].join('\n'), {
    hint: hintWords === '' ? undefined : hintWords,
    cause: error,
  });
}
