/** Connections to services that outlive a client: the next client, of any team, uses those that are still open. */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { MusterdError } from '../errors.ts';

/** Connections to the service. Times are in ms. */
export interface ConnectionSettings {
  readonly connectTimeoutMs: number;
  /** For the head of an answer, from when the request was sent. */
  readonly headersTimeoutMs: number;
  /** Ms from handing over a request to the last byte of its answer. */
  readonly totalDeadlineMs: number;
  /** Requests in parallel, each on its own connection. */
  readonly concurrency: number;
  /** A file in PEM with the certificates of a private authority; the usual ones are trusted as well. */
  readonly caFile: string | undefined;
  /** The URL of an HTTP proxy that leads to an https origin; it may hold a name and a password. */
  readonly proxy?: string | undefined;
}

export interface Connections {
  /** @throws MusterdError `configuration` when the CA file cannot be read. */
  to(origin: string, settings: ConnectionSettings): Dispatcher;
  /** Closes all of them, also those with requests in flight. */
  close(): Promise<void>;
}

function readAuthorities(caFile: string): string {
  try {
    return readFileSync(caFile, 'utf8');
  } catch (cause) {
    throw new MusterdError(
      'configuration',
      'The file of certificate authorities (MUSTERD_CA_FILE) cannot be read',
      {
        cause,
      },
    );
  }
}

/** undici closes a connection that was idle for some seconds. @param clients how many use them at the same time */
export function createConnections(clients = 1): Connections {
  const pools = new Map<string, Dispatcher>();
  return {
    to: (origin, { caFile, ...settings }) => {
      const { connectTimeoutMs, headersTimeoutMs, totalDeadlineMs, concurrency, proxy } = settings;
      // Read each time: the file can change.
      const authorities = caFile === undefined ? null : readAuthorities(caFile);
      const key = JSON.stringify([
        origin,
        proxy,
        connectTimeoutMs,
        headersTimeoutMs,
        totalDeadlineMs,
        concurrency,
        authorities,
      ]);
      const kept = pools.get(key);
      if (kept !== undefined) return kept;
      const tls = {
        timeout: connectTimeoutMs,
        minVersion: 'TLSv1.2',
        rejectUnauthorized: true,
        ca: authorities === null ? undefined : [...getCACertificates('default'), authorities],
      } as const;
      const options = {
        connections: clients * concurrency,
        // One request at a time: undici sends pipelined requests again after one that fails.
        pipelining: 1,
        allowH2: false,
        headersTimeout: headersTimeoutMs,
        bodyTimeout: totalDeadlineMs,
      };
      const pool =
        proxy === undefined
          ? new Pool(origin, { ...options, connect: tls })
          : new ProxyAgent({
              ...options,
              uri: proxy,
              requestTls: tls,
              proxyTls: tls,
              // The answer to CONNECT is a part of connecting.
              clientFactory: (to, given) => new Pool(to, { ...given, headersTimeout: connectTimeoutMs }),
            });
      pools.set(key, pool);
      return pool;
    },
    close: async () => {
      await Promise.all(pools.values().map((pool) => pool.destroy()));
    },
  };
}
