/**
 * The status server. It reports whether the process lives (`/healthz`), can work (`/readyz`) and has a mirror that is as
 * new as promised (`/freshness`), and it has metrics (`/metrics`). These answers contain states, ages and names of teams,
 * and no data about people. It can also serve the page.
 */
import { isIP, type Socket } from 'node:net';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import type { TeamFreshness } from '../model/freshness.ts';
import { isReady, type ReadyChecks } from '../model/readiness-report.ts';
import { keepRoom } from './connection-room.ts';

export interface PagePart {
  add(app: FastifyInstance, around: PageSurroundings): void;
  /** Answers a browser with a page that explains why the requested page cannot be shown. */
  sorry(reply: FastifyReply, status: number): FastifyReply;
}

export interface PageSurroundings {
  readonly onLoopback: boolean;
  readonly monotonicMs: () => number;
  readonly log: HttpOptions['log'];
}

interface HttpOptions {
  readonly host: string;
  /** The port; 0 for any free one. */
  readonly port: number;
  readonly page?: PagePart;
  readonly log?: { warn(fields: object, text: string): void } | undefined;
  readonly monotonicMs?: () => number;
  /** The most ms for a request to arrive, and the most ms for its answer. */
  readonly requestTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
}

export interface StatusOptions extends HttpOptions {
  readonly ready: () => Promise<ReadyChecks>;
  readonly freshness: () => Promise<readonly TeamFreshness[]>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface StatusServer {
  readonly port: number;
  close(): Promise<void>;
}

const bodyLimit = 65_536;
const longestParameter = 512;
const room = { connections: 256, ofAddress: 64 };
/** The most ms for the head of a request to arrive. It is mostly one packet. */
const headTimeoutMs = 3_000;

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const isLoopback = (host: string) => host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/**
 * True if a browser addresses this machine by one of its loopback names. A hostile page can point its own name to
 * loopback, but cannot make the browser send another name than its own.
 */
function isOurName(host: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '').toLowerCase() ?? '';
  return name === 'localhost' || name === '[::1]' || isLoopback(name);
}

/** @throws the operating system's error about the address, such as EADDRINUSE */
export async function createStatusServer(options: StatusOptions): Promise<StatusServer> {
  return await openServer(options, (app) => addRoutes(app, options));
}

/** Serves only the page. @throws the operating system's error about the address, such as EADDRINUSE */
export async function createPageServer(
  options: HttpOptions & { readonly page: PagePart },
): Promise<StatusServer> {
  return await openServer(options, () => undefined);
}

async function openServer(options: HttpOptions, add: (app: FastifyInstance) => void): Promise<StatusServer> {
  // The name `localhost` can have two addresses, but the server listens on one address.
  const host = options.host === 'localhost' ? '127.0.0.1' : options.host;
  const requestTimeout = options.requestTimeoutMs ?? 10_000;
  const app = fastify({
    http: {
      headersTimeout: Math.min(requestTimeout, headTimeoutMs),
      connectionsCheckingInterval: Math.min(requestTimeout, 1_000),
    },
    requestTimeout,
    connectionTimeout: 60_000,
    keepAliveTimeout: 30_000,
    handlerTimeout: options.answerTimeoutMs ?? 5_000,
    forceCloseConnections: true,
    bodyLimit,
    routerOptions: { maxParamLength: longestParameter },
    clientErrorHandler: refuseBytes,
    // The path is invalid, or a parameter in it is too long.
    frameworkErrors: (_error, request, reply) => {
      void notFound(request, reply.headers(headers), options.page);
    },
  });
  keepRoom(app.server, room);
  const onLoopback = isLoopback(host);
  guard(app, options, onLoopback);
  app.get('/healthz', (_request, reply) => reply.send({ status: 'ok' }));
  add(app);
  const { page, log, monotonicMs = () => performance.now() } = options;
  page?.add(app, { onLoopback, monotonicMs, log });
  await app.listen({ host, port: options.port });
  const address = app.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: async () => {
      await app.close();
    },
  };
}

/** Answers 404. If the page is served, a browser gets an HTML page instead of JSON. */
function notFound(
  { headers: { accept } }: FastifyRequest,
  reply: FastifyReply,
  page?: PagePart,
): FastifyReply {
  return page !== undefined && accept?.includes('text/html') === true
    ? page.sorry(reply, 404)
    : reply.code(404).send({ error: 'not found' });
}

/** Adds the checks for every request. */
function guard(app: FastifyInstance, { page, log }: HttpOptions, onLoopback: boolean): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers);
    // The content type of a body does not matter, because no route reads a body.
    request.raw.headers['content-type'] = 'application/octet-stream';
    // A request may contain a second `Host` header, or another host in its URL. A proxy before this server may have
    // checked only the other host.
    if (request.raw.headersDistinct['host']?.[1] !== undefined || !request.url.startsWith('/'))
      return await reply.code(400).send({ error: 'bad request' });
    if (onLoopback && !isOurName(request.headers.host)) {
      return await reply.code(421).send({ error: 'no such host' });
    }
    return undefined;
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
  app.setNotFoundHandler((request, reply) => notFound(request, reply, page));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 503;
    if (status < 500) return reply.code(status).send({ error: 'bad request' });
    // Only the route's pattern is logged, because a path can contain a person's name.
    log?.warn({ err: error, route: request.routeOptions.url }, 'status not known');
    return reply.code(503).send({ error: 'not known' });
  });
}

function addRoutes(app: FastifyInstance, { ready, freshness, metrics }: StatusOptions): void {
  app.get('/readyz', async (_request, reply) => {
    const { database, migrations, credentials } = await ready();
    const checks = { database, migrations, credentials };
    const all = isReady(checks);
    return await reply.code(all ? 200 : 503).send({ ready: all, checks });
  });

  app.get<{ Querystring: { team?: unknown } }>('/freshness', async ({ query }, reply) => {
    const teams = await freshness();
    if (query.team !== undefined) {
      const oneTeam = teams.find(({ team }) => team === query.team);
      if (oneTeam === undefined) return await reply.code(404).send({ error: 'unknown team' });
      return await reply.code(oneTeam.fresh ? 200 : 503).send(oneTeam);
    }
    const fresh = teams.every((team) => team.fresh);
    return await reply.code(fresh ? 200 : 503).send({ fresh, teams });
  });

  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await metrics();
    return await reply.header('content-type', contentType).send(text);
  });
}

/** Answers bytes that are not HTTP with an error, and also requests that take too long to arrive. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
  const body = JSON.stringify({ error: 'bad request' });
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  // Both directions are closed, because a client that never closes its direction would keep the connection open.
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
