/**
 * The status server: whether the process lives (`/healthz`), whether it can work (`/readyz`), whether the
 * mirror is as new as promised (`/freshness`), numbers (`/metrics`), and a door for hints
 * (`POST /hooks/<token>`): states, ages and names of teams, and nothing of any person. And the page, for people.
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
import { createAttemptLimit } from './attempt-limit.ts';
import { keepRoom } from './connection-room.ts';

export interface PagePart {
  /** Adds its routes. */
  add(app: FastifyInstance, around: PageSurroundings): void;
  /** Answers a browser with a page that only says why there is none. */
  sorry(reply: FastifyReply, status: number): FastifyReply;
}

export interface PageSurroundings {
  readonly onLoopback: boolean;
  readonly monotonicMs: () => number;
  readonly log: HttpOptions['log'];
}

interface HttpOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** What people look at, from `/` on. */
  readonly page?: PagePart;
  readonly log?: { warn(fields: object, text: string): void } | undefined;
  readonly monotonicMs?: () => number;
  /** How long a request may take to arrive, and how long its answer may take to be found. */
  readonly requestTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
}

export interface StatusOptions extends HttpOptions {
  readonly ready: () => Promise<ReadyChecks>;
  readonly freshness: () => Promise<readonly TeamFreshness[]>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Whether the token is known; if so, it has been taken as a hint. Compares in constant time (`hook-tokens.ts`). */
  readonly hook: (token: string) => boolean | Promise<boolean>;
}

export interface StatusServer {
  readonly port: number;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** A hint's body is read to its end and thrown away, up to here. */
const bodyLimit = 65_536;
const longestToken = 512;
/** Wrong tokens of one address within a minute, after which it is told to wait; the right one is still taken. */
const wrongTokens = 20;
const room = { connections: 256, ofAddress: 64 };
/** How long a head may take, which is one packet mostly. */
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
 * Whether a browser asks for this machine by a name of this machine: a page of somebody else's can have its
 * own name lead to loopback, but not have the browser say another name than that.
 */
function isOurName(host: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '').toLowerCase() ?? '';
  return name === 'localhost' || name === '[::1]' || isLoopback(name);
}

/** @throws what the operating system says about the address, such as EADDRINUSE */
export async function createStatusServer(options: StatusOptions): Promise<StatusServer> {
  return await openServer(options, (app) => {
    addRoutes(app, options);
    addHooks(app, options);
  });
}

/** The page alone. @throws what the operating system says about the address, such as EADDRINUSE */
export async function createPageServer(
  options: HttpOptions & { readonly page: PagePart },
): Promise<StatusServer> {
  return await openServer(options, () => undefined);
}

async function openServer(options: HttpOptions, add: (app: FastifyInstance) => void): Promise<StatusServer> {
  // The name can stand for two addresses; one server listens on one.
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
    routerOptions: { maxParamLength: longestToken },
    clientErrorHandler: refuseBytes,
    // A path that is none, or a token that is longer than any.
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

/** A browser is told in words, where there is a page. */
function notFound(
  { headers: { accept } }: FastifyRequest,
  reply: FastifyReply,
  page?: PagePart,
): FastifyReply {
  return page !== undefined && accept?.includes('text/html') === true
    ? page.sorry(reply, 404)
    : reply.code(404).send({ error: 'not found' });
}

/** What holds for every request. */
function guard(app: FastifyInstance, { page, log }: HttpOptions, onLoopback: boolean): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers);
    // No matter what a body is said to be, it is never looked at.
    request.raw.headers['content-type'] = 'application/octet-stream';
    // Two names, or another one in the address itself: what stands between us and a client may have looked at either.
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
    // The pattern of the route: a path can hold a token.
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
      const asked = teams.find(({ team }) => team === query.team);
      if (asked === undefined) return await reply.code(404).send({ error: 'unknown team' });
      return await reply.code(asked.fresh ? 200 : 503).send(asked);
    }
    const fresh = teams.every((team) => team.fresh);
    return await reply.code(fresh ? 200 : 503).send({ fresh, teams });
  });

  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await metrics();
    return await reply.header('content-type', contentType).send(text);
  });
}

function addHooks(app: FastifyInstance, { hook, monotonicMs }: StatusOptions): void {
  const limit = createAttemptLimit(wrongTokens, monotonicMs ?? (() => performance.now()));
  app.post<{ Params: { token: string } }>('/hooks/:token', async (request, reply) => {
    // First: behind a proxy, a client that tries tokens has the same address as one that knows one.
    if (await hook(request.params.token)) return await reply.code(202).send({ status: 'accepted' });
    const blockedMs = limit.blockedMs(request.ip);
    if (blockedMs > 0) {
      reply.header('retry-after', Math.ceil(blockedMs / 1_000));
      return await reply.code(429).send({ error: 'too many attempts' });
    }
    limit.failed(request.ip);
    return await notFound(request, reply);
  });
}

/** Bytes that are not HTTP, and requests that take too long to arrive. */
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
  // Not only its own half: who never closes the other one would hold it.
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
