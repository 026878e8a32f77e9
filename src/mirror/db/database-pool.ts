import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { MusterdError } from '../../errors.ts';
import { fromJson } from '../../model/json.ts';
import { clientOfPool } from './database-client.ts';
import {
  describeConnectError,
  describeStatementError,
  noneFree,
  spoilsConnection,
} from './database-errors.ts';
import { type ConnectionUrl, connectionOptions } from './database-url.ts';

/** A semaphore: admits a limited number of callers at a time, first come, first served. */
export interface Turns {
  /** Resolves with `true` once admitted, with `false` after `patienceMs` of waiting. */
  take(patienceMs: number): Promise<boolean>;
  /** Admits the next caller. Called by a caller who was admitted before and is done. */
  readonly give: () => void;
}

function createTurns(count: number): Turns {
  let free = count;
  const waiting = new Set<() => void>();
  return {
    take: (patienceMs) => {
      if (free > 0) {
        free -= 1;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const begin = () => {
          waiting.delete(begin);
          clearTimeout(timer);
          resolve(true);
        };
        const timer = setTimeout(() => {
          waiting.delete(begin);
          resolve(false);
        }, patienceMs).unref();
        waiting.add(begin);
      });
    },
    give: () => {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next();
    },
  };
}

export interface PoolOptions {
  readonly applicationName: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly freeTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly onConnectionError?: ((error: Error) => void) | undefined;
}

/** The statements that begin a transaction, and the time limit for the answer to each of its statements. */
export interface TransactionTerms {
  readonly begin: string;
  readonly patienceMs: number;
}

export const transactionTerms = new AsyncLocalStorage<TransactionTerms>();

/**
 * A pg pool for Kysely that survives broken connections:
 * a lost connection is an error of the current statement, never of the process; a statement
 * without an answer ends after a time limit, together with its connection.
 *
 * It makes no session settings: a PgBouncer in transaction mode refuses start-up options,
 * and a SET would affect another client's session.
 */
export function createPool(connection: ConnectionUrl, options: PoolOptions): PostgresPool {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    Client: clientOfPool,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs * connection.parts.hosts.length,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
    stream: () => openSocket(sockets),
  });
  const turns = createTurns(options.maxConnections);
  const report = (error: Error) => options.onConnectionError?.(error);
  // Idle connections report errors on the pool, busy connections on the client. Unheard errors would end the process.
  pool.on('error', report);
  pool.on('connect', (client) => client.on('error', report));
  return {
    options: pool.options,
    end: async () => {
      if (pool.ending) return;
      // Waits only for a limited time, because a server that hangs never answers the message that closes a connection.
      await within(partingMs, pool.end());
      for (const socket of sockets) socket.destroy();
    },
    connect: async () => {
      // The wait for a free connection has its own limit here: pg has one limit for waiting and connecting together.
      if (!(await turns.take(options.freeTimeoutMs))) throw noneFree(connection.shown, options);
      const tried: Socket[] = [];
      try {
        // The options are read for each connection, because a certificate file may have been renewed.
        Object.assign(pool.options, connectionOptions(connection));
        const client = await attempt.run(tried, async () => await pool.connect());
        return guard(client, connection.shown, options.queryTimeoutMs, turns.give);
      } catch (error) {
        turns.give();
        for (const socket of tried) socket.destroy();
        throw describeConnectError(error, connection.shown);
      }
    },
  };
}

/**
 * A safe search_path. Functions in a schema that other roles can write to (`public`, before Postgres 15) must not run with
 * the rights of musterd: `public.concat(text, text)` would win over Postgres's own `concat`.
 */
export const safePath = 'pg_catalog, pg_temp';

/**
 * The pool's connections for single statements. Each statement gets its own transaction, because a search_path and
 * time limits must not be set for longer than a transaction (see `createPool`).
 */
export function withOwnTransactions(
  pool: PostgresPool,
  begin: string,
  retry: <T>(once: () => Promise<T>) => Promise<T>,
): PostgresPool {
  return {
    ...pool,
    connect: async () => {
      const client = await pool.connect();
      const query = async (text: string, values: readonly unknown[]) => {
        try {
          await client.query(begin, []);
          const result = await client.query(text, values);
          await client.query('commit', []);
          return result;
        } catch (error) {
          // On a broken connection the rollback fails, too. Its error is ignored, because the first error says more.
          await client.query('rollback', []).catch(() => {});
          throw error;
        }
      };
      const tried = (text: string, values: readonly unknown[]) => retry(() => query(text, values));
      return { ...client, query: tried as PostgresPoolClient['query'] };
    },
  };
}

/**
 * The sockets of one attempt to connect, in order to close them. pg forgets the socket of a failed login (such as
 * without a password). The server then waits a minute for the login, and this process would wait, too.
 */
const attempt = new AsyncLocalStorage<Socket[]>();

function openSocket(all: Set<Socket>): Socket {
  const socket = new Socket();
  all.add(socket);
  socket.once('close', () => all.delete(socket));
  attempt.getStore()?.push(socket);
  return socket;
}

/** How long closing a connection may take, in ms. */
const partingMs = 3_000;

/** Waits for the promise, at most `ms`. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const patience = new AbortController();
  const over = delay(ms, undefined, { signal: patience.signal }).catch(() => {});
  await Promise.race([work, over]).finally(() => patience.abort());
}

function guard(
  client: pg.PoolClient,
  shown: string,
  patienceMs: number,
  onRelease: () => void,
): PostgresPoolClient {
  let broken: unknown;
  const send = async (text: string, values: readonly unknown[]) => {
    // A connection is not used after a timeout: the late answer may still come, and the next statement would wait for it.
    if (broken !== undefined) throw broken;
    const timeoutMs = transactionTerms.getStore()?.patienceMs ?? patienceMs;
    const [source] = values;
    try {
      if (source instanceof Readable) return await copyIn(client, text, source, timeoutMs);
      const query = { text, values: [...values], query_timeout: timeoutMs };
      return onlyResult(await client.query<Record<string, unknown>>(query));
    } catch (error) {
      const described = describeStatementError(error, shown);
      if (spoilsConnection(error)) {
        broken = described;
        cut(client);
      }
      throw described;
    }
  };
  return {
    query: ((text: unknown, values?: readonly unknown[]) => {
      if (typeof text !== 'string') throw new MusterdError('mirror', 'Cursors are not supported.');
      return send(text, values ?? []);
    }) as PostgresPoolClient['query'],
    release: (destroy) => {
      client.release(destroy === true || broken !== undefined);
      onRelease();
    },
  };
}

/** Runs a `copy … from stdin`. The statement's only value is the stream to copy. */
async function copyIn(
  client: pg.PoolClient,
  text: string,
  source: Readable,
  timeoutMs: number,
): Promise<PostgresQueryResult<unknown>> {
  const target = client.query(copyFrom(text));
  // pg has no timeout for streams. Closing the connection ends it with an error.
  const patience = timeoutMs > 0 ? setTimeout(() => cut(client), timeoutMs) : undefined;
  try {
    await pipeline(source, target);
  } finally {
    clearTimeout(patience);
  }
  return { command: 'INSERT', rowCount: target.rowCount, rows: [] };
}

/** Closes the socket at once. pg's own closing would send a message, and wait forever if the server does not answer. */
export function cut(client: pg.Client | pg.PoolClient): void {
  const connection: unknown = Reflect.get(client, 'connection');
  if (typeof connection !== 'object' || connection === null || !('stream' in connection)) return;
  if (connection.stream instanceof Socket) connection.stream.destroy();
}

/** The last result, which Kysely needs. A text with several statements, such as a migration, has several results. */
function onlyResult(answer: pg.QueryResult<Record<string, unknown>>): PostgresQueryResult<unknown> {
  const result = Array.isArray(answer) ? (answer.at(-1) as typeof answer) : answer;
  const command = result.command as PostgresQueryResult<unknown>['command'];
  return { command, rowCount: result.rowCount ?? 0, rows: result.rows };
}

const INT8 = pg.types.builtins.INT8;
const INT8_ARRAY = 1016;
const DATE = pg.types.builtins.DATE;
const JSON_TYPES: readonly number[] = [pg.types.builtins.JSON, pg.types.builtins.JSONB];

/**
 * The parsers of values. int8 becomes a bigint, because ids do not fit a number. date stays `YYYY-MM-DD`, because a Date
 * would be midnight in this machine's zone. timestamptz becomes a Date. Integers in json and jsonb stay exact.
 */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (format === 'binary') return pg.types.getTypeParser(oid, format);
  const parse = pg.types.getTypeParser(oid);
  if (oid === INT8) return (text: string) => BigInt(text);
  if (oid === INT8_ARRAY) return (text: string) => toBigInts(parse(text));
  if (oid === DATE) return (text: string) => text;
  if (JSON_TYPES.includes(oid)) return fromJson;
  return parse;
};

function toBigInts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBigInts);
  return typeof value === 'string' ? BigInt(value) : null;
}
