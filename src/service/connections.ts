/** Connections to services. They outlive a client, so the next client, of any team, can use them while they are open. */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { MusterdError } from '../errors.ts';

/** Connections to the service. Times are in ms. */
export interface ConnectionSettings {
  readonly connectTimeoutMs: number;
  /** Ms from sending a request to the head of its answer. */
  readonly headersTimeoutMs: number;
  /** Ms from handing over a request to the last byte of its answer. */
  readonly totalDeadlineMs: number;
  /** The most requests at the same time, each on its own connection. */
  readonly concurrency: number;
  /** A PEM file with the certificates of a private authority. The usual authorities are trusted, too. */
  readonly caFile: string | undefined;
  /** The URL of an HTTP proxy for https origins. It can contain a name and a password. */
  readonly proxy?: string | undefined;
}

export interface Connections {
  /** @throws MusterdError `configuration` when the CA file cannot be read. */
  to(origin: string, settings: ConnectionSettings): Dispatcher;
  /** Closes all connections, even those with requests in flight. */
  close(): Promise<void>;
}

function readAuthorities(caFile: string): string {
  const named = `The file of certificate authorities ${caFile} (service.caFile, MUSTERD_CA_FILE)`;
  try {
    const text = readFileSync(caFile, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
  } catch (cause) {
    throw new MusterdError('configuration', `${named} cannot be read`, { cause });
  }
  throw new MusterdError('configuration', `${named} has no certificate in PEM form`);
}

/** Opens connections, which undici closes after some idle seconds. @param clients how many clients use them at a time */
export function createConnections(clients = 1): Connections {
  const pools = new Map<string, Dispatcher>();
  return {
    to: (origin, { caFile, ...settings }) => {
      const { connectTimeoutMs, headersTimeoutMs, totalDeadlineMs, concurrency, proxy } = settings;
      // The file is read each time, because it can change.
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
        // One request at a time, because undici sends pipelined requests again if an earlier one fails.
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
              // The proxy's answer to CONNECT is a part of connecting, so the same timeout applies to it.
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
