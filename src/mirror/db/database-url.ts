import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { clientOfPool } from './database-client.ts';
import { MusterdError } from '../../errors.ts';

/** The TLS mode: none, encryption without verification of the server, or both. */
export type Tls = 'disable' | 'no-verify' | 'verify-full';

/** A parsed connection URL, with a form that may be shown to people. */
export interface ConnectionUrl {
  /** For pg, without TLS options; contains the password. */
  readonly url: string;
  readonly tls: Tls;
  /** Whether TLS begins at once, without negotiation (`sslnegotiation=direct`). */
  readonly direct: boolean;
  /** The named files: authorities to trust instead of Node's, and our client certificate. */
  readonly files: Readonly<Partial<Record<'ca' | 'cert' | 'key', string>>>;
  /** For example `db.example.net:5432/muster`, without user and password. */
  readonly shown: string;
  /** The same address in its parts. */
  readonly parts: {
    readonly host: string;
    readonly port: string;
    readonly name: string;
    /** Whether the server is on this machine. */
    readonly isLocal: boolean;
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The files that a URL names, as Node calls them. */
function filesIn(parameterOf: (name: string) => string | undefined): ConnectionUrl['files'] {
  const root = parameterOf('sslrootcert');
  // libpq's word for "the system's certificates".
  const named = {
    ca: root === 'system' ? undefined : root,
    cert: parameterOf('sslcert'),
    key: parameterOf('sslkey'),
  };
  return Object.fromEntries(Object.entries(named).filter(([, path]) => path !== undefined));
}

/**
 * Only this function decides about TLS. pg itself would let a second `sslmode` win, switch encryption off by
 * PGSSLMODE, and trust any server if NODE_TLS_REJECT_UNAUTHORIZED is 0. The first row that is set decides:
 *
 * | setting                                               | TLS                                     |
 * |-------------------------------------------------------|-----------------------------------------|
 * | `sslmode` is `disable` or `no-verify`                 | that                                    |
 * | any other `sslmode`, `ssl=true`, a certificate's file | verify-full                             |
 * | PGSSLMODE is `disable` or `no-verify`                 | that                                    |
 * | any other PGSSLMODE                                   | verify-full                             |
 * | nothing                                               | verify-full; to this machine itself none |
 *
 * Empty values count as not set.
 *
 * @throws MusterdError `configuration`, also for repeated or contradicting options
 */
export function readConnectionUrl(text: string, environment: Environment = process.env): ConnectionUrl {
  const url = parse(text);
  const { searchParams } = url;
  refuseRepeated(searchParams);
  const parameterOf = (name: string) => searchParams.get(name) || undefined;
  const host = parameterOf('host') ?? hostIn(url) ?? (environment['PGHOST'] || 'localhost');
  const port = parameterOf('port') ?? (url.port || environment['PGPORT'] || '5432');
  const files = filesIn(parameterOf);
  const tls =
    tlsInUrl(parameterOf) ??
    readMode(environment['PGSSLMODE'] || undefined, 'PGSSLMODE') ??
    (isLocal(host) ? 'disable' : 'verify-full');
  const direct = parameterOf('sslnegotiation') === 'direct';
  for (const name of tlsParameters) searchParams.delete(name);
  const name = databaseIn(url) || environment['PGDATABASE'] || decoded(url.username) || '';
  const parts = { host, port, name, isLocal: isLocal(host) };
  return { url: url.href, tls, direct, files, shown: `${host}:${port}${url.pathname}`, parts };
}

/** The connection options for pg. Reads the named files. */
export function connectionOptions({ url, tls, direct, files }: ConnectionUrl) {
  // The client suits a pool that somebody else makes.
  if (tls === 'disable') return { connectionString: url, ssl: false, Client: clientOfPool };
  const contents = Object.entries(files).map(([name, path]) => [name, readFileSync(path, 'utf8')]);
  // Always set, because NODE_TLS_REJECT_UNAUTHORIZED would decide otherwise.
  const ssl = { ...Object.fromEntries(contents), rejectUnauthorized: tls === 'verify-full' };
  return { connectionString: url, ssl, ...(direct ? { sslnegotiation: 'direct' as const } : {}) };
}

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const certificates = ['sslrootcert', 'sslcert', 'sslkey'];
/** The options from which pg would make its own `ssl`. */
const tlsParameters = ['sslmode', 'ssl', 'uselibpqcompat', 'sslnegotiation', ...certificates];
/** Options whose names may appear in messages; an unknown name may be a part of a password. */
const parameters = [...tlsParameters, 'host', 'port', 'user', 'password'];

function refuse(message: string, hint: string): never {
  throw new MusterdError('configuration', message, { hint });
}

/** pg would take the last one. */
function refuseRepeated(given: URLSearchParams) {
  const names = [...given.keys()];
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated === undefined) return;
  const parameterName = parameters.includes(repeated) ? repeated : 'a parameter';
  refuse(`DATABASE_URL has ${parameterName} more than once.`, 'Leave all but one out.');
}

/** The TLS of a mode; `name` is the option it was read from. */
function readMode(mode: string | undefined, name: string): Tls | undefined {
  if (mode === undefined) return undefined;
  if (!modes.includes(mode)) {
    const what = name === 'PGSSLMODE' ? `PGSSLMODE is "${mode}", which is no sslmode.` : '';
    refuse(what || `DATABASE_URL has an unknown sslmode "${mode}".`, `Use one of ${modes.join(', ')}.`);
  }
  return mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full';
}

function tlsInUrl(parameterOf: (name: string) => string | undefined): Tls | undefined {
  const mode = readMode(parameterOf('sslmode'), 'sslmode');
  const ssl = parameterOf('ssl');
  const plainly = 'Use sslmode alone: disable, no-verify or verify-full.';
  if (parameterOf('uselibpqcompat') !== undefined)
    refuse('DATABASE_URL has uselibpqcompat, which has no effect here.', plainly);
  if (ssl !== undefined && ssl !== 'true' && ssl !== '1')
    refuse('DATABASE_URL has ssl with another value than true.', plainly);
  const wantsTls = ssl !== undefined || parameterOf('sslnegotiation') === 'direct';
  if (wantsTls && (mode === 'disable' || mode === 'no-verify'))
    refuse(`DATABASE_URL asks for TLS and has sslmode=${mode}.`, plainly);
  const named = certificates.some((name) => parameterOf(name) !== undefined);
  return mode ?? (wantsTls || named ? 'verify-full' : undefined);
}

const notAnUrl = 'DATABASE_URL is not a Postgres connection URL.';
const form =
  'Its form is postgres://user:password@host:5432/database; write special characters of the password as %XX.';

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')) {
    // The text itself is not repeated: it may contain a password.
    refuse(notAnUrl, form);
  }
  // An unescaped `/`, `?` or `#` in a password ends the host too early, and the rest would be shown.
  const names = [...url.searchParams.keys()].join('');
  if (url.pathname.includes('@') || url.hash !== '' || names.includes('@')) refuse(notAnUrl, form);
  return url;
}

function hostIn({ hostname }: URL): string | undefined {
  try {
    return decodeURIComponent(hostname) || undefined;
  } catch {
    return refuse('DATABASE_URL has a host that cannot be read.', form);
  }
}

/** Odd escapes are left as they are. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const databaseIn = ({ pathname }: URL): string => decoded(pathname.slice(1));

/** Whether the server is on this machine: a Unix socket, or a loopback address. */
function isLocal(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (bare.startsWith('/') || bare === 'localhost' || bare.endsWith('.localhost')) return true;
  return (isIP(bare) === 4 && bare.startsWith('127.')) || bare === '::1';
}

/** The parts of the address that people need for their own tools, without the password. */
export function connectionHelp(text: string): { readonly url: string; readonly psql: string } {
  const url = parse(text);
  url.password = '';
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name);
  const forPsql = new URL(url);
  // psql calls this mode `require`.
  if (url.searchParams.get('sslmode') === 'no-verify') forPsql.searchParams.set('sslmode', 'require');
  return { url: url.href, psql: `psql '${forPsql.href.replaceAll("'", '%27')}'` };
}
