import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { clientOfPool, type HostAddress, type HostChoice, sessionAttributes } from './database-client.ts';
import { MusterdError } from '../../errors.ts';

/** The TLS mode: off, encryption alone, or encryption and verification of the server. */
export type Tls = 'disable' | 'no-verify' | 'verify-full';

/** A parsed connection URL, with a form that may be shown to people. */
export interface ConnectionUrl {
  /** The URL to pass to pg: without TLS options, but with the password. */
  readonly url: string;
  readonly tls: Tls;
  /** True if TLS begins at once, without negotiation (`sslnegotiation=direct`). */
  readonly direct: boolean;
  /** The files that the URL names: certificate authorities to trust instead of Node's, and our client certificate. */
  readonly files: Readonly<Partial<Record<'ca' | 'cert' | 'key', string>>>;
  /** How one of several hosts is chosen; absent for one host without `target_session_attrs`. */
  readonly choice: HostChoice | undefined;
  /** For example `db.example.net:5432/muster`, without user and password. */
  readonly shown: string;
  /** The parts of the address in `shown`. */
  readonly parts: {
    /** The hosts. All hosts are servers of the same database. */
    readonly hosts: readonly HostAddress[];
    readonly name: string;
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

type ParameterOf = (name: string) => string | undefined;

/** The files that a URL names, under the names of Node's TLS options. */
function filesIn(parameterOf: ParameterOf): ConnectionUrl['files'] {
  const root = parameterOf('sslrootcert');
  // In libpq, `system` means the certificates of the system.
  const named = {
    ca: root === 'system' ? undefined : root,
    cert: parameterOf('sslcert'),
    key: parameterOf('sslkey'),
  };
  return Object.fromEntries(Object.entries(named).filter(([, path]) => path !== undefined));
}

/**
 * Parses a connection URL. Only this function decides about TLS: pg itself would let a second `sslmode` win, switch
 * encryption off by PGSSLMODE, and trust any server if NODE_TLS_REJECT_UNAUTHORIZED is 0. The first row that fits counts:
 *
 * | setting                                               | TLS                                     |
 * |-------------------------------------------------------|-----------------------------------------|
 * | `sslmode` is `disable` or `no-verify`                 | that mode                               |
 * | any other `sslmode`, `ssl=true`, a certificate's file | verify-full                             |
 * | PGSSLMODE is `disable` or `no-verify`                 | that mode                               |
 * | any other PGSSLMODE                                   | verify-full                             |
 * | none of these                                         | verify-full; no TLS on this machine     |
 *
 * Empty values count as not set.
 *
 * @throws MusterdError `configuration`, also for repeated or contradicting options
 */
export function readConnectionUrl(text: string, environment: Environment = process.env): ConnectionUrl {
  const { url, hosts: inUrl } = parse(text);
  const { searchParams } = url;
  refuseRepeated(searchParams);
  const parameterOf: ParameterOf = (name) => searchParams.get(name) || undefined;
  const hosts = hostsIn(inUrl, parameterOf, environment);
  const database = parameterOf('dbname');
  if (database !== undefined) url.pathname = encodeURIComponent(database);
  const files = filesIn(parameterOf);
  const tls =
    tlsInUrl(parameterOf) ??
    readMode(environment['PGSSLMODE'] || undefined, 'PGSSLMODE') ??
    (hosts.every(({ host }) => isLocal(host)) ? 'disable' : 'verify-full');
  const direct = parameterOf('sslnegotiation') === 'direct';
  const wanted = readAttribute(parameterOf('target_session_attrs'));
  for (const name of [...tlsParameters, 'target_session_attrs']) searchParams.delete(name);
  const forPg = hosts.map(({ host, port }) => ({ host: bareHost(host), port }));
  for (const [name, value] of Object.entries(forPg[0] ?? {})) searchParams.set(name, value);
  const name = databaseIn(url) || environment['PGDATABASE'] || decoded(url.username) || '';
  const shown = hosts.map(({ host, port }) => `${host}:${port}`).join(',') + url.pathname;
  const choice = hosts.length === 1 && wanted === 'any' ? undefined : { hosts: forPg, wanted };
  return { url: url.href, tls, direct, files, choice, shown, parts: { hosts, name } };
}

/** The connection options for pg. Reads the named files. */
export function connectionOptions({ url, tls, direct, files, choice }: ConnectionUrl) {
  // `Client` is for a pool of another library, which has to use our client, too.
  const common = { connectionString: url, choice, Client: clientOfPool };
  if (tls === 'disable') return { ...common, ssl: false };
  const contents = Object.entries(files).map(([name, path]) => [name, readFileSync(path, 'utf8')]);
  // `rejectUnauthorized` is always set, because NODE_TLS_REJECT_UNAUTHORIZED would decide otherwise.
  const ssl = { ...Object.fromEntries(contents), rejectUnauthorized: tls === 'verify-full' };
  return { ...common, ssl, ...(direct ? { sslnegotiation: 'direct' as const } : {}) };
}

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const certificates = ['sslrootcert', 'sslcert', 'sslkey'];
/** The options that pg would turn into its own `ssl`. */
const tlsParameters = ['sslmode', 'ssl', 'uselibpqcompat', 'sslnegotiation', ...certificates];
/** Options whose names error messages may show. Any other name may be part of a password with an unescaped sign. */
const parameters = [...tlsParameters, 'target_session_attrs', 'host', 'port', 'dbname', 'user', 'password'];

function refuse(message: string, hint: string): never {
  throw new MusterdError('configuration', message, { hint });
}

/** Refuses options that are given twice: pg would take the last one. */
function refuseRepeated(given: URLSearchParams) {
  const names = [...given.keys()];
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated === undefined) return;
  const parameterName = parameters.includes(repeated) ? repeated : 'a parameter';
  refuse(`DATABASE_URL has ${parameterName} more than once.`, 'Give it once.');
}

/** The TLS mode for the value of an option. @param name the option, for the error message */
function readMode(mode: string | undefined, name: string): Tls | undefined {
  if (mode === undefined) return undefined;
  if (!modes.includes(mode)) {
    const what = name === 'PGSSLMODE' ? `PGSSLMODE is "${mode}", which is not an sslmode.` : '';
    refuse(what || `DATABASE_URL has an unknown sslmode "${mode}".`, `Use one of ${modes.join(', ')}.`);
  }
  return mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full';
}

function tlsInUrl(parameterOf: ParameterOf): Tls | undefined {
  const mode = readMode(parameterOf('sslmode'), 'sslmode');
  const ssl = parameterOf('ssl');
  const plainly = 'Use only sslmode: disable, no-verify or verify-full.';
  if (parameterOf('uselibpqcompat') !== undefined)
    refuse('DATABASE_URL has uselibpqcompat, which musterd does not support.', plainly);
  if (ssl !== undefined && ssl !== 'true' && ssl !== '1')
    refuse('DATABASE_URL has ssl with a value other than true.', plainly);
  const wantsTls = ssl !== undefined || parameterOf('sslnegotiation') === 'direct';
  if (wantsTls && (mode === 'disable' || mode === 'no-verify'))
    refuse(`DATABASE_URL asks for TLS but has sslmode=${mode}.`, plainly);
  const named = certificates.some((name) => parameterOf(name) !== undefined);
  return mode ?? (wantsTls || named ? 'verify-full' : undefined);
}

function readAttribute(word = 'any'): HostChoice['wanted'] {
  const words = Object.keys(sessionAttributes) as HostChoice['wanted'][];
  return (
    words.find((known) => known === word) ??
    refuse(`DATABASE_URL has an unknown target_session_attrs "${word}".`, `Use one of ${words.join(', ')}.`)
  );
}

const form =
  'Its form is postgres://user:password@host:5432/database; write special characters of the password as %XX.';

/** Replaces the list of hosts while the URL is parsed, because the URL parser accepts only one host. */
const someHost = 'musterd.invalid';

interface ParsedUrl {
  readonly url: URL;
  readonly hosts: string;
}

/** Splits the URL. Its error messages repeat no part of the URL that can belong to a password. */
function parse(text: string): ParsedUrl {
  const [, scheme, user = '', hosts = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) refuse('DATABASE_URL does not begin with postgres:// or postgresql://.', form);
  // An unescaped `/`, `?` or `#` in a password ends the host too early, and the remaining text would be shown.
  if (/^[^?]*@|#|[?&][^=&]*@/.test(rest)) refuse('DATABASE_URL has an @ or a # after its host.', form);
  return { url: new URL(`${scheme}${user}${someHost}${rest}`), hosts };
}

function hostsIn(inUrl: string, parameterOf: ParameterOf, environment: Environment): readonly HostAddress[] {
  const places = inUrl.split(',').map((place) => {
    const [whole, host = '', port = ''] = /^(\[[^\]]*\]|[^[:]*)(?::(.*))?$/s.exec(place) ?? [];
    if (whole === undefined || /%(?![0-9a-f]{2})/i.test(host))
      refuse('DATABASE_URL has a host that is not valid.', form);
    return { host: decoded(host), port };
  });
  const listOf = (name: 'host' | 'port') => {
    const list = places.map((place) => place[name]).join(',');
    return parameterOf(name) ?? (/[^,]/.test(list) ? list : environment[`PG${name.toUpperCase()}`]);
  };
  return inPairs(listOf('host') ?? '', listOf('port') ?? '');
}

/** Pairs each host with its port. A single port applies to all hosts. */
function inPairs(hosts: string, ports: string): readonly HostAddress[] {
  const [names, numbers] = [hosts.split(','), ports.split(',')];
  if (numbers.length > 1 && numbers.length !== names.length)
    refuse(
      `DATABASE_URL has ${names.length} hosts and ${numbers.length} ports.`,
      'Give one port, or one for each host.',
    );
  const wrong = numbers.find((port) => !/^\d{0,5}$/.test(port) || Number(port) > 65_535 || port === '0');
  if (wrong !== undefined)
    refuse(
      `DATABASE_URL has ${/^\d+$/.test(wrong) ? `the port ${wrong}` : 'a port that is not a number'}.`,
      `A port is a number from 1 to 65535. ${form}`,
    );
  return names.map((host, at) => ({
    host: host || 'localhost',
    port: (numbers.length === 1 ? numbers[0] : numbers[at]) || '5432',
  }));
}

/** Decodes escapes; a text with escapes that cannot be decoded stays unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const databaseIn = ({ pathname }: URL): string => decoded(pathname.slice(1));

const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** True if the server is on this machine: a Unix socket, or a loopback address. */
export function isLocal(host: string): boolean {
  const bare = bareHost(host);
  if (bare.startsWith('/') || bare === 'localhost' || bare.endsWith('.localhost')) return true;
  return (isIP(bare) === 4 && bare.startsWith('127.')) || bare === '::1';
}

/** The parts of the address that people need for their own tools, without the password. */
export function connectionHelp(text: string): { readonly url: string; readonly psql: string } {
  const { url, hosts } = parse(text);
  url.password = '';
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name);
  const forPsql = new URL(url);
  // psql calls this mode `require`.
  if (url.searchParams.get('sslmode') === 'no-verify') forPsql.searchParams.set('sslmode', 'require');
  const [shown, shownToPsql] = [url, forPsql].map(({ href }) => href.replace(someHost, () => hosts)) as [
    string,
    string,
  ];
  return { url: shown, psql: `psql '${shownToPsql.replaceAll("'", '%27')}'` };
}
