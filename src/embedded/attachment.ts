import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, OWNER } from './cluster.ts';
import { createOwnClient } from './own-client.ts';

/** A process holds this while it uses a server, so that no other process stops the server. */
export interface Attachment {
  /**
   * Gives it up and waits, at most for the given time, until no other musterd uses the server. If it returns true,
   * none can attach any more until `end`.
   */
  waitAlone(patienceMs: number): Promise<boolean>;
  end(): Promise<void>;
}

/** The application names of guests, which may stay open for hours. */
const GUESTS = ['musterd page'];

/** The first key of the lock, a number that nothing else uses in the database `postgres`. */
const LOCK = 1_836_413_796;
const RETURN_MS = 500;

/**
 * Takes an advisory lock on a connection that ends with the process, however that ends, in a database to which nobody
 * else connects. All users share the lock. To stop the server a process needs it exclusively, so that nobody can attach
 * to a server that is about to stop; attaching then rejects. After a crash the server restarts by itself, and the
 * connection is opened again as long as `isRunning`.
 */
export async function enter(cluster: Cluster, port: number, isRunning: () => boolean): Promise<Attachment> {
  let ended = false;
  let client = await connect();

  async function connect(): Promise<pg.Client> {
    const fresh = await openClient(cluster, port);
    fresh.once('end', () => {
      if (!ended) void comeBack();
    });
    return fresh;
  }

  async function comeBack(): Promise<void> {
    while (!ended && isRunning()) {
      await delay(RETURN_MS, undefined, { ref: false });
      const fresh = ended ? undefined : await connect().catch(() => undefined);
      if (fresh === undefined) continue;
      client = fresh;
      if (ended) await fresh.end();
      return;
    }
  }

  return {
    waitAlone: async (patienceMs) => await waitAlone(client, patienceMs),
    end: async () => {
      ended = true;
      await client.end().catch(() => undefined);
    },
  };
}

async function openClient(cluster: Cluster, port: number): Promise<pg.Client> {
  const client = createOwnClient({
    host: '127.0.0.1',
    port,
    user: OWNER,
    password: cluster.password,
    database: 'postgres',
    application_name: 'musterd presence',
    connectionTimeoutMillis: 5_000,
  });
  try {
    await client.connect();
    const { rows } = await client.query<{ entered: boolean; exists: boolean; open: boolean }>(
      `select pg_try_advisory_lock_shared($1) as entered,
              exists (select from pg_database where datname = $2) as exists,
              has_database_privilege('public', current_database(), 'connect') as open`,
      [LOCK, OWNER],
    );
    if (rows[0]?.entered !== true) throw new Error('it is about to stop');
    if (!rows[0].exists) await createOwnDatabase(client);
    // Anybody who can connect may take an advisory lock. This fails if another process is faster.
    if (rows[0].open)
      await client.query('revoke connect on database postgres from public').catch(() => undefined);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function createOwnDatabase(client: pg.Client): Promise<void> {
  await client.query(`create database ${OWNER}`).catch((error: unknown) => {
    // Another process was faster.
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code !== '42P04' && code !== '23505') throw error;
  });
}

async function waitAlone(client: pg.Client, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  let alone = false;
  try {
    await client.query('select pg_advisory_unlock_shared($1)', [LOCK]);
    for (;;) {
      const { rows }: pg.QueryResult<{ alone: boolean; others: boolean }> = await client.query(
        `select $2 or pg_try_advisory_lock($1) as alone,
                exists (select from pg_stat_activity
                         where application_name like 'musterd%' and application_name <> all ($3)
                           and pid <> pg_backend_pid()) as others`,
        [LOCK, alone, GUESTS],
      );
      alone = rows[0]?.alone === true;
      if (alone && rows[0]?.others === false) return true;
      if (performance.now() > deadline) return false;
      await delay(50);
    }
  } catch {
    // The server is gone, or restarted after a crash and does not know us yet: this proves nothing.
    return false;
  }
}
