/** A client of the embedded server. */
import pg from 'pg';

/** It logs in by SCRAM alone (mirror/db/database-client.ts), because after a crash anybody could listen on its port. */
export function createOwnClient(options: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ...options, ssl: false });
  const { connection } = client;
  Object.assign(connection, { password: () => connection.emit('error', new Error('it is not ours')) });
  // If the server dies, the work that needs it reports that.
  client.on('error', () => undefined);
  return client;
}
