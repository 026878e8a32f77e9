/** Receives notifications of edits when they are committed: LISTEN on a separate connection. */
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import type pg from 'pg';
import { createPostgresClient } from '../db/database-client.ts';
import { cut } from '../db/database-pool.ts';
import { connectionOptions, readConnectionUrl } from '../db/database-url.ts';

/** The channel of the trigger on `mirror.users`; the payload is the team's key (`sync.teams.edit_key`). */
const channel = 'musterd_edits';

export interface Listener {
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly url: string;
  /** The key of a team whose users were edited. */
  readonly onEdit: (editKey: string) => void;
  /**
   * Called after each connect, because notifications sent while there was no connection are lost. Behind a
   * PgBouncer in transaction mode it is called, too, but no notification ever arrives.
   */
  readonly onListening: () => void;
  /** Called when the connection fails or is lost; another attempt follows. */
  readonly onLost: (error: Error) => void;
  /** Ms before the first attempt after a loss; doubled with each attempt, up to a minute. */
  readonly retryMs?: number;
}

const longestRetryMs = 60_000;
const partingMs = 2_000;
/** How often a silent connection is checked, in ms. */
const askEveryMs = 30_000;

/** Closes the connection without waiting for an answer. */
async function part(client: pg.Client): Promise<void> {
  const patience = new AbortController();
  await Promise.race([
    client.end().catch(() => {}),
    setTimeoutPromise(partingMs, undefined, { signal: patience.signal }).catch(() => {}),
  ]);
  patience.abort();
  cut(client);
}

export function createListener(options: ListenOptions): Listener {
  const { onEdit, onListening, onLost, retryMs = 1_000 } = options;
  const connection = readConnectionUrl(options.url);
  let closed = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let waitMs = retryMs;

  const lose = (lost: pg.Client, error: Error) => {
    if (client !== lost || closed) return;
    client = undefined;
    clearTimeout(timer);
    void part(lost);
    tryAgain(error);
  };
  const tryAgain = (error: Error) => {
    onLost(error);
    timer = setTimeout(open, waitMs).unref();
    waitMs = Math.min(waitMs * 2, longestRetryMs);
  };
  /** Checks the connection by a query, because an unplugged cable causes no error. */
  const ask = (connection: pg.Client) => {
    timer = setTimeout(() => {
      connection.query({ text: 'select 1', query_timeout: askEveryMs } as pg.QueryConfig).then(
        () => {
          if (client === connection) ask(connection);
        },
        (error: unknown) => lose(connection, error instanceof Error ? error : new Error(String(error))),
      );
    }, askEveryMs).unref();
  };
  const open = () => {
    let to: ReturnType<typeof connectionOptions>;
    try {
      to = connectionOptions(connection);
    } catch (error) {
      tryAgain(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    const mine = createPostgresClient({
      ...to,
      application_name: 'musterd listen',
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    client = mine;
    mine.on('error', (error) => lose(mine, error));
    mine.on('end', () => lose(mine, new Error('the connection that listens for edits ended')));
    mine.on('notification', ({ payload }) => {
      if (payload !== undefined && payload !== '') onEdit(payload);
    });
    mine
      .connect()
      .then(() => mine.query(`listen ${channel}`))
      .then(
        () => {
          if (client !== mine) return;
          waitMs = retryMs;
          ask(mine);
          onListening();
        },
        (error: unknown) => lose(mine, error instanceof Error ? error : new Error(String(error))),
      );
  };
  open();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      if (client !== undefined) await part(client);
    },
  };
}
