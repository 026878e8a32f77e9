import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { createSecret } from '../../src/secret.ts';
import { checkBaseUrl } from '../../src/service/base-url.ts';
import type { ScheduleRequest } from '../../src/model/message-request.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { findOperation, listOperation, operations, rowOperation } from '../../src/service/operation.ts';
import { openAnswered, openClient, openPair, respond, secretId, secretKey } from './client-fixture.ts';
import { createHeldClock } from './held-clock.ts';
import { json } from './raw-server.ts';

const schedule: ScheduleRequest = {
  inboxId: 3n,
  executeAt: '2030-01-01T00:30:00Z',
  content: { text: 'hi' },
  phoneNumber: '15550100',
};

const listing = { memory: nothingLearned, size: 100 };

const endpoints = {
  ...operations,
  inboxes: listOperation(inboxes),
  contactFields: listOperation(contactFields),
  tags: listOperation(tags),
  tag: rowOperation(tags) ?? listOperation(tags),
  surveys: listOperation(surveys),
  survey: rowOperation(surveys) ?? listOperation(surveys),
};

/** One call of every endpoint. A missing one does not compile. */
const calls: Record<keyof typeof endpoints, (client: ServiceClient) => Promise<unknown>> = {
  inboxes: (client) => client.list(inboxes, { memory: nothingLearned }),
  users: (client) => client.users({ emails: ['ann@example.com'], phones: ['15550100'] }),
  updateUsers: (client) => client.updateUsers(new Map([[1n, { roleId: 4n }]])),
  team: (client) => client.team(),
  contactFields: (client) => client.list(contactFields, listing),
  tags: (client) => client.list(tags, listing),
  contactCount: (client) => client.contactCount({ filter: 'x' }),
  surveys: (client) => client.list(surveys, listing),
  survey: (client) => client.row(surveys, 5n),
  createTag: (client) => client.createTag('VIP'),
  tag: (client) => client.row(tags, 5n),
  readConversation: (client) => client.readConversation({ inboxId: 3n, userId: 1n, target: '15550100' }),
  createSchedule: (client) => client.createSchedule(schedule),
  schedule: (client) => client.schedule(5n),
  replaceSchedule: (client) => client.replaceSchedule(5n, schedule),
  cancelSchedule: (client) => client.cancelSchedule(5n),
};
const names = Object.keys(calls) as (keyof typeof calls)[];

describe('each endpoint of the client', () => {
  test.each(names)('sends %s with its method and path and a signed token', async (name) => {
    const { client, server } = await openPair(respond);
    await calls[name](client);
    const { method, path } = endpoints[name];
    const [request] = server.requests;
    expect(request).toMatchObject({ method, path: path.replace('{id}', '5') });
    const [head = '', payload = '', signature] = (request?.headers['authorization'] ?? '')
      .replace('Bearer ', '')
      .split('.');
    const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decode(head)).toEqual({ alg: 'HS256', typ: 'JWT' });
    expect(decode(payload)).toEqual({ iss: secretId, iat: Date.UTC(2030, 0, 1) / 1000 });
    const expected = createHmac('sha256', `${secretId}||${secretKey}`).update(`${head}.${payload}`);
    expect(signature).toBe(expected.digest('base64url'));
    expect(findOperation(method, path.replace('{id}', '5'))).toEqual(endpoints[name]);
  });

  test.each(names)('a read-only client sends %s if it is a read, and rejects a write (O9)', async (name) => {
    const { client, server } = await openPair(respond, { mode: 'read-only' });
    const done = await calls[name](client).then(
      () => 'sent',
      (error: unknown) => error,
    );
    if (endpoints[name].effect === 'read') expect(done).toBe('sent');
    else {
      expect(done).toMatchObject({ name: 'ServiceError', phase: 'not-sent' });
      expect(server.requests).toHaveLength(0);
      expect(server.connections()).toBe(0);
    }
  });

  test.each(['tag', 'survey', 'schedule'] as const)(
    'reading one %s returns null after a 404, and fails after a 403',
    async (name) => {
      let status = 404;
      const { client } = await openPair((socket) => socket.write(json(status, 'error')));
      expect(await calls[name](client)).toBeNull();
      status = 403;
      await expect(calls[name](client)).rejects.toMatchObject({ status: 403 });
    },
  );

  test('cancelSchedule() fails if the service answers a string other than `ok`', async () => {
    const { client } = await openAnswered(json(200, 'not ok'));
    await expect(client.cancelSchedule(5n)).rejects.toMatchObject({ phase: 'sent' });
  });
});

describe('reading and updating users', () => {
  test('users() sends an empty filter for all users, and sends nothing if the phones lack digits', async () => {
    const { client, server } = await openPair(respond);
    await client.users({ emails: [], phones: [] });
    expect(server.requests[0]?.body).toBe('{}');
    expect(await client.users({ emails: [], phones: ['+', ''] })).toEqual({
      users: [],
      rejected: [],
      requestId: null,
    });
    expect(server.requests).toHaveLength(1);
  });

  test('updateUsers() sends no request for an empty map, and throws for 26 users', async () => {
    const { client, server } = await openPair(respond);
    await client.updateUsers(new Map());
    const many = new Map(Array.from({ length: 26 }, (_, i) => [BigInt(i + 1), { roleId: 4n }]));
    await expect(client.updateUsers(many)).rejects.toThrow(RangeError);
    expect(server.requests).toHaveLength(0);
  });
});

describe('createSchedule, replaceSchedule', () => {
  const changed = (change: Partial<Record<keyof ScheduleRequest, unknown>>) =>
    ({ ...schedule, ...change }) as ScheduleRequest;
  test.each([
    [
      'no target',
      changed({ phoneNumber: undefined }),
      'exactly one of phone_number, conversation_id, list_id, targets',
    ],
    ['two targets', changed({ listId: 4n }), 'and 2 are'],
    ['an empty list of targets', changed({ phoneNumber: undefined, targets: [] }), 'targets is empty'],
    ['a phone without digits', changed({ phoneNumber: '+' }), 'phone_number holds no digits'],
    ['an empty text', changed({ content: { text: '' } }), 'content has no text'],
    ['a time without a T', changed({ executeAt: '2030-01-01 00:30' }), 'execute_at is not an RFC 3339 time'],
    ['a 13th month', changed({ executeAt: '2030-13-01T00:30:00Z' }), 'execute_at is not an RFC 3339 time'],
    ['a time at minute 31', changed({ executeAt: '2030-01-01T00:31:00Z' }), 'not on a quarter of an hour'],
    ['a time that is too soon', changed({ executeAt: '2030-01-01T00:00:00Z' }), 'less than 15 minutes ahead'],
  ])('reject a schedule with %s and send none', async (_name, request, message) => {
    const { client, server } = await openPair(respond);
    for (const send of [() => client.createSchedule(request), () => client.replaceSchedule(5n, request)]) {
      await expect(send()).rejects.toMatchObject({
        phase: 'not-sent',
        message: expect.stringContaining(message) as string,
      });
    }
    expect(server.requests).toHaveLength(0);
  });

  test.each(['2030-01-01T00:15:00Z', '2030-01-01T02:30:00.000+02:00', '2030-01-01T06:15:00+05:45'])(
    'createSchedule sends a schedule for the allowed time %s',
    async (executeAt) => {
      const { client, server } = await openPair(respond);
      const { localId } = await client.createSchedule({ ...schedule, executeAt, localId: 'mine' });
      expect(localId).toBe('mine');
      expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({
        execute_at: executeAt,
        local_id: 'mine',
      });
    },
  );

  test('createSchedule rejects a time 30 minutes ahead of our clock but 10 ahead of the service’s clock', async () => {
    const clock = createHeldClock();
    const date = new Date(clock.now() + 20 * 60_000).toUTCString();
    const { client } = await openAnswered(json(200, { id: 7, members: [] }, { Date: date }), { clock });
    await client.team();
    await expect(client.createSchedule(schedule)).rejects.toThrow('less than 15 minutes ahead');
  });
});

describe('request and requestPages', () => {
  test('request() sends method, path and body, and returns value, status and headers', async () => {
    const { client, server } = await openAnswered(json(200, { any: 1 }, { 'X-Other': 'yes' }));
    const reply = await client.request('POST', '/v1/anything?x=1', { a: 1n });
    expect(reply).toMatchObject({ status: 200, requestId: 'request-1', value: { any: 1 } });
    expect(reply.headers['x-other']).toBe('yes');
    expect(server.requests[0]).toMatchObject({ path: '/v1/anything?x=1', body: '{"a":1}' });
  });

  test.each([
    '/v2/team',
    'v1/team',
    '/v1/../admin',
    '/v1/./x',
    '//other/v1/x',
    '/v1/x y',
    '/v1/x\r\nX: y',
    '/v1/',
    '/v1/x#y',
    'https://x/v1/y',
  ])('request() and requestPages() refuse the path %s before they send anything', async (path) => {
    const { client, server } = await openPair(respond);
    await expect(client.request('GET', path)).rejects.toMatchObject({ code: 'usage' });
    await expect(client.requestPages('POST', path)).rejects.toMatchObject({ code: 'usage' });
    expect(server.requests).toHaveLength(0);
  });

  test('request() of a read-only client sends known reads and GETs, and rejects other calls', async () => {
    const { client, server } = await openAnswered(json(200, []), { mode: 'read-only' });
    await client.request('GET', '/v1/unknown');
    await client.request('POST', '/v1/tags', {});
    for (const [method, path] of [
      ['POST', '/v1/unknown'],
      ['PUT', '/v1/tags'],
      ['DELETE', '/v1/schedule/5'],
    ] as const) {
      await expect(client.request(method, path)).rejects.toMatchObject({ phase: 'not-sent' });
    }
    expect(server.requests).toHaveLength(2);
  });

  test('requestPages() reads all pages of a listing', async () => {
    const { client, server } = await openPair((socket, request) => {
      const { page, limit } = JSON.parse(request.body) as { page: number; limit: number };
      socket.write(json(200, page < 3 ? [{ id: page * limit + 1, x: 'y' }] : []));
    });
    const pages = await client.requestPages('POST', '/v1/tags', { limit: 10, filter: 'f' });
    // Pages of one row may be all that the service gives: they are asked for again, one by one.
    expect(pages).toMatchObject({ status: 'complete', requests: 7 });
    expect(pages.rows.map(({ row }) => row)).toEqual([
      { id: 1, x: 'y' },
      { id: 2, x: 'y' },
      { id: 3, x: 'y' },
    ]);
    expect(JSON.parse(server.requests[2]?.body ?? '')).toEqual({ limit: 1, filter: 'f', page: 0 });
  });
});

describe('the settings of a client', () => {
  const secret = { secretId: 'x', secretKey: createSecret('y') };
  test.each([
    ['http://service.example', 'https'],
    ['http://127.0.0.1.example', 'https'],
    ['ftp://127.0.0.1', 'https'],
    ['https://user:canary@service.example', 'a user name or a password'],
    ['https://user@service.example', 'a user name or a password'],
    ['https://service.example/?x=canary', 'a query or a fragment'],
    ['https://service.example/#', 'a query or a fragment'],
    ['service.example', 'is not a URL'],
    ['', 'is not a URL'],
  ])('checkBaseUrl rejects remote http, a login, a query and a non-URL: "%s"', (url, message) => {
    expect(() => checkBaseUrl(url)).toThrow(expect.objectContaining({ code: 'configuration' }));
    expect(() => checkBaseUrl(url)).toThrow(message);
    expect(() => checkBaseUrl(url)).not.toThrow('canary');
  });

  test.each([
    ['https://service.example', 'https://service.example', ''],
    ['https://service.example/', 'https://service.example', ''],
    ['https://service.example:8443/a/b//', 'https://service.example:8443', '/a/b'],
    ['http://localhost:80', 'http://localhost', ''],
    ['http://127.9.9.9:1', 'http://127.9.9.9:1', ''],
    ['http://[::1]:1', 'http://[::1]:1', ''],
  ])('checkBaseUrl splits %s into its origin and path prefix', (url, origin, pathPrefix) => {
    expect(checkBaseUrl(url)).toEqual({ origin, pathPrefix });
  });

  test('the client puts the path of the base URL in front of the path of each request', async () => {
    const { server } = await openPair(respond);
    const { client } = openClient(`${server.baseUrl}/gateway/`);
    await client.list(inboxes, { memory: nothingLearned });
    expect(server.requests[0]?.path).toBe('/gateway/v1/inboxes');
  });

  test.each([
    [{ credentials: { ...secret, secretId: '' } }],
    [{ credentials: { ...secret, secretKey: createSecret(' ') } }],
    [{ credentials: { apiKey: createSecret('') } }],
    [{ credentials: { apiKey: createSecret('a\r\nX: y') } }],
    [{ credentials: { ...secret, next: { ...secret, secretId: '' } } }],
    [{ rate: { perMinute: 0 } }],
    [{ rate: { share: 1.5 } }],
    [{ rate: { burst: Number.NaN } }],
    [{ http: { concurrency: 0 } }],
    [{ http: { totalDeadlineMs: -1 } }],
    [{ http: { caFile: '/does/not/exist' } }],
  ])('openClient throws for settings that cannot work, like an empty secret or a rate of 0', (options) => {
    expect(() => openClient('https://service.example', options)).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
  });

  test('accepts a secret object as the id, and keeps id and key out of events and JSON (S39)', async () => {
    const credentials = { secretId: createSecret(secretId), secretKey: createSecret(secretKey) };
    const { client, events } = await openPair(respond, { credentials });
    await client.team();
    expect(JSON.stringify({ events, credentials })).not.toMatch(/canary/);
  });
});

test('a stop signal lets the request in flight finish, and rejects the next call unsent (R2)', async () => {
  const stop = new AbortController();
  const { client, server } = await openPair(
    (socket, request) => {
      if (request.index === 0) {
        stop.abort();
        respond(socket, request);
      }
    },
    { signal: stop.signal },
  );
  expect((await client.team()).id).toBe(7n);
  await expect(client.team()).rejects.toMatchObject({ code: 'stopped' });
  expect(server.requests).toHaveLength(1);
});
