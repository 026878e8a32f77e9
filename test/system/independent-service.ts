/**
 * A third reading of the interface, as small as it can be and with choices of its own: pages from 0, at
 * most 7 rows a page whatever the limit says, newest first, nulls and undocumented fields everywhere, ids
 * past 2^53, emails lower-cased and phones with a plus sign, no rate limit. It shares no code with anything.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Person {
  id: string;
  first: string;
  last: string;
  email: string | null;
  phone: string | null;
  role: number;
  /** What else a user has here that an update may change. */
  more?: Record<string, string | null>;
}

export interface IndependentService {
  readonly environment: Readonly<Record<string, string>>;
  readonly people: Map<string, Person>;
  /** Raw JSON rows by id; ids are texts, so that they stay exact. */
  readonly tags: Map<string, string>;
  readonly fields: Map<string, string>;
  /** Rows of whatever else it lists, by endpoint, such as `POST /v1/templates`. */
  readonly more: Map<string, Map<string, string>>;
  readonly updates: { id: string; keys: string[] }[];
  close(): Promise<void>;
}

const team = 8812;
const secret = { id: 'ind-1', key: 'k-7f3c9a5d21' };

function isAuthorized(header: string | undefined): boolean {
  const [head = '', payload = '', signature] = (header ?? '').replace(/^Bearer /, '').split('.');
  const expected = createHmac('sha256', `${secret.id}||${secret.key}`)
    .update(`${head}.${payload}`)
    .digest('base64url');
  if (signature !== expected) return false;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss?: string; iat?: number };
  return claims.iss === secret.id && Math.abs(Date.now() / 1000 - (claims.iat ?? 0)) < 300;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const memberOf = (person: Person) =>
  `{"id":${person.id},"name":${JSON.stringify(nameOf(person))},"role":"r${person.role}","avatar":null}`;
const nameOf = ({ first, last }: Person) => `${first} ${last}`.trimEnd();

function userOf(person: Person): string {
  const { id, email, phone, role, more } = person;
  const values = {
    name: nameOf(person),
    email,
    phone: phone === null ? null : `+${phone}`,
    role_id: role,
    team_id: team,
    ...more,
  };
  const rest = {
    created_at: '2024-02-29T10:00:00Z',
    updated_at: null,
    last_seen: { at: null, device: 'web' },
    locale: null,
  };
  return `{"id":${id},${JSON.stringify({ ...values, ...rest }).slice(1)}`;
}

/** Pages from 0, newest first, never more than 7 rows. */
function pageOf(rows: ReadonlyMap<string, string>, body: string): string {
  const { page = 0, limit = 30 } = JSON.parse(body || '{}') as { page?: number; limit?: number };
  const size = Math.min(limit, 7);
  const newest = [...rows].toSorted(([a], [b]) => (BigInt(a) < BigInt(b) ? 1 : -1)).map(([, row]) => row);
  return `[${newest.slice(page * size, (page + 1) * size).join(',')}]`;
}

type Answer = readonly [status: number, json: string];

function answer(
  service: Omit<IndependentService, 'close' | 'environment'>,
  path: string,
  body: string,
): Answer {
  const { people, tags, fields } = service;
  const all = (chosen: readonly Person[]): Answer => [
    200,
    `{"memberships":[${chosen.map((person) => userOf(person)).join(',')}],"next":null}`,
  ];
  switch (path) {
    case 'GET /v1/team':
      return [
        200,
        `{"id":${team},"name":"Ind","list_size":null,"plan":"x","members":[${[...people.values()].map(memberOf).join(',')}]}`,
      ];
    case 'GET /v1/users/get': {
      const { email = [], phone = [] } = JSON.parse(body) as { email?: (string | null)[]; phone?: string[] };
      return all(
        [...people.values()].filter(
          (person) => email.includes(person.email) || phone.includes(person.phone ?? '?'),
        ),
      );
    }
    case 'POST /v1/users/update': {
      const { users } = JSON.parse(body.replace(/"id":(\d+)/g, '"id":"$1"')) as {
        users: Record<string, string | number>[];
      };
      const others = (given: object, { more = {} }: Person) =>
        Object.entries(given).filter(([name]) => name in more);
      const changed: Person[] = [];
      for (const { id, first_name: first, last_name: last, email, phone, role_id: role, ...rest } of users) {
        const person = people.get(String(id));
        if (person === undefined) return [400, '"error"'];
        service.updates.push({
          id: String(id),
          keys: Object.keys(users.find((user) => user['id'] === id) ?? {}).toSorted(),
        });
        if (first !== undefined || last !== undefined)
          Object.assign(person, { first: first ?? '', last: last ?? '' });
        if (email !== undefined) person.email = String(email).toLowerCase();
        if (phone !== undefined) person.phone = phone === '' ? null : String(phone);
        if (role !== undefined) person.role = Number(role);
        Object.assign(person.more ?? {}, Object.fromEntries(others(rest, person)));
        changed.unshift(person);
      }
      return all(changed);
    }
    case 'POST /v1/tags':
      return [200, pageOf(tags, body)];
    case 'POST /v1/contact-fields':
      return [200, pageOf(fields, body)];
    case 'POST /v1/contacts/count':
      return [200, '4711'];
    default: {
      const listed = service.more.get(path);
      if (listed !== undefined) return [200, pageOf(listed, body)];
      const [, id = ''] = /^GET \/v1\/tag\/(\d+)$/.exec(path) ?? [];
      const row = tags.get(id);
      return row === undefined ? [404, '"not found"'] : [200, row];
    }
  }
}

/** SQL by which a mirror of this service knows an address of each person. */
export const insertLookupsOf = ({ people }: IndependentService): string =>
  `insert into mirror.user_lookups (team_id, email, phone) values ${[...people.values()]
    .map(({ email, phone }) => `(${team}, ${email === null ? `null, '+${phone}'` : `'${email}', null`})`)
    .join(', ')}`;

export async function createIndependentService(): Promise<IndependentService> {
  const people = new Map<string, Person>();
  const add = (
    id: string,
    first: string,
    last: string,
    email: string | null,
    phone: string | null,
    role: number,
  ) => {
    people.set(id, { id, first, last, email, phone, role });
  };
  for (let i = 0; i < 20; i += 1)
    add(
      String(100 + i),
      `Given${i}`,
      `Family${i}`,
      `p${i}@ind.example`,
      i % 3 === 0 ? null : `4479000000${10 + i}`,
      4,
    );
  add('9007199254740993', 'Plato', '', 'plato@ind.example', null, 77);
  add('9007199254740995', 'Ana María', 'de la Cruz', null, '34600000001', 1);
  const rows = (count: number, row: (id: string) => string) =>
    new Map(
      Array.from({ length: count }, (_, i) => String(9007199254740993n + BigInt(i))).map((id) => [
        id,
        row(id),
      ]),
    );
  const tags = rows(
    29,
    (id) =>
      `{"id":${id},"team_id":${team},"tag":${Number(id) % 5 === 0 ? 'null' : `"t${id}"`},"color":null,"emoji":"🐙","created":"2023-01-01T00:00:00.123456789Z"}`,
  );
  const fields = rows(
    15,
    (id) => `{"id":${id},"title":"f${id}","kind":{"type":"text","max":9007199254740993}}`,
  );
  const state = { people, tags, fields, more: new Map<string, Map<string, string>>(), updates: [] };
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const [status, json] = isAuthorized(request.headers.authorization)
        ? answer(state, `${request.method} ${request.url}`, body)
        : ([401, '"Unauthorized"'] as const);
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': randomUUID(),
        'content-length': Buffer.byteLength(json),
      };
      response.writeHead(status, headers).end(json);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...state,
    environment: {
      MUSTERD_BASE_URL: `http://127.0.0.1:${port}`,
      MUSTERD_SECRET_ID: secret.id,
      MUSTERD_SECRET_KEY: secret.key,
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
