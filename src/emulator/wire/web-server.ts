import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import type { EmulatorOptions } from '../options.ts';
import { writeOwnFile } from '../control/state-file.ts';

/** A server that does not listen yet. */
export interface ListeningServer {
  readonly app: FastifyInstance;
  readonly host: string;
  /** The certificate authority of an HTTPS server, in PEM. */
  readonly authority: string | undefined;
  /** The file with the certificate of this authority, for `NODE_EXTRA_CA_CERTS`. */
  readonly authorityFile: string | undefined;
  /** Deletes the files of the server. */
  readonly clean: () => void;
}

const settings = {
  exposeHeadRoutes: false,
  forceCloseConnections: true,
  bodyLimit: 10 * 2 ** 20,
  clientErrorHandler: refuseBytes,
} as const;

/** Answers bytes that are not HTTP with a 400, which has a request id and a JSON string as its body. */
function refuseBytes(_error: Error, socket: Socket): void {
  if (!socket.writable) return;
  const lines = [
    'HTTP/1.1 400 Bad Request',
    `X-Request-Id: ${randomUUID()}`,
    'Content-Type: application/json; charset=utf-8',
    'Content-Length: 7',
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n"error"`);
}

/**
 * An HTTPS server with a new certificate authority, as the interface demands (general rule
 * 2), or a plain HTTP server on loopback. Throws if plain HTTP would leave this machine.
 */
export async function createServer(options: EmulatorOptions): Promise<ListeningServer> {
  // `localhost` can resolve to two addresses, but a server listens on one.
  const host = options.host === undefined || options.host === 'localhost' ? '127.0.0.1' : options.host;
  const loopback = host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (options.http === true) {
    if (!loopback)
      throw new Error(`Plain HTTP is for loopback only, not for ${host}; leave it out to serve HTTPS.`);
    return {
      app: fastify(settings),
      host,
      authority: undefined,
      authorityFile: undefined,
      clean: () => undefined,
    };
  }
  // Imported only here, so that a plain HTTP server starts without loading it.
  const { createServerCertificate } = await import('./certificate.ts');
  const { hostName } = options;
  const names = [
    'localhost',
    '127.0.0.1',
    '::1',
    ...(loopback ? [] : [host, hostname()]),
    ...(hostName === undefined ? [] : [hostName]),
  ];
  const { key, cert, authority } = await createServerCertificate([...new Set(names)]);
  const app: FastifyInstance = fastify({ ...settings, https: { key, cert } });
  return { app, host, authority, ...keep(authority, options.authorityFile) };
}

/** Writes the authority's certificate to `file`, or into a temporary directory that `clean` removes. */
function keep(authority: string, file: string | undefined): Pick<ListeningServer, 'authorityFile' | 'clean'> {
  const directory = file === undefined ? mkdtempSync(join(tmpdir(), 'musterd-emulator-')) : undefined;
  const authorityFile = file ?? join(directory ?? '', 'authority.pem');
  writeOwnFile(authorityFile, authority, 0o644);
  return {
    authorityFile,
    clean: () => {
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}
