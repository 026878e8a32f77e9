import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from '../rules/endpoints.ts';
import { type LoggedRequest, oddityOf } from './request-log.ts';
import { answerRequest } from './answer-request.ts';
import { send } from './write-answer.ts';
import type { EmulatorWorld } from '../world.ts';

/** How many characters of an answer the request log keeps. */
const shownLength = 2000;

/**
 * Puts the interface's endpoints on a Fastify server. `GET /v1/users/get` reads a JSON body, so GET is configured to
 * have one. Bodies are taken as text whatever their content type, because otherwise the defaults of Python and curl
 * (form-encoded) would be refused. If `isBeside` returns true for a path, its requests are not logged.
 */
export function addServiceRoutes(
  app: FastifyInstance,
  world: EmulatorWorld,
  isBeside: (url: string) => boolean,
): void {
  const entries = new WeakMap<FastifyRequest, LoggedRequest>();
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body);
  });

  const reset = trackSockets(app);
  app.addHook('onRequest', async (request, reply) => {
    const requestId = randomUUID();
    if (!isBeside(request.url)) entries.set(request, logArrival(world, request, requestId));
    reply.header('X-Request-Id', requestId);
    reply.header('Date', new Date(world.clock.now()).toUTCString());
  });

  async function answer(endpoint: Endpoint | undefined, request: FastifyRequest, reply: FastifyReply) {
    const logged = entries.get(request) ?? logArrival(world, request, randomUUID());
    const { id } = (request.params ?? {}) as { readonly id?: string };
    const text = typeof request.body === 'string' ? request.body : '';
    const { authorization } = request.headers;
    const { outgoing, wire } = await answerRequest(world, endpoint, { logged, authorization, text, id });
    const whole = wire.kind === 'whole' || wire.kind === 'drip' || wire.kind === 'padded';
    logged.status = whole ? outgoing.status : undefined;
    logged.answer = whole ? outgoing.text.slice(0, shownLength) : undefined;
    giveReason(reply, oddityOf(logged));
    return send(reply, outgoing, wire, () => reset(request));
  }

  for (const endpoint of endpoints) {
    app.route({
      method: endpoint.method,
      url: endpoint.path.replace('{id}', ':id'),
      exposeHeadRoute: false,
      handler: (request, reply) => answer(endpoint, request, reply),
    });
  }
  app.setNotFoundHandler((request, reply) => answer(undefined, request, reply));
  // All errors, also Fastify's own, are a status code with a JSON string body (interface.md, Errors).
  app.setErrorHandler((error: { readonly statusCode?: number; readonly message: string }, request, reply) => {
    const status = error.statusCode ?? 500;
    const logged = entries.get(request);
    if (logged !== undefined) Object.assign(logged, { status, why: error.message });
    giveReason(reply, error.message);
    const label = request.url.startsWith('/v1/inboxes') ? 'bad_data' : 'error';
    return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(label));
  });
}

/** Adds a header with the reason for an unusual answer, for authors of clients. */
function giveReason(reply: FastifyReply, reason: string | undefined): void {
  if (reason !== undefined) reply.header('X-Emulator-Reason', reason.replace(/[^\x20-\x7e]/g, '?'));
}

function logArrival(world: EmulatorWorld, request: FastifyRequest, requestId: string): LoggedRequest {
  const [path = '', query = ''] = request.url.split('?', 2);
  return world.log.add({
    requestId,
    method: request.method,
    path,
    query,
    atMs: world.clock.now(),
  });
}

/**
 * Remembers the TCP connections of the server, because a TLS socket cannot reset its own TCP connection.
 * @returns a function that resets the connection of a request
 */
function trackSockets(app: FastifyInstance): (request: FastifyRequest) => void {
  const sockets = new Map<string, Socket>();
  app.server.on('connection', (socket: Socket) => {
    const key = `${socket.remoteAddress} ${socket.remotePort}`;
    sockets.set(key, socket);
    socket.once('close', () => sockets.delete(key));
  });
  return (request) => {
    const { remoteAddress, remotePort } = request.raw.socket;
    sockets.get(`${remoteAddress} ${remotePort}`)?.resetAndDestroy();
  };
}
