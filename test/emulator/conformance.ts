import { ok, deepStrictEqual as same } from 'node:assert/strict';
import { type Called, token } from './call.ts';
import type { PlainClient } from './plain-client.ts';

/**
 * What interface.md says, asked of a service over plain HTTP. It assumes nothing that the interface leaves
 * open, so it can be run against any deployment; the checks with `writes` change things there and put
 * them back where the interface allows it.
 */
export interface Check {
  readonly name: string;
  /** The place in interface.md. */
  readonly sentence: string;
  readonly writes: boolean;
  /** Throws an AssertionError when the service does otherwise. */
  readonly run: (client: PlainClient) => Promise<void>;
}

type Row = Readonly<Record<string, unknown>>;

function read(name: string, sentence: string, run: Check['run']): Check {
  return { name, sentence, writes: false, run };
}

function write(name: string, sentence: string, run: Check['run']): Check {
  return { name, sentence, writes: true, run };
}

const reads = [
  ['GET /v1/inboxes', undefined],
  ['GET /v1/team', undefined],
  ['POST /v1/contact-fields', { limit: 5, page: 1 }],
  ['POST /v1/tags', { limit: 5, page: 1 }],
  ['POST /v1/contacts/count', {}],
  ['POST /v1/surveys', { limit: 5, page: 1 }],
] as const;

const listings = ['/v1/contact-fields', '/v1/tags', '/v1/surveys'] as const;
const nobody = 'nobody-has-this-address@conformance.invalid';

async function rows(client: PlainClient, operation: string, body?: unknown): Promise<readonly Row[]> {
  const answer = await client.send(operation, body);
  same([operation, answer.status], [operation, 200]);
  ok(Array.isArray(answer.json), `${operation} answers an array`);
  const listed = answer.json as Row[];
  for (const row of listed) ok(Number.isInteger(row['id']), `${operation}: each row has an integer id`);
  return listed;
}

async function team(client: PlainClient): Promise<Row & { readonly members: readonly Row[] }> {
  const answer = await client.send('GET /v1/team');
  same(answer.status, 200);
  return answer.json as Row & { readonly members: readonly Row[] };
}

async function memberships(client: PlainClient, operation: string, body: unknown): Promise<readonly Row[]> {
  const answer = await client.send(operation, body);
  same([operation, answer.status, answer.text.slice(0, 1)], [operation, 200, '{']);
  const { memberships: users } = answer.json as { readonly memberships: readonly Row[] };
  ok(Array.isArray(users), 'memberships is an array');
  for (const user of users) ok(Number.isInteger(user['id']), 'each user has an integer id');
  return users;
}

/** Users whom the service shows without being asked for anyone; it may show none (note 5). */
async function shownUsers(client: PlainClient): Promise<readonly Row[]> {
  const answer = await client.send('GET /v1/users/get', {});
  ok(answer.status === 200 || answer.status === 400, `status ${answer.status}`);
  if (answer.status === 400) return [];
  return (answer.json as { readonly memberships: readonly Row[] }).memberships;
}

function isError(answer: Called, status: number, label: string): void {
  same([answer.status, answer.json], [status, label]);
  ok(answer.headers['x-request-id'], 'errors carry X-Request-Id too');
}

const readChecks: readonly Check[] = [
  read('each reading endpoint answers 200 with JSON', 'General rules 1; Endpoints', async (client) => {
    for (const [operation, body] of reads) {
      const answer = await client.send(operation, body);
      same([operation, answer.status], [operation, 200]);
      ok(String(answer.headers['content-type']).startsWith('application/json'), `${operation} is JSON`);
      ok(answer.json !== undefined);
    }
  }),
  read('every response carries a unique X-Request-Id', 'General rules 3', async (client) => {
    const ids = new Set<unknown>();
    for (const [operation, body] of reads) {
      for (const bearer of [undefined, null]) {
        const answer = await client.send(operation, body, bearer);
        ok(answer.headers['x-request-id'], `${operation} ${answer.status}`);
        ids.add(answer.headers['x-request-id']);
      }
    }
    same(ids.size, reads.length * 2);
  }),
  read(
    'missing, invalid and expired credentials get 401 Unauthorized',
    'Authentication; Errors',
    async (client) => {
      const { secret } = client.target;
      const nowS = Math.floor(Date.now() / 1000);
      const [header, payload] = token(secret).split('.');
      const bad = [
        null,
        'x',
        `${header}.${payload}.AAAA`,
        token({ ...secret, key: 'not the key' }),
        token({ id: 'not-an-id', key: secret.key }),
        token(secret, { iat: nowS - 360 }),
      ];
      for (const bearer of bad)
        isError(await client.send('GET /v1/inboxes', undefined, bearer), 401, 'Unauthorized');
      for (const [operation, body] of reads)
        isError(await client.send(operation, body, null), 401, 'Unauthorized');
    },
  ),
  read('the service accepts a token twice, and with further claims', 'API Secret JWT 7', async (client) => {
    const nowS = Math.floor(Date.now() / 1000);
    const bearer = token(client.target.secret, { iat: nowS - 200, exp: nowS + 100 });
    for (let at = 0; at < 2; at += 1)
      same((await client.send('GET /v1/inboxes', undefined, bearer)).status, 200);
  }),
  read('the service accepts the legacy API key if one is set', 'Legacy team API key', async (client) => {
    const { apiKey } = client.target;
    if (apiKey !== undefined) same((await client.send('GET /v1/inboxes', undefined, apiKey)).status, 200);
  }),
  read('the team has an id and members with id, name and role', 'Team', async (client) => {
    const { id, members } = await team(client);
    ok(Number.isInteger(id));
    for (const member of members) {
      ok(
        Number.isInteger(member['id']) &&
          typeof member['name'] === 'string' &&
          typeof member['role'] === 'string',
      );
    }
    same(new Set(members.map((member) => member['id'])).size, members.length);
  }),
  read('inboxes have members by id and phones', 'Inbox', async (client) => {
    for (const inbox of await rows(client, 'GET /v1/inboxes')) {
      ok(Array.isArray(inbox['members']) && inbox['members'].every((id) => Number.isInteger(id)));
      ok(Array.isArray(inbox['phones']) && inbox['phones'].every((phone) => typeof phone === 'string'));
    }
  }),
  read('users/get reads its filter from the body of a GET', 'Endpoints, note 1', async (client) => {
    same(await memberships(client, 'GET /v1/users/get', { email: [nobody] }), []);
    const known = (await shownUsers(client)).find(
      (user) => typeof user['email'] === 'string' && user['email'] !== '',
    );
    if (known === undefined) return;
    const found = await memberships(client, 'GET /v1/users/get', { email: [known['email'], nobody] });
    ok(found.some((user) => user['id'] === known['id'] && user['email'] === known['email']));
  }),
  read('users/get answers users with fields of the documented types', 'User', async (client) => {
    for (const user of (await shownUsers(client)).slice(0, 500)) {
      same(typeof user['name'], 'string');
      for (const key of ['email', 'phone'])
        ok(['string', 'undefined'].includes(typeof (user[key] ?? '')), key);
      ok(user['role_id'] === undefined || Number.isInteger(user['role_id']));
      for (const key of ['created_at', 'updated_at', 'user_created_at', 'user_updated_at']) {
        if (typeof user[key] === 'string')
          ok(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(user[key]), `${key} is ISO 8601 UTC`);
      }
    }
  }),
  read('listings answer each page until one brings no new row', 'Shared pagination body', async (client) => {
    for (const path of listings) {
      const seen = new Set<unknown>();
      for (let page = 1; page < 60; page += 1) {
        const listed = await rows(client, `POST ${path}`, { limit: 20, page });
        const fresh = listed.filter((row) => !seen.has(row['id']));
        for (const row of fresh) seen.add(row['id']);
        if (fresh.length === 0) break;
      }
    }
  }),
  read('a tag or a survey by its id equals its row in the listing', 'Endpoints', async (client) => {
    for (const [list, one] of [
      ['/v1/tags', '/v1/tag'],
      ['/v1/surveys', '/v1/survey'],
    ]) {
      const [row] = await rows(client, `POST ${list}`, { limit: 10 });
      if (row !== undefined) same((await client.send(`GET ${one}/${String(row['id'])}`)).json, row);
    }
  }),
  read('contacts/count answers with digits', 'Endpoints', async (client) => {
    const { json } = await client.send('POST /v1/contacts/count', {});
    ok(/^\d+$/.test(String(json)), JSON.stringify(json));
  }),
  read('an error has a JSON string as its body', 'Errors', async (client) => {
    isError(await client.send('GET /v1/users/get', { email: 'not a list' }), 400, 'error');
    const answer = await client.send('GET /v1/tag/not-a-number');
    ok(answer.status >= 400 && answer.status < 500 && typeof answer.json === 'string');
  }),
  read('a GET with an empty body gets 200', 'clients in the wild', async (client) => {
    for (const body of [{}, []]) {
      for (const operation of ['GET /v1/inboxes', 'GET /v1/team']) {
        same([operation, (await client.send(operation, body)).status], [operation, 200]);
      }
    }
    same((await client.send('GET /v1/users/get', { email: [null] })).status, 200);
  }),
];

const writeChecks: readonly Check[] = [
  write('users/update answers with the updated users', 'POST /v1/users/update', async (client) => {
    const [user] = await shownUsers(client);
    if (user === undefined) return;
    const id = user['id'];
    const set = async (values: Row): Promise<Row | undefined> =>
      (await memberships(client, 'POST /v1/users/update', { users: [{ id, ...values }] })).find(
        (one) => one['id'] === id,
      );
    const both = await set({ first_name: 'Con', last_name: 'Formance' });
    same(both?.['name'], 'Con Formance');
    // Linked: send both together or one is overwritten.
    same((await set({ first_name: 'Con' }))?.['name'], 'Con');
    same((await set({ last_name: 'Formance' }))?.['name'], 'Formance');
    const [first = '', ...rest] = String(user['name']).split(' ');
    same((await set({ first_name: first, last_name: rest.join(' ') }))?.['name'], user['name']);
    const { members } = await team(client);
    same(members.find((member) => member['id'] === id)?.['name'], user['name']);
  }),
  write('an update never moves updated_at back', 'User', async (client) => {
    const [user] = await shownUsers(client);
    if (user === undefined || typeof user['role_id'] !== 'number') return;
    const update = { users: [{ id: user['id'], role_id: user['role_id'] }] };
    const [after] = await memberships(client, 'POST /v1/users/update', update);
    ok(Date.parse(String(after?.['updated_at'])) >= Date.parse(String(user['updated_at'])));
  }),
  write('an update of an unknown user gets 400 with the label error', 'Errors', async (client) => {
    isError(await client.send('POST /v1/users/update', { users: [{ id: 1, role_id: 4 }] }), 400, 'error');
    isError(await client.send('POST /v1/users/update', { users: [{}] }), 400, 'error');
  }),
  write('the service returns a created tag by its id', 'POST /v1/tag', async (client) => {
    const tag = `conformance ${Date.now()}`;
    const { status, json } = await client.send('POST /v1/tag', { tag });
    same(status, 200);
    const { id } = json as Row;
    ok(Number.isInteger(id));
    same(((await client.send(`GET /v1/tag/${String(id)}`)).json as Row)['tag'], tag);
  }),
  write('conversations/read answers 200, and 400 to {}', 'POST /v1/conversations/read', async (client) => {
    const [inbox] = await rows(client, 'GET /v1/inboxes');
    const { members } = await team(client);
    const body = { inbox_id: inbox?.['id'], user_id: members[0]?.['id'], target: '14155550100' };
    const answer = await client.send('POST /v1/conversations/read', body);
    same([answer.status, typeof answer.json], [200, 'string']);
    isError(await client.send('POST /v1/conversations/read', {}), 400, 'error');
  }),
  write('schedule endpoints create, replace and cancel a message', 'Scheduled message', async (client) => {
    const [inbox] = await rows(client, 'GET /v1/inboxes');
    const quarterHourMs = 15 * 60_000;
    const at = new Date((Math.floor(Date.now() / quarterHourMs) + 8) * quarterHourMs).toISOString();
    const request = {
      inbox_id: inbox?.['id'],
      execute_at: at,
      phone_number: '14155550100',
      content: { text: 'Conformance' },
      local_id: `conformance-${Date.now()}`,
    };
    const created = await client.send('POST /v1/schedule', request);
    same(created.status, 200);
    const path = `/v1/schedule/${String((created.json as Row)['id'])}`;
    const seen = (await client.send(`GET ${path}`)).json as Row;
    same([seen['inbox_id'], Date.parse(String(seen['execute']))], [request.inbox_id, Date.parse(at)]);
    const replaced = await client.send(`PUT ${path}`, { ...request, content: { text: 'Replaced' } });
    same(replaced.status, 200);
    const meta = ((await client.send(`GET ${path}`)).json as { readonly meta: { readonly content: Row } })
      .meta;
    same(meta.content['text'], 'Replaced');
    const cancelled = await client.send(`DELETE ${path}`);
    same([cancelled.status, cancelled.json], [200, 'ok']);
    ok((await client.send(`GET ${path}`)).status >= 400);
  }),
];

export const checks: readonly Check[] = [...readChecks, ...writeChecks];
