import { isIP } from 'node:net';
import { MusterdError } from '../errors.ts';

/** A connection URL, made safe, and what of it may be shown to people. */
export interface ConnectionUrl {
  /** For pg; holds the password. */
  readonly url: string;
  /** Such as `db.example.net:5432/muster`: no user, no password. */
  readonly shown: string;
}

/**
 * What pg 8.23 makes of `sslmode`: without one it does not encrypt at all, to no host; `prefer`, `require`
 * and `verify-ca` it treats as `verify-full` and warns on stderr that this will end; `no-verify` (its own
 * word) encrypts and believes anybody. Here: `disable`, `no-verify` and `verify-full` mean what pg means,
 * every other mode is `verify-full`, and so is a URL without a mode whose host is not this machine, unless
 * `ssl=` or PGSSLMODE says otherwise. Certificates come from `sslrootcert=<file>` or from Node's own list.
 */
export function readConnectionUrl(
  text: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ConnectionUrl {
  const url = parse(text);
  const host = hostOf(url, environment);
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !MODES.has(mode)) {
    throw new MusterdError('configuration', `DATABASE_URL has an unknown sslmode "${mode}".`, {
      hint: `Use one of ${[...MODES].join(', ')}.`,
    });
  }
  if (!url.searchParams.has('uselibpqcompat')) {
    const undecided =
      mode === null &&
      !url.searchParams.has('ssl') &&
      environment['PGSSLMODE'] === undefined &&
      !isLocal(host);
    if (undecided || (mode !== null && !AS_PG.has(mode))) url.searchParams.set('sslmode', 'verify-full');
  }
  // libpq's word for "the system's certificates"; pg would look for a file of that name.
  if (url.searchParams.get('sslrootcert') === 'system') url.searchParams.delete('sslrootcert');
  const port = url.port || url.searchParams.get('port') || environment['PGPORT'] || '5432';
  return { url: url.href, shown: `${host}:${port}${url.pathname}` };
}

const MODES = new Set(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']);
/** Modes that pg is handed as they are. */
const AS_PG = new Set(['disable', 'verify-full', 'no-verify']);

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')) {
    // The text itself is not repeated: it may hold a password.
    throw new MusterdError('configuration', 'DATABASE_URL is not a Postgres connection URL.', {
      hint: 'Its form is postgres://user:password@host:5432/database; write special characters of the password as %XX.',
    });
  }
  return url;
}

function hostOf(url: URL, environment: Readonly<Record<string, string | undefined>>): string {
  return (
    url.searchParams.get('host') || decodeURIComponent(url.hostname) || environment['PGHOST'] || 'localhost'
  );
}

/** Whether no network lies between: a Unix socket, or this machine's own address. */
function isLocal(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (bare.startsWith('/') || bare === 'localhost' || bare.endsWith('.localhost')) return true;
  return (isIP(bare) === 4 && bare.startsWith('127.')) || bare === '::1';
}
