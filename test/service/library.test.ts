/** The client as other programs import it: docs/client.md. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import type { ListedResource } from '../../src/model/listed-resource.ts';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import {
  type Client,
  type ClientOptions,
  createClient,
  type OnEvent,
  type Tag,
} from '../../src/service/library/create-client.ts';
import { openEmulator, secretId, secretKey } from './client-fixture.ts';
import { answer, json, listenRaw, type Respond } from './raw-server.ts';

const quarterMs = 900_000;
/** The third quarter of an hour from now: before the second there may be too little time by the time it is asked for. */
const soon = () => new Date((Math.floor(Date.now() / quarterMs) + 3) * quarterMs).toISOString();

function open(baseUrl: string, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ baseUrl, secretId, secretKey, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function openEmulated(options: EmulatorOptions = {}, clientOptions: Partial<ClientOptions> = {}) {
  const emulator = await openEmulator(options);
  return { emulator, client: open(emulator.url, clientOptions) };
}

async function openRaw(respond: Respond, options: Partial<ClientOptions> = {}) {
  const server = await listenRaw(respond);
  onTestFinished(() => server.close());
  return { server, client: open(server.baseUrl, options) };
}

const openAnswered = (text: string, options?: Partial<ClientOptions>) =>
  openRaw((socket) => socket.write(text), options);

/** The names that a row of a resource has in JavaScript. */
const namesOf = (resource: ListedResource) =>
  ['id', 'raw', ...Object.keys(resource.columns)]
    .map((name) => name.replaceAll(/_\w/g, (part) => part.slice(1).toUpperCase()))
    .toSorted();

/** The rows of a page that was asked for, each full. */
function pageOf(body: string) {
  const { page, limit } = JSON.parse(body) as { page: number; limit: number };
  return { page, rows: Array.from({ length: limit }, (_, at) => ({ id: page * limit + at + 1 })) };
}

const namesIn = (row: object | null | undefined) => Object.keys(row ?? {}).toSorted();

test.each(['../tag/5', '5/../6', '', '-1', '1.5'])(
  'the client rejects the id "%s", which would change the path, before it sends a request',
  async (id) => {
    const { server, client } = await openRaw(() => json(200, {}));
    const given = id as unknown as bigint;
    for (const asks of [
      client.tag(given),
      client.survey(given),
      client.schedule(given),
      client.cancelSchedule(given),
    ])
      await expect(asks).rejects.toMatchObject({
        phase: 'not-sent',
        message: expect.stringContaining('an id must be digits only') as string,
      });
    expect(server.requests).toEqual([]);
  },
);

describe('the methods of a client', () => {
  test('inboxes(), contactFields(), surveys() and tags() return all documented fields', async () => {
    const { client } = await openEmulated();
    const [inbox] = await client.inboxes();
    expect(namesIn(inbox)).toEqual(namesOf(inboxes));
    expect(inbox).toMatchObject({
      name: expect.any(String) as string,
      allowedDomains: expect.any(Array) as [],
    });
    const team = await client.team();
    expect(team.members).toHaveLength(30);
    const [field] = await Array.fromAsync(client.contactFields());
    expect(namesIn(field)).toEqual(namesOf(contactFields));
    const [survey] = await Array.fromAsync(client.surveys());
    expect(namesIn(survey)).toEqual(namesOf(surveys));
    expect(await client.survey(survey?.id ?? 0n)).toMatchObject({
      name: survey?.name,
      question: expect.any(String) as string,
    });
    const [tag] = await Array.fromAsync(client.tags());
    expect(namesIn(tag)).toEqual(namesOf(tags));
    expect(await client.tag(tag?.id ?? 0n)).toEqual(tag);
    expect(await client.tag(999_999_999n)).toBeNull();
    expect(await client.contactCount()).toBe(1_234);
  });

  test('users() finds a user by email, and updateUsers() sends only the given fields', async () => {
    const { client, emulator } = await openEmulated();
    const { users } = await client.users({});
    expect(users).toHaveLength(30);
    const [user] = users;
    if (user === undefined) throw new Error('no user');
    const { requestId, ...found } = await client.users({ emails: [user.email ?? ''] });
    expect(found).toEqual({ users: [user], rejected: [] });
    expect(requestId).toMatch(/./);
    const name = { first: 'Robin', last: 'Doe' };
    const updated = await client.updateUsers([{ id: user.id, name, phone: '+1 555 0100' }]);
    expect(updated.users[0]).toMatchObject({ name: 'Robin Doe', phone: '15550100', email: user.email });
    const sent = emulator.requests.at(-1)?.body;
    expect(sent).toEqual({
      users: [{ id: Number(user.id), first_name: 'Robin', last_name: 'Doe', phone: '15550100' }],
    });
    await expect(client.updateUsers([{ id: 1n }, { id: 1n }])).rejects.toThrow(RangeError);
  });

  test('create a tag, mark a conversation as read, and create, replace and cancel a schedule', async () => {
    const { client } = await openEmulated();
    const { id } = await client.createTag('VIP');
    expect(await client.tag(id)).toMatchObject({ id, tag: 'VIP' });
    const [inbox] = await client.inboxes();
    const inboxId = inbox?.id ?? 0n;
    const [userId = 0n] = inbox?.members ?? [];
    const read = await client.markConversationRead({ inboxId, userId, target: '15550100' });
    expect(read).toEqual(expect.any(String));
    const request = { inboxId, executeAt: soon(), content: { text: 'hello' }, phoneNumber: '15550100' };
    const created = await client.createSchedule(request);
    expect(created.localId).toMatch(/./);
    expect(await client.schedule(created.id)).toMatchObject({ inboxId, localId: created.localId });
    await client.replaceSchedule(created.id, { ...request, content: { text: 'later' } });
    expect((await client.schedule(created.id))?.meta?.content?.text).toBe('later');
    await client.cancelSchedule(created.id);
    expect(await client.schedule(created.id)).toBeNull();
  });

  test('users() returns null for a missing or mistyped field, and a mistyped value in `raw`', async () => {
    const { client } = await openAnswered(json(200, { memberships: [{ id: 1, name: ['Ann'], role_id: 4 }] }));
    const { users } = await client.users({ emails: ['ann@example.com'] });
    expect(users).toEqual([
      expect.objectContaining({ id: 1n, name: null, email: null, roleId: 4n, raw: { name: ['Ann'] } }),
    ]);
  });
});

describe('listings, read row by row', () => {
  test('tags() returns each tag once, and a second call of tags() sends fewer requests', async () => {
    const { client, emulator } = await openEmulated({ variants: { pages: 'base-1-empty' } });
    const first = await Array.fromAsync(client.tags());
    expect(new Set(first.map(({ id }) => id)).size).toBe(45);
    const asked = emulator.requests.length;
    expect(await Array.fromAsync(client.tags())).toEqual(first);
    expect(emulator.requests.length - asked).toBeLessThan(asked);
  });

  test('tags() sends its filter with the request for each page', async () => {
    const bodies: object[] = [];
    const { client } = await openRaw((socket, { body }) => {
      bodies.push(JSON.parse(body) as object);
      socket.write(json(200, []));
    });
    await Array.fromAsync(client.tags({ pageSize: 30, filter: { archived: true, filter: 'x' } }));
    expect(bodies).toEqual([0, 1].map((page) => ({ archived: true, filter: 'x', limit: 30, page })));
  });

  test('tags() yields rows while pages arrive, and requests fewer than 12 pages ahead', async () => {
    const pages = new Set<number>();
    const respond: Respond = (socket, { path, body }) => {
      if (path.endsWith('/count')) return socket.write(answer(200, '"5"'));
      const { page, rows } = pageOf(body);
      pages.add(page);
      return socket.write(json(200, page < 60 ? rows : []));
    };
    const { client } = await openRaw(respond, { rate: { perMinute: 1_000_000, burst: 200 } });
    const taken: Tag[] = [];
    for await (const tag of client.tags({ pageSize: 250 })) {
      taken.push(tag);
      if (taken.length > 1) continue;
      // Meanwhile all pages could come.
      for (let calls = 0; calls < 60; calls += 1) await client.contactCount();
      // Four may wait to be taken, and four were under way.
      expect(pages.size).toBeLessThan(12);
    }
    expect(taken.map(({ id }) => Number(id))).toEqual(Array.from({ length: 15_000 }, (_, at) => at + 1));
  });

  test('tags() requests no page after a `break` ends the loop', async () => {
    const { client, server } = await openRaw((socket, { body }) => {
      const { page, rows } = pageOf(body);
      // The third page and those after it are never answered.
      if (page < 2) socket.write(json(200, rows));
    });
    for await (const tag of client.tags({ pageSize: 50 })) if (tag.id === 70n) break;
    const asked = server.requests.length;
    await client.close();
    expect(server.requests).toHaveLength(asked);
  });

  test('tags() yields all readable rows, and then throws if one row could not be read', async () => {
    const { client } = await openRaw((socket, { body }) => {
      socket.write(json(200, pageOf(body).page === 0 ? [{ id: 1, tag: 'a' }, { id: 'none' }] : []));
    });
    const taken: (bigint | null)[] = [];
    const reading = (async () => {
      for await (const { id } of client.tags()) taken.push(id);
    })();
    await expect(reading).rejects.toMatchObject({
      name: 'ServiceError',
      message: 'POST /v1/tags: the listing is incomplete: 1 rows could not be taken',
    });
    expect(taken).toEqual([1n]);
  });

  test('tags() and inboxes() throw an error with status 404 if the service answers 404', async () => {
    const { client } = await openAnswered(json(404, 'error'));
    await expect(client.tags().next()).rejects.toMatchObject({ status: 404, requestId: 'request-1' });
    await expect(client.inboxes()).rejects.toMatchObject({ status: 404, requestId: 'request-1' });
  });
});

describe('the options of createClient', () => {
  test.each([
    ['a base URL with http', { baseUrl: 'http://service.example.net', secretId, secretKey }],
    ['no secret', { baseUrl: 'https://service.example.net' }],
    ['a secret id without its key', { baseUrl: 'https://service.example.net', secretId }],
  ])('createClient throws a configuration error for %s', (_, options) => {
    expect(() => createClient(options)).toThrow(expect.objectContaining({ code: 'configuration' }));
  });

  test('the client uses the secret `next` once the service refuses the first secret', async () => {
    const next = { secretId: 'the-next', secretKey: 'the-next-key' };
    const { client } = await openEmulated(
      { secrets: [{ id: next.secretId, key: next.secretKey }] },
      { next },
    );
    expect(await client.contactCount()).toBe(1_234);
  });

  test('createClient sends a legacy API key unchanged, and reports a warning to onEvent', async () => {
    const warnings: string[] = [];
    const onEvent: OnEvent = (event) => {
      if (event.kind === 'warning') warnings.push(event.code);
    };
    const legacy = { secretKey: undefined, apiKey: 'legacy-key', onEvent };
    const { client } = await openEmulated({ apiKey: 'legacy-key' }, legacy);
    expect(await client.contactCount()).toBe(1_234);
    expect(warnings).toEqual(['legacy-api-key']);
  });

  test('createClient uses the default of an option that is undefined', async () => {
    const { client } = await openEmulated(
      {},
      { concurrency: undefined as unknown as number, rate: undefined },
    );
    expect((await client.team()).members).toHaveLength(30);
  });

  test('a read-only client rejects a write before it sends anything', async () => {
    const { client, server } = await openRaw(() => {}, { readOnly: true });
    await expect(client.createTag('VIP')).rejects.toMatchObject({ phase: 'not-sent' });
    expect(server.requests).toEqual([]);
  });
});

describe('cancelling a call by its signal', () => {
  const reason = new Error('the person went away');
  const cancelled = { name: 'ServiceError', code: 'stopped', cause: reason };
  const unsent = { ...cancelled, phase: 'not-sent' };

  test('a call sends nothing if it is cancelled before it begins', async () => {
    const { client, server } = await openRaw(() => {});
    const signal = AbortSignal.abort(reason);
    await expect(client.createTag('VIP', { signal })).rejects.toMatchObject(unsent);
    await expect(client.tags({ signal }).next()).rejects.toMatchObject(unsent);
    expect(server.requests).toEqual([]);
  });

  test('a call in flight rejects with phase `sent` when it is cancelled', async () => {
    const stop = new AbortController();
    const { client, server } = await openRaw(() => stop.abort(reason));
    await expect(client.createTag('VIP', { signal: stop.signal })).rejects.toMatchObject({
      ...cancelled,
      phase: 'sent',
    });
    expect(server.requests).toHaveLength(1);
  });

  test('a queued call rejects unsent when it is cancelled, and the call before it succeeds', async () => {
    const stop = new AbortController();
    const waiting: (() => void)[] = [];
    const { client, server } = await openRaw(
      (socket) => waiting.push(() => socket.write(answer(200, '"5"'))),
      { concurrency: 1 },
    );
    const first = client.contactCount();
    const second = client.contactCount({}, { signal: stop.signal });
    stop.abort(reason);
    await expect(second).rejects.toMatchObject(unsent);
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    expect(await first).toBe(5);
    expect(server.requests).toHaveLength(1);
  });

  test('a call that waits for the rate limit rejects when it is cancelled, and the next call succeeds', async () => {
    const stop = new AbortController();
    const { client } = await openAnswered(answer(200, '"5"'), {
      rate: { perMinute: 240, burst: 1 },
    });
    await client.contactCount();
    const second = client.contactCount({}, { signal: stop.signal });
    const third = client.contactCount();
    stop.abort(reason);
    await expect(second).rejects.toMatchObject(unsent);
    expect(await third).toBe(5);
  });

  test('a call that pauses before a retry rejects when it is cancelled, and sends no retry', async () => {
    const stop = new AbortController();
    const { client, server } = await openAnswered(json(500, 'error'), {
      retry: { baseMs: 900_000_000, maxMs: 900_000_000 },
      onEvent: ({ kind }) => {
        if (kind === 'retry') setImmediate(() => stop.abort(reason));
      },
    });
    await expect(client.team({ signal: stop.signal })).rejects.toMatchObject(cancelled);
    expect(server.requests).toHaveLength(1);
  });

  test('a call returns its answer if it is cancelled after the answer arrived', async () => {
    const stop = new AbortController();
    const { client } = await openAnswered(json(200, { id: 5 }), {
      onEvent: ({ kind }) => {
        if (kind === 'request') stop.abort(reason);
      },
    });
    expect(await client.createTag('VIP', { signal: stop.signal })).toMatchObject({ id: 5n });
  });

  test('a listing that waits for its next page rejects when it is cancelled', async () => {
    const stop = new AbortController();
    const { client } = await openRaw((socket, { body }) => {
      const { page, rows } = pageOf(body);
      if (page > 1) stop.abort(reason);
      else socket.write(json(200, rows));
    });
    const taken: bigint[] = [];
    const reading = (async () => {
      for await (const { id } of client.tags({ pageSize: 50, signal: stop.signal })) taken.push(id);
    })();
    await expect(reading).rejects.toMatchObject(cancelled);
    expect(taken).toHaveLength(100);
  });
});

describe('closing a client', () => {
  test('close() lets requests in flight finish, and rejects waiting and later calls', async () => {
    const { client, server } = await openAnswered(answer(200, '"5"'), {
      concurrency: 1,
    });
    const first = client.contactCount();
    await expect.poll(() => server.requests.length).toBe(1);
    const second = client.contactCount();
    const refused = expect(second).rejects.toMatchObject({ code: 'stopped' });
    await client.close();
    expect(await first).toBe(5);
    await refused;
    await expect(client.contactCount()).rejects.toMatchObject({ code: 'stopped' });
    expect(server.requests).toHaveLength(1);
  });

  test('`await using` closes all connections when its block ends', async () => {
    const { server } = await openAnswered(answer(200, '"5"'));
    {
      await using client = open(server.baseUrl);
      expect(await client.contactCount()).toBe(5);
    }
    await expect.poll(() => server.closed()).toBe(server.connections());
  });
});
