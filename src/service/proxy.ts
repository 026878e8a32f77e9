/** Reads from the environment which proxy to use, by the same rules as curl. */
import { MusterdError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address (`HTTPS_PROXY`); `undefined` if `NO_PROXY` contains the address's host, and for plain http.
 *
 * @throws MusterdError `configuration`. The message leaves out the proxy's address, because it may contain a password.
 */
export function proxyFor(address: string, environment: Environment = process.env): URL | undefined {
  const { protocol, hostname, port } = new URL(address);
  const named = environment['https_proxy'] || environment['HTTPS_PROXY'];
  if (!named || protocol !== 'https:') return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const exempt = (environment['no_proxy'] || environment['NO_PROXY'] || '').toLowerCase().split(/[\s,]+/);
  const isExempt = exempt.some((entry) => {
    const [, name, only] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [undefined, entry];
    const bare = name?.replace(/^\[(.*)\]$/, '$1').replace(/^\*?\./, '');
    if (!bare || (only !== undefined && only !== (port || '443'))) return false;
    return bare === '*' || host === bare || host.endsWith(`.${bare}`);
  });
  if (isExempt) return undefined;
  const proxy = URL.parse(named.includes('://') ? named : `http://${named}`);
  if (proxy !== null && /^https?:$/.test(proxy.protocol)) return proxy;
  throw new MusterdError('configuration', 'HTTPS_PROXY is not the URL of an HTTP proxy', {
    hint: 'Give it as http://proxy.example.net:3128, or http://user:password@proxy.example.net:3128.',
  });
}

/** The reason for a failed connection: the proxy's status, which undici gives only in its message, or an error code. */
export function describeConnectFailure(error: Error): string {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
  return status === undefined
    ? ((error as NodeJS.ErrnoException).code ?? error.name)
    : `CONNECT was answered ${status}`;
}
