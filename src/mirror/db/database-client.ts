import pg from 'pg';

export const asksForPassword = 'it asks for the password itself, and nothing proves that it is Postgres';

/**
 * Without TLS a password is given by SCRAM alone, to a server that proves to know it: anybody can listen on a port.
 */
export function createPostgresClient(options: pg.ClientConfig): pg.Client {
  const client = new pg.Client(options);
  const { connection } = client;
  // What pg calls to send one as it is, or its MD5.
  if (!options.ssl)
    Object.assign(connection, { password: () => connection.emit('error', new Error(asksForPassword)) });
  return client;
}

/** What a pool calls with `new`. */
export const clientOfPool = createPostgresClient as unknown as typeof pg.Client;
