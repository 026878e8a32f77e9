/** A TCP server on 127.0.0.1 that reads HTTP requests and lets a test write whatever bytes it likes. */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { toJson } from '../../src/model/json.ts';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** 0 for the first request that the server got. */
  readonly index: number;
}

export interface RawServer {
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: readonly RawRequest[];
  /** How many connections were opened. */
  connections(): number;
  /** How many of them are closed again. */
  closed(): number;
  close(): Promise<void>;
}

export type Respond = (socket: Socket, request: RawRequest) => void;

/** A well-formed answer as text. */
export function answer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': 'request-1',
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== '');
  return `HTTP/1.1 ${status} Any\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): string {
  return answer(status, toJson(value), headers);
}

/** Takes whole requests off the front of what was received. */
function takeRequest(text: string): { request: Omit<RawRequest, 'index'>; rest: string } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = Number(headers['content-length'] ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  if (body.length < length) return null;
  const [method = '', path = ''] = start.split(' ');
  return { request: { method, path, headers, body }, rest: text.slice(end + 4 + length) };
}

export async function listenRaw(respond: Respond, tls?: TlsOptions): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let closed = 0;
  const serve = (socket: Socket) => {
    connections += 1;
    socket.setNoDelay(true);
    sockets.add(socket);
    let received = '';
    socket.on('error', () => undefined);
    socket.on('close', () => {
      closed += 1;
      sockets.delete(socket);
    });
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      for (let taken = takeRequest(received); taken !== null; taken = takeRequest(received)) {
        received = taken.rest;
        const request = { ...taken.request, index: requests.length };
        requests.push(request);
        respond(socket, request);
      }
    });
  };
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    closed: () => closed,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}
