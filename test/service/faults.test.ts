/** Every row of "Network and HTTP" in docs/faults.md, as far as the client is concerned. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ServiceError } from '../../src/errors.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { createSecret } from '../../src/secret.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { defaultHttpSettings, type HttpSettings } from '../../src/service/http.ts';
import { choosePauseMs, parseRetryAfter } from '../../src/service/retry.ts';
import { eventually } from '../support/eventually.ts';
import { holdTimers } from '../support/hold-timers.ts';
import { hungAfterMs } from '../support/limits.ts';
import { createTlsGate } from '../support/tls-gate.ts';
import { type Authority, createAuthority } from './certificate.ts';
import { openAnswered, openClient, openPair, secretKey } from './client-fixture.ts';
import { createHeldClock } from './held-clock.ts';
import { answer, json, listenRaw, type RawRequest, type Respond } from './raw-server.ts';

const team = { id: 7, name: 'Team', members: [{ id: 1, name: 'Ann', role: 'admin' }] };
const patch = new Map([[1n, { roleId: 4n }]]);
const once = { retry: { attempts: 1 } };
const updated = json(200, { memberships: [{ id: 1, role_id: 4 }] });

async function failure(call: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await call.then(
    () => new Error('the call went through'),
    (reason: unknown) => reason,
  );
  return error as ServiceError;
}

const write = async (client: ServiceClient) => await failure(client.updateUsers(patch));
const read = async (client: ServiceClient) => await failure(client.team());

/** The answer to the first requests is as scripted, the answers to later ones are sound. */
function firstThen(first: Respond, then: string): Respond {
  return (socket, request) => {
    if (request.index === 0) first(socket, request);
    else socket.write(then);
  };
}

/** Both ways to end a connection: in good order, and not. */
const ends = ['FIN', 'RST'];
function writeLast(socket: Socket, text: string, end = 'RST') {
  socket.write(text, () => (end === 'FIN' ? socket.end() : socket.resetAndDestroy()));
}

const whole = json(200, team);

test('a read fails if the connection is reset after any number of bytes of the answer (N1)', async () => {
  let cut = 0;
  const { client, server } = await openPair((socket) => writeLast(socket, whole.slice(0, cut)), once);
  for (cut = 0; cut < whole.length; cut += 1) {
    expect(await read(client)).toMatchObject({ name: 'ServiceError', code: 'service', phase: 'sent' });
  }
  expect(server.requests).toHaveLength(whole.length);
});

test.each<readonly [string, Respond, number]>([
  ['in the middle of an answer', (socket) => writeLast(socket, whole.slice(0, -3)), 0],
  ['when a second call reuses it', (socket) => socket.destroy(), 1],
])('repeats a read, and fails a write, if the connection closes %s (N1, N15)', async (_, breakIt, at) => {
  const respond: Respond = (socket, request) => {
    if (request.index === at) breakIt(socket, request);
    else socket.write(request.path === '/v1/team' ? whole : updated);
  };
  const [reading, writing] = [await openPair(respond), await openPair(respond)];
  for (let calls = 0; calls <= at; calls += 1) expect((await reading.client.team()).id).toBe(7n);
  expect(reading.server.requests).toHaveLength(at + 2);
  if (at === 1) await writing.client.team();
  expect(await write(writing.client)).toMatchObject({ phase: 'sent' });
  expect(writing.server.requests).toHaveLength(at + 1);
});

describe('a chunked answer', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunks = '2\r\n"1\r\n2\r\n2"\r\n0\r\n\r\n';

  test.each(ends)('contactCount() fails if a %s ends the answer within its chunks (N2)', async (end) => {
    let cut = 0;
    const { client } = await openPair((socket) => writeLast(socket, head + chunks.slice(0, cut), end), once);
    for (cut = 1; cut < chunks.length; cut += 1)
      expect(await failure(client.contactCount({}))).toMatchObject({ code: 'service', phase: 'sent' });
  });

  test('contactCount() reads the count from complete chunks', async () => {
    const { client } = await openAnswered(head + chunks);
    expect(await client.contactCount({})).toBe(12n);
  });
});

test.each(ends)('contactCount() rejects an answer without length or chunks after a %s (N3)', async (end) => {
  const text = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n12';
  const { client } = await openPair((socket) => writeLast(socket, text, end), once);
  const error = await failure(client.contactCount({}));
  expect(error).toMatchObject({ code: 'service', phase: 'sent', status: 200 });
  expect(error.message).toContain('neither a length nor chunks');
});

describe('contactCount', () => {
  test.each(['"0"', '0', '"7"', '7', '"1234"', ' 1234 ', '"999999999999999"', '999999999999999'])(
    'accepts up to 15 digits, as a JSON number or a JSON string: %s (N4)',
    async (body) => {
      const { client } = await openAnswered(answer(200, body));
      expect(await client.contactCount({})).toBe(BigInt(body.replaceAll(/["\s]/g, '')));
    },
  );

  test.each([
    '""',
    '"1e3"',
    '1e3',
    '"0x10"',
    '"1,234"',
    '"12abc"',
    '"-1"',
    '-0',
    'null',
    '1.0',
    '"01"',
    '" 12"',
    '"12 "',
    '[12]',
    '{"count":12}',
    '9999999999999999',
    '"١٢"',
    '"12\\u0000"',
    '"\\n12"',
  ])('rejects a value other than 1 to 15 digits, or with a leading 0: %s (N4)', async (body) => {
    const { client } = await openAnswered(answer(200, body));
    expect(await failure(client.contactCount({}))).toMatchObject({ code: 'service', status: 200 });
  });
});

describe('a write without an answer', () => {
  test('fails at the deadline with phase `sent`, is not repeated, and loses its connection (N5)', async () => {
    const applied: string[] = [];
    const { client, server } = await openPair((_socket, request) => applied.push(request.body));
    const timers = holdTimers();
    const written = write(client);
    await eventually('it is there', () => applied.length === 1);
    await timers.pass(defaultHttpSettings.totalDeadlineMs);
    timers.letGo();
    expect(await written).toMatchObject({ phase: 'sent', status: undefined });
    expect(applied).toEqual(['{"users":[{"id":1,"role_id":4}]}']);
    await eventually('its connection is closed', () => server.closed() === 1);
    expect(server.requests).toHaveLength(1);
  });
});

test('a read fails at the total deadline if the answer drips in byte by byte (N7, S53)', async () => {
  let drops = 0;
  const { client, server } = await openPair(
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n');
      const timer = setInterval(() => {
        socket.write(' ');
        drops += 1;
      }, 20);
      socket.on('close', () => clearInterval(timer));
    },
    { ...once, http: { totalDeadlineMs: 300 } },
  );
  const timers = holdTimers();
  const reading = read(client);
  for (const half of [1, 2]) {
    await eventually('it drips', () => drops >= 5 * half);
    await timers.pass(150);
  }
  timers.letGo();
  const error = await reading;
  expect(error).toMatchObject({ phase: 'sent', requestId: undefined });
  expect(error.message).toContain('not finished within 300 ms');
  // The drip would go on for half an hour.
  await eventually('the connection is closed', () => server.closed() === 1);
});

describe('a server that accepts connections and never answers', () => {
  test('a read fails at the headers deadline (N8)', async () => {
    const { client } = await openPair(() => undefined, { ...once, http: { headersTimeoutMs: 100 } });
    const error = await read(client);
    expect(error).toMatchObject({ phase: 'sent' });
    expect(error.message).toContain('HEADERS_TIMEOUT');
  });

  test('a write fails unsent at the connect deadline if the TLS handshake does not finish (N8)', async () => {
    const { server } = await openPair(() => undefined);
    const { client } = openClient(server.baseUrl.replace('http:', 'https:'), {
      ...once,
      http: { connectTimeoutMs: 100 },
    });
    expect(await write(client)).toMatchObject({ phase: 'not-sent' });
  });
});

/** What proxies, portals, firewalls and other programs say in place of a service. */
const pages = [
  '<html><body>Login</body></html>',
  '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
  'It works!',
  'OK',
  '',
  '\u{feff}<html></html>',
  '%PDF-1.4',
];

describe('a write that another server answers with status 200', () => {
  test.each(pages)('fails with phase `sent` if the answer is a foreign page: %s (N9, S10)', async (page) => {
    for (const type of ['text/html', 'text/html; charset=utf-8', 'text/plain', 'application/json']) {
      const { client, server } = await openAnswered(answer(200, page, { 'Content-Type': type }), once);
      const error = await write(client);
      expect(error).toMatchObject({ code: 'service', phase: 'sent', status: 200, requestId: 'request-1' });
      if (page.length > 4) expect(`${error.message} ${error.label ?? ''}`).not.toContain(page);
      expect(server.requests).toHaveLength(1);
    }
  });
});

describe("a proxy's page with status 200 and any content type in place of an answer", () => {
  const page = (type: string) => answer(200, '<html>Back soon</html>', { 'Content-Type': type });

  test.each(['text/html', 'text/plain', 'application/json'])('makes a read repeat: %s (N9)', async (type) => {
    const { client, server } = await openPair(firstThen((socket) => socket.write(page(type)), whole));
    expect((await client.team()).id).toBe(7n);
    expect(server.requests).toHaveLength(2);
  });
});

describe('the content type of a JSON answer', () => {
  test.each(['text/html', 'text/plain', 'application/octet-stream', 'text/json', ''])(
    'a read rejects the type "%s" unless anyContentType is set (N10)',
    async (type) => {
      const named = json(200, team, { 'Content-Type': type });
      const strict = await openAnswered(named);
      const error = await read(strict.client);
      expect(error.message).toContain('is not JSON');
      expect(strict.server.requests).toHaveLength(4);
      const lax = await openAnswered(named, { http: { anyContentType: true } });
      expect((await lax.client.team()).id).toBe(7n);
    },
  );

  test.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/json;v=1',
    'application/hal+json',
  ])('a read accepts the JSON content type %s', async (type) => {
    const { client } = await openAnswered(json(200, team, { 'Content-Type': type }));
    expect((await client.team()).id).toBe(7n);
  });
});

describe('compressed answers', () => {
  test.each(['gzip', 'br', 'deflate', 'zstd', 'x-gzip', 'gzip, gzip'])(
    'a read rejects an answer with the encoding "%s", and is not repeated (N11, S52)',
    async (encoding) => {
      const { client, server } = await openAnswered(json(200, team, { 'Content-Encoding': encoding }));
      const error = await read(client);
      expect(error.message).toContain('compressed');
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
    },
  );

  test('a read accepts an answer with the encoding `identity`', async () => {
    const { client } = await openAnswered(json(200, team, { 'Content-Encoding': 'identity' }));
    expect((await client.team()).id).toBe(7n);
  });
});

describe('an answer that is longer than its limit', () => {
  test('a read fails, and closes its connection, if the answer exceeds maxResponseBytes (N12, R4)', async () => {
    const { client, server } = await openPair(
      (socket) => {
        socket.write(
          'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        );
        const more = () => {
          while (!socket.destroyed && socket.write(`4000\r\n${' '.repeat(0x4000)}\r\n`));
          socket.once('drain', more);
        };
        more();
      },
      { ...once, http: { maxResponseBytes: 100_000 } },
    );
    const error = await read(client);
    expect(error).toMatchObject({ phase: 'sent', requestId: undefined });
    expect(error.message).toContain('longer than 100000 bytes');
    await eventually('its connection is closed', () => server.closed() === 1);
  });

  test('a read reports the status of a 403 whose body is too long', async () => {
    const { client } = await openPair((socket) => {
      socket.write(answer(403, '"x"', { 'Content-Length': '9999999999' }));
      for (let i = 0; i < 20; i += 1) socket.write(' '.repeat(8_192));
    }, once);
    expect(await read(client)).toMatchObject({ phase: 'answered', status: 403 });
  });

  test('users() rejects an answer with 250,001 rows (N12)', async () => {
    const body = `{"memberships":[${'{},'.repeat(250_000)}{}]}`;
    const { client } = await openAnswered(answer(200, body));
    const error = await failure(client.users({ emails: [], phones: [] }));
    expect(error.message).toContain('250001 rows are too many');
  });
});

const body = JSON.stringify(team);
const type = 'Content-Type: application/json';
test.each([
  ['a flood of headers', `HTTP/1.1 200 OK\r\n${'X-Flood: 0123456789\r\n'.repeat(20_000)}\r\n`],
  ['two lengths', `HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n${body}`],
  [
    'a length and chunks',
    `HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['a length in words', `HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: five\r\n\r\n${body}`],
  ['garbage', 'garbage garbage garbage\r\n\r\n'],
  ['the greeting of another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
])('a call fails, and its connection is not reused, if the server sends %s (N13)', async (_name, text) => {
  const { client, server } = await openAnswered(text, { ...once, http: { totalDeadlineMs: hungAfterMs } });
  expect(await write(client)).toMatchObject({ code: 'service', phase: 'sent' });
  expect(await read(client)).toMatchObject({ code: 'service', phase: 'sent' });
  expect(server.connections()).toBe(2);
});

test.each([1, 4])('sends GETs with a body over at most %i connections (N14)', async (concurrency) => {
  const respond: Respond = (socket, request) => {
    socket.write(request.path === '/v1/users/get' ? json(200, { memberships: [] }) : json(200, team));
  };
  const { client, server } = await openPair(respond, { http: { concurrency } });
  for (let i = 0; i < 20; i += 1) {
    await client.users({ emails: ['ann@example.com'], phones: ['+1 (555) 0100'] });
    await client.team();
  }
  expect(server.connections()).toBeLessThanOrEqual(concurrency);
  const [get] = server.requests;
  expect(get).toMatchObject({ method: 'GET', path: '/v1/users/get' });
  expect(JSON.parse(get?.body ?? '')).toEqual({ email: ['ann@example.com'], phone: ['15550100'] });
});

describe('429 answers', () => {
  test('slow the client to fewer than 40 requests in 30 minutes, and the next call succeeds (N16)', async () => {
    let storming = true;
    const { client, server, clock, events } = await openPair((socket, request) => {
      if (storming) socket.write(json(429, 'too many requests'));
      else socket.write(request.path === '/v1/team' ? json(200, team) : updated);
    });
    for (let minutes = 0; minutes < 30 * 60_000; minutes = clock.monotonicMs()) {
      expect(await read(client)).toMatchObject({
        status: 429,
        label: 'too many requests',
        phase: 'answered',
      });
    }
    const pauses = events.flatMap((event) => (event.kind === 'throttled' ? [event.pauseMs] : []));
    expect(server.requests).toHaveLength(pauses.length);
    expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
    expect(pauses[1]).toBeGreaterThanOrEqual(2_000);
    expect(pauses.slice(2).every((ms) => ms >= 60_000)).toBe(true);
    expect(server.requests.length).toBeLessThan(40);
    storming = false;
    expect((await client.team()).id).toBe(7n);
    expect((await client.updateUsers(patch)).users).toHaveLength(1);
  });
});

describe('beforeSend, awaited before each request of a write', () => {
  test('runs after the wait for the rate limit, and ends the call unsent if beforeSend rejects (R6)', async () => {
    const { client, server, clock } = await openAnswered(updated, {
      rate: { burst: 1, places: { take: () => Promise.resolve(120_000), pause: () => Promise.resolve() } },
    });
    const askedAt: number[] = [];
    const old = new Error('prepared too long ago');
    const beforeSend = () => {
      askedAt.push(clock.monotonicMs());
      return Promise.reject(old);
    };
    expect(await failure(client.updateUsers(patch, { beforeSend }))).toBe(old);
    expect(askedAt).toEqual([120_000]);
    expect(server.requests).toHaveLength(0);
    await client.updateUsers(patch);
    expect(server.requests).toHaveLength(1);
  });

  test('runs again before a write is repeated with a fresh token after one 401', async () => {
    const { client, server, clock } = await openPair(
      firstThen((socket) => {
        clock.advance(60_000);
        socket.write(json(401, 'Unauthorized'));
      }, updated),
    );
    const sentBefore: number[] = [];
    const beforeSend = () => {
      sentBefore.push(server.requests.length);
      return Promise.resolve();
    };
    expect((await client.updateUsers(patch, { beforeSend })).users).toHaveLength(1);
    expect(sentBefore).toEqual([0, 1]);
    expect(new Set(server.requests.map((request) => request.headers['authorization'])).size).toBe(2);
  });
});

describe('the header Retry-After', () => {
  const facts = { inARow: 1, serviceNowMs: null, wallMs: Date.UTC(2030, 0, 1), random: () => 0.5 };

  test('choosePauseMs returns 1 s to 15 min for any text in Retry-After (N17)', () => {
    const hostile = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.constantFrom('0', '-1', '1000000000', 'Thu, 01 Jan 1970 00:00:00 GMT', ' ', 'NaN', '0x10', '٣'),
    );
    fc.assert(
      fc.property(
        fc.option(hostile),
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (header, inARow, random) => {
          const pause = choosePauseMs({ ...facts, retryAfter: header, inARow, random: () => random });
          expect(pause).toBeGreaterThanOrEqual(1_000);
          expect(pause).toBeLessThanOrEqual(900_000);
          if (inARow >= 3) expect(pause).toBeGreaterThanOrEqual(60_000);
        },
      ),
    );
  });

  test('parseRetryAfter returns ms for seconds or a date, and else null', () => {
    expect(choosePauseMs({ ...facts, retryAfter: '30' })).toBeGreaterThanOrEqual(30_000);
    expect(parseRetryAfter('30', 0)).toBe(30_000);
    expect(parseRetryAfter('Tue, 01 Jan 2030 00:01:00 GMT', Date.UTC(2030, 0, 1))).toBe(60_000);
    expect(parseRetryAfter('0', 0)).toBe(1_000);
    expect(parseRetryAfter('1000000000', 0)).toBe(900_000);
    for (const nonsense of ['-1', '1.5', '', 'soon', '1e3', '12 monkeys', null]) {
      expect(parseRetryAfter(nonsense, 0)).toBeNull();
    }
  });
});

describe('5xx answers', () => {
  test('cause 20 retries in all for 50 failing reads, since all reads share a retry budget (N18)', async () => {
    const { client, server, clock } = await openAnswered(json(500, 'error'), { random: () => 0.999 });
    for (let i = 0; i < 50; i += 1) await read(client);
    expect(server.requests.length).toBe(70);
    const backoffs = clock.slept.filter((ms) => ms > 500);
    expect(backoffs).toHaveLength(20);
  });

  test('label the error with the JSON string or the message of the body, else the error has no label', async () => {
    const labels = [
      ['<html>502</html>', undefined],
      ['', undefined],
      ['{"message":"down"}', 'down'],
      ['["a"]', undefined],
      ['"\\u001b[31mred\\u202e"', '[31mred'],
      ['"unfinished', undefined],
    ] as const;
    const { client } = await openPair((socket, request) => {
      socket.write(answer(500, labels[request.index]?.[0] ?? ''));
    }, once);
    for (const [, label] of labels) expect((await read(client)).label).toBe(label);
  });
});

/** What stands in the token of a request. */
function claimsOf(request: RawRequest) {
  const [, payload = ''] = (request.headers['authorization'] ?? '').split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss: string; iat: number };
}
const issuer = (request: RawRequest) => claimsOf(request).iss;

describe('rotation of the two secrets', () => {
  const credentials = {
    secretId: 'old',
    secretKey: createSecret('old-key'),
    next: { secretId: 'new', secretKey: createSecret('new-key') },
  };

  test.each([
    ['old', 'new'],
    ['new', 'old'],
  ])('a refusal of the %s secret makes the client use the %s secret (N20)', async (revoked, other) => {
    let revokedYet = false;
    const { client, server, events } = await openPair(
      (socket, request) => {
        if (revokedYet && issuer(request) === revoked) socket.write(json(401, 'Unauthorized'));
        else socket.write(request.path === '/v1/inboxes' ? json(200, []) : updated);
      },
      { credentials },
    );
    if (revoked === 'new') await client.checkCredentials();
    await client.updateUsers(patch);
    expect(issuer(server.requests.at(-1) as RawRequest)).toBe(revoked);
    revokedYet = true;
    await client.updateUsers(patch);
    await client.updateUsers(patch);
    expect(server.requests.slice(-4).map(issuer)).toEqual([revoked, revoked, other, other]);
    expect(events.filter((event) => event.kind === 'warning')).toMatchObject([{ code: 'secret-refused' }]);
    expect(client.credentials().find((report) => report.inUse)?.credential).toBe(
      other === 'new' ? 'next' : 'current',
    );
  });

  test('the client fails a write if the service refuses both secrets (N19)', async () => {
    const { client, server } = await openAnswered(json(401, 'Unauthorized'), { credentials });
    expect(await write(client)).toMatchObject({ code: 'credentials' });
    expect(server.requests.map(issuer)).toEqual(['old', 'old', 'new']);
  });

  test('checkCredentials() switches to an accepted next secret, and reports both secrets (N20, S43)', async () => {
    const { client, server, clock } = await openAnswered(json(200, []), { credentials });
    await client.list(inboxes, { memory: nothingLearned });
    const lastNeeded = clock.now();
    clock.advance(1_000);
    expect(await client.checkCredentials()).toEqual([
      { credential: 'current', accepted: true, inUse: false, lastNeededMs: lastNeeded },
      { credential: 'next', accepted: true, inUse: true, lastNeededMs: null },
    ]);
    await client.list(inboxes, { memory: nothingLearned });
    expect(server.requests.map(issuer)).toEqual(['old', 'old', 'new', 'new']);
    expect(client.credentials()).toMatchObject([{ lastNeededMs: lastNeeded }, { lastNeededMs: clock.now() }]);
  });

  test.each([
    ['accepts the secret after a 200', json(200, { id: 41 }), true],
    ['rejects the secret after a 401', json(401, 'Unauthorized'), false],
  ])('checkCredentials() reads the team after a 404 for the inboxes, and %s', async (_, answer, accepted) => {
    const { client, server } = await openPair((socket, request) =>
      socket.write(request.path === '/v1/team' ? answer : json(404, 'Not Found')),
    );
    expect(await client.checkCredentials()).toMatchObject([{ credential: 'current', accepted }]);
    expect(server.requests.map(({ path }) => path).slice(0, 2)).toEqual(['/v1/inboxes', '/v1/team']);
  });
});

describe("a clock that differs from the service's clock", () => {
  /** A service that takes a token from 0 to 300 s old by its own clock. */
  const judge =
    (serviceNow: () => number): Respond =>
    (socket, request) => {
      const age = serviceNow() / 1000 - claimsOf(request).iat;
      const date = { Date: new Date(serviceNow()).toUTCString() };
      socket.write(age > -5 && age < 300 ? json(200, team, date) : json(401, 'Unauthorized', date));
    };

  test.each([-600, -60, 60, 600])(
    'makes the client measure, report and correct a difference of %i s (N21)',
    async (seconds) => {
      const clock = createHeldClock();
      const { client, server, events } = await openPair(
        judge(() => clock.now() - seconds * 1000),
        { clock },
      );
      for (let i = 0; i < 10; i += 1) {
        expect((await client.team()).id).toBe(7n);
        clock.advance(100_000);
      }
      expect(server.requests.length).toBeLessThanOrEqual(12);
      expect(Math.round((client.clockOffsetMs() ?? 0) / 1000)).toBeCloseTo(-seconds, -1);
      expect(events.filter((event) => event.kind === 'warning')).toMatchObject([{ code: 'clock-skew' }]);
    },
  );

  test('makes the client warn and its calls fail if it exceeds 15 minutes (N21)', async () => {
    const clock = createHeldClock();
    const { client, events } = await openPair(
      judge(() => clock.now() + 1_000_000),
      { clock },
    );
    expect(await read(client)).toMatchObject({ code: 'credentials' });
    const warning = events.find((event) => event.kind === 'warning');
    expect(warning?.message).toMatch(/100[01] s behind the service's; too far to be corrected/);
  });
});

test.each([
  ['a host name that does not resolve', 'https://does-not-exist.invalid', 'no connection to the service'],
  ['a port that refuses the connection', 'http://127.0.0.1:9', 'ECONNREFUSED'],
])('tries a write to %s twice, and fails with phase `not-sent` (N22)', async (_, baseUrl, words) => {
  const { client, events } = openClient(baseUrl, { retry: { attempts: 2 } });
  const error = await write(client);
  expect(error).toMatchObject({ phase: 'not-sent', status: undefined });
  expect(error.message).toContain(words);
  expect(events.map((event) => event.kind)).toEqual(['request', 'retry', 'request']);
});

let authority: Authority;
let directory: string;
let caFile: string;
beforeAll(() => {
  authority = createAuthority();
  directory = mkdtempSync(join(tmpdir(), 'musterd-test-'));
  caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, authority.certPem);
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe('atStart, called before the first byte of an update', () => {
  const openGate = async (http: Partial<HttpSettings> = {}) => {
    const server = await listenRaw((socket) => socket.write(updated));
    onTestFinished(() => server.close());
    const gate = await createTlsGate(
      { host: '127.0.0.1', port: server.port },
      authority.issue({ host: '127.0.0.1' }),
    );
    onTestFinished(() => gate.close());
    return { server, gate, ...openClient(`https://127.0.0.1:${gate.port}`, { http: { caFile, ...http } }) };
  };

  test('stops the update before a byte is sent if atStart throws after a slow TLS handshake (R6)', async () => {
    const { client, server, gate, clock, events } = await openGate();
    const old = new Error('prepared too long ago');
    const atStart = () => {
      if (clock.monotonicMs() > 0) throw old;
    };
    gate.shut();
    const failed = failure(client.updateUsers(patch, { atStart }));
    await eventually('it waits for the handshake', () => gate.waiting() === 1);
    clock.advance(1);
    gate.open();
    expect(await failed).toBe(old);
    // What comes over the next connection shows what came over this one.
    await client.updateUsers(patch);
    expect(server.requests).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === 'request')).toHaveLength(1);
  });

  test('does not run for an update past its deadline, and runs for the next update', async () => {
    const { client, server, gate } = await openGate({ connectTimeoutMs: 2 * hungAfterMs });
    gate.shut();
    const asked: string[] = [];
    const timers = holdTimers();
    const failed = failure(client.updateUsers(patch, { atStart: () => asked.push('late') }));
    let isOver = false;
    void failed.then(() => {
      isOver = true;
    });
    await eventually('it waits for the handshake', () => gate.waiting() === 1);
    // What was not sent is tried again, with a deadline of its own.
    await eventually('it gives up', async () => {
      await timers.pass(defaultHttpSettings.totalDeadlineMs);
      return isOver;
    });
    timers.letGo();
    expect(await failed).toMatchObject({ phase: 'not-sent' });
    gate.open();
    await client.updateUsers(patch, { atStart: () => asked.push('next') });
    expect(asked).toEqual(['next']);
    expect(server.requests).toHaveLength(1);
  });

  test('runs before each update on a kept connection, and stops an update if atStart throws', async () => {
    const { client, server } = await openGate();
    const old = new Error('prepared too long ago');
    let asked = 0;
    const atStart = () => {
      asked += 1;
      if (asked === 2) throw old;
    };
    await client.updateUsers(patch, { atStart });
    expect(await failure(client.updateUsers(patch, { atStart }))).toBe(old);
    await client.updateUsers(patch, { atStart });
    expect(asked).toBe(3);
    expect(server.requests).toHaveLength(2);
  });

  test('runs once for an update that ends with a reset, and the update fails as `sent`', async () => {
    const { client, server } = await openPair((socket) => socket.resetAndDestroy(), once);
    let asked = 0;
    const atStart = () => {
      asked += 1;
      if (asked > 1) throw new Error('not again');
    };
    expect(await failure(client.updateUsers(patch, { atStart }))).toMatchObject({ phase: 'sent' });
    expect({ asked, sent: server.requests.length }).toEqual({ asked: 1, sent: 1 });
  });
});

describe('TLS certificates', () => {
  async function openTls(issued: { key: string; cert: string }, http: { caFile?: string } = {}) {
    const server = await listenRaw((socket) => socket.write(updated), issued);
    onTestFinished(() => server.close());
    return { server, ...openClient(server.baseUrl, { http }) };
  }

  test('the client trusts a private authority whose certificate is in caFile', async () => {
    const { client, server } = await openTls(authority.issue({ host: '127.0.0.1' }), { caFile });
    expect((await client.updateUsers(patch)).users).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['expired', () => authority.issue({ host: '127.0.0.1', expired: true }), true],
    ['for another host', () => authority.issue({ host: 'other.example' }), true],
    ['from an unknown authority', () => authority.issue({ host: '127.0.0.1' }), false],
  ])(
    'the client fails a write unsent, without a repeat, if the certificate is %s (N23, S51)',
    async (_name, issue, trusted) => {
      const { client, server, events } = await openTls(issue(), trusted ? { caFile } : {});
      const error = await write(client);
      expect(error).toMatchObject({ phase: 'not-sent' });
      expect(error.message).toContain('no trusted TLS connection');
      expect(server.requests).toHaveLength(0);
      expect(events.map((event) => event.kind)).toEqual(['request']);
    },
  );

  test('the client verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0 (N23, S3)', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const { client, server } = await openTls(authority.issue({ host: '127.0.0.1' }));
      expect(await write(client)).toMatchObject({ phase: 'not-sent' });
      expect(server.requests).toHaveLength(0);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });
});

test.each([301, 302, 303, 307, 308])(
  'fails a write after a %i, and follows no redirect, whether to the same host or another host (N24, S4)',
  async (status) => {
    const other = await openAnswered(updated);
    for (const location of [
      `${other.server.baseUrl}/v1/users/update?secret=1`,
      '/elsewhere',
      'nonsense://%%',
      '',
    ]) {
      const { client, server } = await openAnswered(answer(status, '', { Location: location }));
      const error = await write(client);
      expect(error).toMatchObject({ code: 'service', phase: 'sent', status });
      expect(error.message).toContain(`a redirect to ${location.startsWith('http') ? '127.0.0.1' : ''}`);
      expect(error.message).not.toContain('secret=1');
      expect(server.requests).toHaveLength(1);
    }
    expect(other.server.requests).toHaveLength(0);
  },
);

const old = {
  id: 1,
  name: 'Ann',
  updated_at: '2020-01-01T00:00:00Z',
  user_updated_at: '2020-01-01T00:00:00Z',
};

test('reads the users of a cached answer, but does not correct the clock by the `Date` of that answer (N25)', async () => {
  const headers = { Age: '3600', Date: 'Wed, 01 Jan 2020 00:00:00 GMT' };
  const { client } = await openAnswered(json(200, { memberships: [old] }, headers));
  const { users } = await client.users({ emails: [], phones: [] });
  expect(users).toEqual([
    { id: 1n, name: 'Ann', updatedAt: old.updated_at, userUpdatedAt: old.user_updated_at, raw: {} },
  ]);
  expect(client.clockOffsetMs()).toBeNull();
});

test('keeps tokens and the key out of errors and events if a server repeats tokens in its answers (S7)', async () => {
  const { client, server, events } = await openPair((socket, request) => {
    const said = request.headers['authorization'] ?? '';
    const [, token = ''] = said.split(' ');
    const status = [400, 500, 302, 200, 401][request.index % 5] ?? 200;
    const headers = { 'X-Request-Id': said, Location: `https://${token}/`, 'Retry-After': said };
    const type = status === 200 ? { 'Content-Type': said } : {};
    socket.write(json(status, `${'x'.repeat(150)}${said}`, { ...headers, ...type }));
  }, once);
  const errors: ServiceError[] = [];
  for (let i = 0; i < 5; i += 1) errors.push(await read(client));
  const told = `${JSON.stringify(events)} ${errors.map((error) => `${error.stack ?? ''} ${JSON.stringify(error)}`).join(' ')}`;
  for (const request of server.requests) {
    const token = request.headers['authorization']?.replace('Bearer ', '') ?? '';
    expect(token).not.toBe('');
    expect(told.toLowerCase()).not.toContain(token.toLowerCase().slice(0, 20));
  }
  expect(told).not.toContain(secretKey);
});
