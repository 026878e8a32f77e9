import pg from 'pg';

export const asksForPassword = 'it asks for the password itself, and nothing proves that it is Postgres';

/** Without TLS, a client uses SCRAM only, with a server that proves that it knows the password, not just any listener. */
export function createPostgresClient(options: pg.ClientConfig): pg.Client {
  const client = new pg.Client(options);
  const { connection } = client;
  // pg calls this to send the password as it is, or its MD5.
  if (!options.ssl)
    Object.assign(connection, { password: () => connection.emit('error', new Error(asksForPassword)) });
  return client;
}

/** A pool calls this with `new`. */
export const clientOfPool = createPostgresClient as unknown as typeof pg.Client;
