/**
 * The embedded server's clients. A process that uses the server holds a lock in it, on a connection that ends with the process,
 * however that ends. All share the lock; to stop the server a process needs it alone, so that nobody attaches to a
 * server that is about to stop.
 */
import pg from 'pg';
import { OWNER } from './cluster.ts';

/** The key of the lock in the database `postgres`, to which nobody else connects. */
const LOCK = 1_836_413_796;

/** It logs in by SCRAM alone (mirror/db/database-client.ts), because after a crash anybody could listen on its port. */
export function createOwnClient(options: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ...options, ssl: false });
  const { connection } = client;
  Object.assign(connection, { password: () => connection.emit('error', new Error('it is not ours')) });
  // If the server dies, the work that needs it reports that.
  client.on('error', () => undefined);
  return client;
}

/** Takes the lock. Rejects if the server is about to stop. */
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

/** Gives the lock up. True if this client now holds it alone, until it ends. */
export async function isLast(client: pg.Client): Promise<boolean> {
  return await ask(client, 'select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as answer');
}

async function ask(client: pg.Client, statement: string): Promise<boolean> {
  return (await client.query<{ answer: boolean }>(statement, [LOCK])).rows[0]?.answer === true;
}
