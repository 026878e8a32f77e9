/**
 * Clients of the embedded server. Each process that uses the server holds a shared lock in it, on a connection that
 * ends with the process, even if that is killed. To stop the server, a process needs the lock exclusively, so that no
 * other process attaches to a server that is about to stop.
 */
import pg from 'pg';
import { OWNER } from './cluster.ts';

/** The key of the lock in the database `postgres`, to which only musterd can connect. */
const LOCK = 1_836_413_796;

/** Logs in with SCRAM only (mirror/db/database-client.ts): after a crash, another program could listen on the port. */
export function createOwnClient(options: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ...options, ssl: false });
  const { connection } = client;
  Object.assign(connection, { password: () => connection.emit('error', new Error('not our Postgres')) });
  // The error is ignored here. If the server has died, the work that needs the server reports that.
  client.on('error', () => undefined);
  return client;
}

/** Connects and takes the shared lock. Rejects if the server is about to stop. */
export async function enter(password: string, port: number): Promise<pg.Client> {
  const login = { host: '127.0.0.1', port, user: OWNER, password, database: 'postgres' };
  const limits = { application_name: 'musterd presence', connectionTimeoutMillis: 5_000 };
  const client = createOwnClient({ ...login, ...limits });
  try {
    await client.connect();
    if (await ask(client, 'select pg_try_advisory_lock_shared($1) as answer')) return client;
    throw new Error('it is about to stop');
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** Releases the shared lock. True if this client now has the exclusive lock instead, until its connection ends. */
export async function isLast(client: pg.Client): Promise<boolean> {
  return await ask(client, 'select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as answer');
}

async function ask(client: pg.Client, statement: string): Promise<boolean> {
  return (await client.query<{ answer: boolean }>(statement, [LOCK])).rows[0]?.answer === true;
}
