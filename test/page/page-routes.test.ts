/** The page over HTTP: its keys, its headers, and forms that can only come from here. What it says stands in. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createPageEvents } from '../../src/page/serve/page-events.ts';
import { type PageQuestion, pageRoutes, type PageSource } from '../../src/page/serve/page-routes.ts';
import { createPageServer, type StatusServer } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';

const token = 'a token of the page for tests';
const authorization = `Basic ${Buffer.from(`kim:${token}`).toString('base64')}`;
const asked: PageQuestion[] = [];
const decided: PageQuestion[] = [];
const answerOf = (body: string) => ({ status: 200, type: 'text/html; charset=utf-8', body });

const page: PageSource = {
  keys: { kim: { token, may: 'decide' }, lee: { token: 'a token of lee alone', may: 'decide' } },
  patterns: ['/', '/people', '/people/:team/:id'],
  forms: ['/waiting/:batch'],
  assets: new Map([
    ['style.css', { type: 'text/css', body: Buffer.from('body{}'), isFont: false }],
    ['font.woff2', { type: 'font/woff2', body: Buffer.from('font'), isFont: true }],
  ]),
  answer: async (question) => {
    asked.push(question);
    if (question.query.get('q') === 'refused') throw Object.assign(new Error('no right'), { code: '42501' });
    if (question.query.get('q') === 'away') throw new Error('secret words of the database');
    return answerOf(`<p>${question.token('/waiting/5f0c')}</p> ${'and so on '.repeat(200)}`);
  },
  decide: async (question) => {
    decided.push(question);
    return answerOf('asked once more');
  },
  sorry: (status) => `sorry, ${status}`,
  pulse: async () => 'one',
};

let server: StatusServer;
interface Sent extends Omit<RequestInit, 'headers'> {
  readonly headers?: Readonly<Record<string, string>>;
}
const ask = async (path: string, init: Sent = {}) =>
  await fetch(`http://127.0.0.1:${server.port}${path}`, {
    ...init,
    headers: { authorization, ...init.headers },
  });
beforeAll(async () => {
  server = await createPageServer({ host: '127.0.0.1', port: 0, page: pageRoutes(page) });
});
afterAll(() => server.close());

it('the page delays the answer 429 to the eleventh wrong token of a minute, but answers a right token at once', async () => {
  const source = pageRoutes({ ...page, answer: async () => answerOf('') });
  const own = await createPageServer({ host: '127.0.0.1', port: 0, page: source });
  onTestFinished(() => own.close());
  const get = async (given: string) =>
    await fetch(`http://127.0.0.1:${own.port}/`, { headers: { authorization: given } });
  const wrong = async () => await get(`Basic ${Buffer.from('kim:wrong').toString('base64')}`);
  for (let tries = 0; tries < 10; tries += 1) expect((await wrong()).status).toBe(401);
  const answered: number[] = [];
  const slow = wrong();
  await Promise.all(
    [slow, get(authorization)].map((asking) => asking.then(({ status }) => void answered.push(status))),
  );
  expect(answered).toEqual([200, 429]);
  expect(Number((await slow).headers.get('retry-after'))).toBeGreaterThan(0);
});

it('the page answers 401 to every path if the request has no token', async () => {
  for (const path of ['/', '/people', '/people.csv', '/assets/style.css', '/assets/font.woff2', '/events']) {
    const answer = await ask(path, { headers: { authorization: '' } });
    expect([path, answer.status, await answer.text()]).toEqual([path, 401, 'sorry, 401']);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
  }
  const post = await ask('/waiting/5f0c', {
    method: 'POST',
    headers: { authorization: '' },
    body: 'token=x',
  });
  expect([post.status, asked, decided]).toEqual([401, [], []]);
});

it('the page sends headers that forbid foreign resources, shared caches and frames', async () => {
  const { headers } = await ask('/');
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy.split('; ').toSorted()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "font-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
  ]);
  expect(headers.get('cache-control')).toBe('private, no-cache');
  expect(headers.get('vary')).toMatch(/authorization/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect((await ask('/assets/font.woff2')).headers.get('cache-control')).toContain('immutable');
});

it('the page sends gzipped HTML, and answers 304 to a request with the ETag of the same HTML', async () => {
  const first = await ask('/people');
  const etag = first.headers.get('etag') ?? '';
  expect([first.headers.get('content-encoding'), etag.length > 4]).toEqual(['gzip', true]);
  expect((await ask('/people', { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await ask('/people', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
});

it('pageRoutes passes the path, its parameters, the query, the format and the login to the view', async () => {
  asked.length = 0;
  await ask('/people/north/7.csv?q=a%20b');
  await ask('/glance.csv');
  expect(
    asked.map(({ pattern, path, params, isCsv, actor }) => [pattern, path, params, isCsv, actor]),
  ).toEqual([
    ['/people/:team/:id', '/people/north/7', { team: 'north', id: '7' }, true, 'kim'],
    ['/', '/', {}, true, 'kim'],
  ]);
  expect(asked[0]?.query.get('q')).toBe('a b');
});

it('the page answers 403 if a database right is missing, and 503 without the error’s text after any other error', async () => {
  const refused = await ask('/people?q=refused');
  expect([refused.status, await refused.text()]).toEqual([403, 'sorry, 42501']);
  const away = await ask('/people?q=away');
  expect([away.status, await away.text()]).toEqual([503, 'sorry, 503']);
});

it.each(['/people?q=%00', '/people?team=a&team=%00b', '/people/a%00/7', '/people/north/7%00.csv'])(
  'the page answers 400 as HTML if the address contains a NUL character: %s',
  async (path) => {
    asked.length = 0;
    const { status, headers } = await ask(path);
    expect([status, headers.get('content-type'), asked]).toEqual([
      400,
      expect.stringMatching(/^text\/html/),
      [],
    ]);
  },
);

it('the page answers 404 to an unknown path, as HTML for a browser and as JSON for any other client', async () => {
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  for (const path of ['/nothing', '/people/', '/%zz', '/healthz/', `/people/${'x'.repeat(600)}/1`]) {
    const answer = await ask(path, { headers: { accept, authorization: '' } });
    expect([path, answer.status, await answer.text()]).toEqual([path, 404, 'sorry, 404']);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.headers.get('content-security-policy')).toContain("style-src 'self'");
    expect(await (await ask(path)).text()).toBe('{"error":"not found"}');
  }
});

it('the page accepts a form only from its own site, with a token that it gave for the same path and login (S30)', async () => {
  const given = /<p>(.*?)<\/p>/.exec(await (await ask('/')).text())?.[1] ?? '';
  const post = async (path: string, key: string, headers: Readonly<Record<string, string>> = {}) =>
    (await ask(path, { method: 'POST', headers, body: `token=${key}&why=checked` })).status;
  const other = `Basic ${Buffer.from('lee:a token of lee alone').toString('base64')}`;
  for (const [path, key, headers] of [
    ['/waiting/5f0c', '', {}],
    ['/waiting/5f0c', `${given.slice(0, -1)}${given.endsWith('A') ? 'B' : 'A'}`, {}],
    ['/waiting/77aa', given, {}],
    ['/waiting/5f0c', given, { authorization: other }],
    ['/waiting/5f0c', given, { 'sec-fetch-site': 'cross-site' }],
    ['/waiting/5f0c', given, { 'sec-fetch-site': 'same-site' }],
    ['/waiting/5f0c', given, { 'sec-fetch-site': 'none' }],
  ] as const)
    expect([path, key, headers, await post(path, key, headers)]).toEqual([path, key, headers, 403]);
  expect(decided).toEqual([]);
  expect(await post('/waiting/5f0c', given, { 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await post('/waiting/5f0c', given)).toBe(200);
  expect(decided.map(({ actor, form }) => [actor, form?.get('why')])).toEqual([
    ['kim', 'checked'],
    ['kim', 'checked'],
  ]);
});

describe('createPageEvents', () => {
  it('sends each change once to every open page, and continues after a failed query', async () => {
    const pulses = ['one', 'two', 'two', undefined, 'three', 'three'];
    let looks = 0;
    const events = createPageEvents(async () => {
      const pulse = pulses[Math.min(looks, pulses.length - 1)];
      looks += 1;
      if (pulse === undefined) throw new Error('the database is away');
      return pulse;
    }, 1);
    const listen = () => {
      const told: string[] = [];
      const end = () => {};
      const write = (text: string) => {
        const [, event] = /^event: (.*)/.exec(text) ?? [];
        if (event !== undefined) told.push(event);
      };
      const response = Object.assign(new EventEmitter(), { write, end }) as unknown as ServerResponse;
      expect(events.join(response)).toBe(true);
      return { told, leave: () => response.emit('close') };
    };
    const both = [listen(), listen()];
    await eventually('all pulses are read', () => looks >= pulses.length + 1);
    for (const { told } of both)
      expect(told.slice(0, 5)).toEqual(['alive', 'changed', 'alive', 'changed', 'alive']);
    for (const { leave } of both) leave();
    const before = looks;
    pulses.push('four');
    const late = listen();
    await eventually('it is looked again', () => looks > before + 1);
    // Whoever comes has just read the page: a change before that is none for them.
    expect(late.told).not.toContain('changed');
    events.close();
  });
});
