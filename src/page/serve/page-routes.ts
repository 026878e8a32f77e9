/** The HTTP routes of the page: access, views, files and events. A `PageSource` supplies the content. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import compress from '@fastify/compress';
import etag from '@fastify/etag';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PagePart, PageSurroundings } from '../../http/server.ts';
import type { Asset } from '../assets.ts';
import type { ViewRequest } from '../render/view.ts';
import { type Asker, createPageAccess, type PageKeys } from './page-access.ts';
import { createPageEvents } from './page-events.ts';

export interface PageQuestion extends Asker, Omit<ViewRequest, 'details'> {
  readonly pattern: string;
  /** The path without query, and without `.csv`. */
  readonly path: string;
  /** The token of a form for this path and person. */
  readonly token: (path: string) => string;
  readonly form: URLSearchParams | undefined;
}

export interface PageAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PageSource {
  readonly keys: PageKeys;
  readonly patterns: readonly string[];
  /** Paths to which forms are posted. If the list is empty, this page takes no decisions. */
  readonly forms: readonly string[];
  readonly assets: ReadonlyMap<string, Asset>;
  readonly answer: (question: PageQuestion) => Promise<PageAnswer>;
  readonly decide: (question: PageQuestion) => Promise<PageAnswer>;
  readonly sorry: (status: number) => string;
  readonly pulse: () => Promise<string>;
}

const pageHeaders = {
  'cache-control': 'private, no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  // Not `no-referrer`, because with that policy a browser would not send the origin of a form.
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  vary: 'authorization',
};
const htmlType = 'text/html; charset=utf-8';

/** @param words the number of the text to show, if it is not the text of the status */
const sendSorry = (reply: FastifyReply, page: PageSource, status: number, words = status): FastifyReply =>
  reply.code(status).headers(pageHeaders).type(htmlType).send(page.sorry(words));

export const pageRoutes = (page: PageSource): PagePart => ({
  add: (app, around) => {
    void app.register(async (scope) => {
      await scope.register(compress, { encodings: ['gzip'], threshold: 1_024 });
      await scope.register(etag, { weak: true });
      admitOnly(scope, page, around);
      addViews(scope, page);
      addFiles(scope, page);
      addEvents(scope, page);
    });
  },
  sorry: (reply, status) => sendSorry(reply, page, status),
});

const askers = new WeakMap<FastifyRequest, Asker>();
const nobody: Asker = { actor: null, mayDecide: false };

function admitOnly(
  scope: FastifyInstance,
  page: PageSource,
  { onLoopback, monotonicMs, log }: PageSurroundings,
): void {
  const access = createPageAccess(page.keys, onLoopback, monotonicMs);
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(pageHeaders);
    const admission = access.admit(request.headers.authorization);
    if (admission.may) {
      askers.set(request, admission);
      return undefined;
    }
    const { status, waitMs } = admission;
    if (status === 401) reply.header('www-authenticate', 'Basic realm="musterd", charset="UTF-8"');
    if (status === 429) {
      reply.header('retry-after', Math.ceil(waitMs / 1_000));
      // Waits, so that only one key per second can be tried on each connection.
      await delay(1_000, undefined, { ref: false });
    }
    return await sendSorry(reply, page, status);
  });
  scope.setErrorHandler((error: Error & { statusCode?: number; code?: unknown }, request, reply) => {
    // The database role lacks a right, so trying again would not help.
    if (error.code === '42501') return sendSorry(reply, page, 403, 42_501);
    const status = error.statusCode ?? 503;
    if (status >= 500) log?.warn({ err: error, route: request.routeOptions.url }, 'page not shown');
    return sendSorry(reply, page, status);
  });
}

/** A token is valid for this process, one path and one person. Another site can neither read nor forge it. */
function createTokens() {
  const key = randomBytes(32);
  const make = (path: string, actor: string | null) =>
    createHmac('sha256', key)
      .update(JSON.stringify([path, actor]))
      .digest('base64url');
  return {
    make,
    fits: (token: string, path: string, actor: string | null) => {
      const [given, wanted] = [Buffer.from(token), Buffer.from(make(path, actor))];
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
}

const csvEnd = /\.csv$/;

/** True if a text contains a NUL, which Postgres cannot store and no link of the page contains. */
const hasNul = (texts: Iterable<string>): boolean => [...texts].some((text) => text.includes('\0'));

function addViews(scope: FastifyInstance, page: PageSource): void {
  const tokens = createTokens();
  const questionOf = (request: FastifyRequest, pattern: string): PageQuestion => {
    const [whole = '', search = ''] = request.url.split(/\?(.*)/s);
    const { actor, mayDecide } = askers.get(request) ?? nobody;
    const isCsv = csvEnd.test(whole);
    const params = Object.entries(request.params as Readonly<Record<string, string>>);
    const query = new URLSearchParams(search);
    if (query.get('team') === '') query.delete('team');
    if (hasNul([...query.values(), ...params.map(([, value]) => value)]))
      throw Object.assign(new Error('a NUL character in the address'), { statusCode: 400 });
    return {
      pattern,
      path: pattern === '/' ? '/' : whole.replace(csvEnd, ''),
      params: Object.fromEntries(
        params.map(([key, value]) => [key, isCsv ? value.replace(csvEnd, '') : value]),
      ),
      query,
      form: undefined,
      isCsv,
      actor,
      mayDecide,
      token: (path) => tokens.make(path, actor),
    };
  };
  const send = async (reply: FastifyReply, { status, type, body, headers = {} }: PageAnswer) =>
    await reply.code(status).type(type).headers(headers).send(body);

  for (const pattern of page.patterns) {
    const handler = async (request: FastifyRequest, reply: FastifyReply) =>
      await send(reply, await page.answer(questionOf(request, pattern)));
    scope.get(pattern, handler);
    if (pattern === '/') scope.get('/glance.csv', handler);
    // If the path ends with a parameter, `.csv` is a part of the parameter.
    else if (!/:\w+$/.test(pattern)) scope.get(`${pattern}.csv`, handler);
  }

  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  for (const pattern of page.forms)
    scope.post(pattern, async (request, reply) => {
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      const question = questionOf(request, pattern);
      const site = request.headers['sec-fetch-site'];
      const isOurs = site === undefined || site === 'same-origin';
      if (!isOurs || !tokens.fits(form.get('token') ?? '', question.path, question.actor))
        return await sendSorry(reply, page, 403);
      return await send(reply, await page.decide({ ...question, form }));
    });
}

function addFiles(scope: FastifyInstance, { assets }: PageSource): void {
  for (const [name, { type, body, isFont }] of assets)
    scope.get(`/assets/${name}`, async (_request, reply) => {
      if (isFont) reply.header('cache-control', 'public, max-age=31536000, immutable');
      return await reply.type(type).send(body);
    });
}

function addEvents(scope: FastifyInstance, page: PageSource): void {
  const events = createPageEvents(page.pulse);
  scope.addHook('onClose', async () => events.close());
  scope.get('/events', (_request, reply) => {
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    reply.hijack();
    reply.raw.writeHead(200, headers as Record<string, string>);
    if (!events.join(reply.raw)) reply.raw.end();
  });
}
