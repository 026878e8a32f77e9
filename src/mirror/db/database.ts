import { setTimeout as delay } from 'node:timers/promises';
import {
  CompiledQuery,
  type Dialect,
  type IsolationLevel,
  isAbortedTransactionError,
  Kysely,
  type Transaction as KyselyTransaction,
  type LogEvent,
  PostgresDialect,
  type PostgresPool,
  type Selectable,
  sql,
} from 'kysely';
import { LockedError, MusterdError } from '../../errors.ts';
import type { Address } from '../../model/place.ts';
import { addressOf } from './address.ts';
import { sqlState } from './database-errors.ts';
import { createPool, safePath, transactionTerms, withOwnTransactions } from './database-pool.ts';
import { readConnectionUrl } from './database-url.ts';
import type { Schema } from './schema.ts';

/** Anything that runs statements: the pool, for single reads, or a transaction. */
export type Queryable = Kysely<Schema>;
export type Transaction = KyselyTransaction<Schema>;

/** The columns of a table or view, as read. */
export type Row<Table extends keyof Schema, Column extends keyof Selectable<Schema[Table]>> = Readonly<
  Pick<Selectable<Schema[Table]>, Column>
>;

/** The current time by the database's clock. `now()` would be the start of the transaction. */
export const databaseTime = sql<Date>`clock_timestamp()`;

export interface DatabaseOptions {
  /** postgres://…; see `readConnectionUrl` for its `sslmode`. */
  readonly url: string;
  /** The address of the server, if the URL does not contain it. */
  readonly address?: Address | undefined;
  /** The name of the connections in pg_stat_activity. It begins with `musterd`. */
  readonly applicationName?: string;
  readonly maxConnections?: number;
  /** Time limit for a new connection, in ms. */
  readonly connectTimeoutMs?: number;
  /** Time limit, in ms, for waiting until a connection becomes free if all are busy. */
  readonly freeTimeoutMs?: number;
  /** Time limit for one statement of a transaction on the server, in ms. */
  readonly statementTimeoutMs?: number;
  /** Time limit, in ms, for waiting for a lock of another session. */
  readonly lockTimeoutMs?: number;
  /** Time limit for a pause between two statements of a transaction, in ms. */
  readonly idleTimeoutMs?: number;
  /**
   * Time limit in ms for the answer to any statement, because a server may hang. If a transaction has a
   * longer statement limit, its answers may take half a minute longer than the statement limit.
   */
  readonly queryTimeoutMs?: number;
  /** Called when a connection breaks, whether it is idle or in use. */
  readonly onConnectionError?: (error: Error) => void;
  /** Aborted when the process is asked to stop. A single read that times out afterwards is not repeated. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the duration of each statement, successful or not. Must not throw. */
  readonly onQuery?: ((ms: number) => void) | undefined;
}

export interface TransactionOptions {
  /** If absent, read committed, whatever the default of the server is. */
  readonly isolationLevel?: IsolationLevel;
  /** In ms; here and in `lockTimeoutMs`, 0 means no limit. */
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** True if Postgres must refuse writes. */
  readonly isReadOnly?: boolean;
}

export interface Database {
  /** The address of the database, as the settings name it. */
  readonly address: Address;
  /** Runs single reads, each in its own transaction. Use `transaction` for writes. */
  readonly kysely: Queryable;
  /** Runs SQL that a person wrote (`runSqlText`): it is sent unchanged, and has the search_path of the session. */
  readonly asTyped: Queryable;
  /**
   * Runs `work` in one transaction and resolves once Postgres has confirmed the commit. `work` is
   * repeated from the start after a deadlock or serialization failure (at most 5 times) and after a lock or
   * statement timeout (at most twice), so it must do nothing but SQL. Rejects with the error of `work`, with an
   * error of Postgres, or with a `MusterdError('mirror')`. If the connection breaks during the commit,
   * it is unknown whether the commit happened, and the error reports this: read again before writing again.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Waits for running transactions, then closes all connections. */
  close(): Promise<void>;
}

/** By SQLSTATE: how often a transaction is repeated after this error. */
const RETRIES: Readonly<Record<string, number>> = { '40001': 5, '40P01': 5, '55P03': 2, '57014': 2 };
/** SQLSTATEs of errors that come only after a long wait: a lock timeout, a statement timeout. */
const TIMEOUTS: ReadonlySet<string | undefined> = new Set(['55P03', '57014']);

/** Creates the pool without connecting. Only the first statement, or `checkServer`, shows if the server answers. */
export function createDatabase(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 60_000;
  const lockTimeoutMs = options.lockTimeoutMs ?? 10_000;
  const queryTimeoutMs = options.queryTimeoutMs ?? 90_000;
  const connection = readConnectionUrl(options.url);
  const pool = createPool(connection, {
    applicationName: options.applicationName ?? 'musterd',
    maxConnections: options.maxConnections ?? 8,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    freeTimeoutMs: options.freeTimeoutMs ?? 120_000,
    queryTimeoutMs,
    onConnectionError: options.onConnectionError,
  });
  const { onQuery } = options;
  const log = onQuery === undefined ? {} : { log: (event: LogEvent) => onQuery(event.queryDurationMillis) };
  const open = (own: PostgresPool) =>
    new Kysely<Schema>({ dialect: createDialect(new PostgresDialect({ pool: own })), ...log });
  const limitsOf = (own: TransactionOptions) => ({
    statement_timeout: own.statementTimeoutMs ?? statementTimeoutMs,
    lock_timeout: own.lockTimeoutMs ?? lockTimeoutMs,
    idle_in_transaction_session_timeout: options.idleTimeoutMs ?? 30_000,
  });
  const beginSingle = beginning({}, limitsOf({}));
  const retrySingle = <T>(once: () => Promise<T>) => retry(once, options.signal);
  const [kysely, asTyped] = [open(withOwnTransactions(pool, beginSingle, retrySingle)), open(pool)];
  return {
    address: options.address ?? addressOf(connection.parts),
    kysely,
    asTyped,
    transaction: async (work, own = {}) => {
      const terms = {
        begin: beginning(own, limitsOf(own)),
        patienceMs: patienceFor(own.statementTimeoutMs, queryTimeoutMs),
      };
      return await transactionTerms.run(terms, () => retry(() => runOnce(asTyped, work)));
    },
    close: async () => {
      await Promise.all([kysely.destroy(), asTyped.destroy()]);
      await pool.end();
    },
  };
}

/** The time limit for answers in a transaction. It is longer if the transaction has a longer statement limit. */
function patienceFor(statementTimeoutMs: number | undefined, queryTimeoutMs: number): number {
  if (statementTimeoutMs === undefined) return queryTimeoutMs;
  return statementTimeoutMs === 0 ? 0 : Math.max(queryTimeoutMs, statementTimeoutMs + 30_000);
}

/** Begins a transaction and makes its settings, all in one text, so that the settings cost no extra round trip. */
function beginning(
  { isolationLevel = 'read committed', isReadOnly }: TransactionOptions,
  limits: Readonly<Record<string, number>>,
): string {
  const settings = Object.entries(limits).map(([name, ms]) => `set local ${name} = ${Math.round(ms)}`);
  // The level is always set: with a stricter default of the server, statements would fail instead of waiting for a lock.
  const begin = `begin isolation level ${isolationLevel}${isReadOnly === true ? ' read only' : ''}`;
  // No JIT: Postgres overestimates statements for a large team. They take ms, and compiling them would take seconds each.
  return [begin, `set local search_path = ${safePath}`, 'set local jit = off', ...settings].join('; ');
}

/** Kysely's dialect for Postgres, in which transactions begin with our own statements (`beginning`). */
function createDialect(dialect: PostgresDialect): Dialect {
  return {
    createDriver: () => {
      const driver = dialect.createDriver();
      const begin = driver.beginTransaction.bind(driver);
      driver.beginTransaction = async (connection, settings) => {
        const terms = transactionTerms.getStore();
        if (terms === undefined) return await begin(connection, settings);
        try {
          await connection.executeQuery(CompiledQuery.raw(terms.begin));
        } catch (error) {
          // The transaction may have begun. On a broken connection the rollback fails, too, but the first error says more.
          await driver.rollbackTransaction(connection).catch(() => {});
          throw error;
        }
      };
      return driver;
    },
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createAdapter: () => dialect.createAdapter(),
  };
}

/** Repeats work after errors of `RETRIES`. @throws the reason of the signal, instead of waiting for a further timeout */
async function retry<T>(once: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once();
    } catch (error) {
      const state = sqlState(error);
      const retries = state === undefined ? undefined : RETRIES[state];
      if (retries === undefined || error instanceof MusterdError) throw error;
      if (TIMEOUTS.has(state)) signal?.throwIfAborted();
      if (tries > retries) {
        const words = error instanceof Error ? error.message : String(error);
        const Failure = state === '55P03' ? LockedError : MusterdError;
        throw new Failure('mirror', `Postgres aborted a transaction ${tries} times: ${words}`, {
          hint:
            state === '57014'
              ? 'A statement took longer than allowed: the server is busy, or its statistics are old ("analyze" renews them).'
              : 'Another session holds locks on the same tables for a long time; see pg_stat_activity and pg_locks.',
          cause: error,
        });
      }
    }
    // A random delay, so that two transactions do not collide again. It gets longer after each collision.
    await delay(Math.random() * 20 * 2 ** tries);
  }
}

async function runOnce<T>(kysely: Queryable, work: (tx: Transaction) => Promise<T>): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  let worked = false;
  try {
    return await kysely.transaction().execute(async (tx) => {
      try {
        const result = await work(tx);
        worked = true;
        return result;
      } catch (error) {
        failure = { error };
        throw error;
      }
    });
  } catch (error) {
    // Throws the first error, because on a broken connection the rollback fails, too, with a less useful message.
    if (failure !== undefined) throw failure.error;
    throw worked ? describeCommitError(error) : error;
  }
}

function describeCommitError(error: unknown): unknown {
  if (isAbortedTransactionError(error)) {
    return new MusterdError(
      'mirror',
      'A statement failed inside a transaction and its error was swallowed.',
      {
        hint: 'Postgres rolled back the whole transaction. This is a bug in musterd; please report it.',
        cause: error,
      },
    );
  }
  const state = sqlState(error);
  const unknown = error instanceof MusterdError || state === undefined || state === '40003';
  if (!unknown) return error;
  return new MusterdError('mirror', 'The connection to Postgres broke during a commit.', {
    hint: 'It is unknown if the commit happened; the next run reads again and continues from there.',
    cause: error,
  });
}

/** Rejects if the server does not answer. */
export async function ping({ kysely }: Database): Promise<void> {
  await sql`select 1`.execute(kysely);
}
