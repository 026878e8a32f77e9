import { callbackify } from 'node:util';
import pg from 'pg';
import { asksForPassword, firstWords } from './database-errors.ts';

interface Session {
  readonly isReadOnly: boolean;
  readonly isStandby: boolean;
}

/** The values of libpq's `target_session_attrs`. */
export const sessionAttributes = {
  any: () => true,
  'read-write': ({ isReadOnly }: Session) => !isReadOnly,
  'read-only': ({ isReadOnly }: Session) => isReadOnly,
  primary: ({ isStandby }: Session) => !isStandby,
  standby: ({ isStandby }: Session) => isStandby,
};

export interface HostAddress {
  readonly host: string;
  readonly port: string;
}

export interface HostChoice {
  /** The hosts in the order in which they are tried. The host that last had the wanted attribute comes first. */
  readonly hosts: HostAddress[];
  readonly wanted: keyof typeof sessionAttributes;
}

type ChoosingOptions = pg.ClientConfig & { readonly choice?: HostChoice | undefined };

async function readSession(host: HostAddress, options: ChoosingOptions): Promise<Session | undefined> {
  const client = Object.assign(createPostgresClient({ ...options, choice: undefined }), host);
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client
    .query<Session>(
      `select pg_catalog.pg_is_in_recovery() as "isStandby", pg_catalog.pg_is_in_recovery()
         or pg_catalog.current_setting('transaction_read_only')::boolean as "isReadOnly"`,
    )
    .finally(() => void client.end().catch(() => {}));
  return rows[0];
}

/** Finds the first host that answers and has the wanted attribute. @throws Error with the answer of each host */
async function firstHost({ hosts, wanted }: HostChoice, options: ChoosingOptions): Promise<HostAddress> {
  const patienceMs = (options.connectionTimeoutMillis ?? 0) / (hosts.length + 1);
  const probing = { ...options, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs };
  const answers: string[] = [];
  let cause: unknown;
  for (const found of hosts.slice()) {
    try {
      const session = await readSession(found, probing);
      if (session !== undefined && sessionAttributes[wanted](session)) {
        // This host is tried first from now on, so that the next connections do not wait for a host that is down.
        if (wanted !== 'any') hosts.unshift(...hosts.splice(hosts.indexOf(found), 1));
        return found;
      }
      answers.push(`${found.host}:${found.port} is not ${wanted}`);
    } catch (error) {
      cause = error;
      answers.push(`${found.host}:${found.port}: ${firstWords(error)}`);
    }
  }
  throw new Error(answers.join('; '), { cause });
}

/**
 * Creates a client. Without TLS it logs in by SCRAM only, in which the server has to prove that it knows the password.
 * If there are several hosts, it connects to the chosen one.
 */
export function createPostgresClient(options: ChoosingOptions): pg.Client {
  const client = new pg.Client(options);
  const { connection } = client;
  // pg calls this function to send the password in plain text or as MD5.
  if (!options.ssl)
    Object.assign(connection, { password: () => connection.emit('error', new Error(asksForPassword)) });
  const { choice } = options;
  if (choice === undefined) return client;
  const connect = client.connect.bind(client);
  const connectToFirst = async () => {
    Object.assign(client, await firstHost(choice, options));
    if (connection.stream.destroyed) throw new Error('the connection was ended');
    await connect();
    return client;
  };
  client.connect = ((callback?: (error: Error | null) => void) =>
    callback === undefined
      ? connectToFirst()
      : callbackify(connectToFirst)(callback)) as pg.Client['connect'];
  return client;
}

/** `createPostgresClient` typed as a class, because a pool calls it with `new`. */
export const clientOfPool = createPostgresClient as unknown as typeof pg.Client;
