/** Every documented field of every answer: taken when it is there, and costing nothing else when it is not. */

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { toJson } from '../../src/model/json.ts';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import type { ListedResource } from '../../src/model/listed-resource.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { fieldsOf, unplayed } from '../support/interface-rows.ts';
import { responses, type Shape, user } from '../support/interface-shapes.ts';
import { openClient, openEmulator, openPair } from './client-fixture.ts';
import { answer } from './raw-server.ts';

type Row = Record<string, unknown>;

interface Case {
  readonly shape: Shape;
  /** The body that holds the row. */
  readonly body: (row: Row) => unknown;
  /** The rows as the client gives them, without rejected ones; one of them by its id. Throws where the answer was. */
  readonly read: (client: ServiceClient, id: bigint) => Promise<readonly unknown[]>;
  /** Without these there is no row. */
  readonly required: readonly string[];
  /** What a field that is not there becomes. */
  readonly absent: null | undefined;
  /** Keys of ours beside the documented fields. */
  readonly more: Row;
  readonly isListed?: true;
}

const listing = { memory: nothingLearned, size: 10 };
const plain = { required: ['id'], absent: null, more: { raw: {} } } as const;
const ofUsers = {
  ...plain,
  absent: undefined,
  shape: user,
  body: (row: Row) => ({ memberships: [row] }),
} as const;
const alone = (row: Row): unknown => row;

/** Has the names of the interface, and objects as they are. */
const ofListing = (resource: ListedResource, shape: Shape): Case => ({
  ...plain,
  isListed: true,
  shape,
  body: (row) => [row],
  read: async (client) => (await client.list(resource, listing)).rows,
});
const ofOne = (resource: ListedResource, shape: Shape): Case => ({
  ...ofListing(resource, shape),
  body: alone,
  read: async (client, id) => [await client.row(resource, id)],
});

const cases = {
  Inbox: ofListing(inboxes, responses.inbox.shape),
  'User (users/get)': {
    ...ofUsers,
    read: async (client) => (await client.users({ emails: [], phones: [] })).users,
  },
  'User (users/update)': {
    ...ofUsers,
    read: async (client, id) => (await client.updateUsers(new Map([[id, { email: 'a@b.example' }]]))).users,
  },
  Team: {
    ...plain,
    required: ['id', 'members'],
    more: { raw: {}, rejected: [] },
    shape: responses.team.shape,
    body: alone,
    read: async (client) => [await client.team()],
  },
  'Contact field': ofListing(contactFields, responses.contactField.shape),
  'Tag (tags)': ofListing(tags, responses.tag.shape),
  'Tag (tag/{id})': ofOne(tags, responses.tag.shape),
  'Survey (surveys)': ofListing(surveys, responses.survey.shape),
  'Survey (survey/{id})': ofOne(surveys, responses.survey.shape),
  'Scheduled message': {
    ...plain,
    shape: responses.scheduledMessage.shape,
    body: alone,
    read: async (client, id) => [await client.schedule(id)],
  },
  'Write result': {
    ...plain,
    more: {},
    shape: responses.writeResult.shape,
    body: alone,
    read: async (client) => {
      const { requestId: _, ...result } = await client.createTag('x');
      return [result];
    },
  },
} satisfies Record<string, Case>;

type Name = keyof typeof cases;
const names = Object.keys(cases) as readonly Name[];
const caseOf = (name: Name): Case => cases[name];

const camelCase = (name: string): string =>
  name.replace(/(?<=.)_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Values that differ from field to field, as they stand in JSON. */
function sampleOf(shape: Shape): Row {
  return Object.fromEntries(
    Object.entries(shape.fields).map(([name, field], index) => {
      if (typeof field !== 'string') {
        const inner = sampleOf(field.shape);
        return [name, field.list ? [inner] : inner];
      }
      const values: Readonly<Record<string, unknown>> = {
        integer: index + 1,
        string: `the ${name}`,
        boolean: true,
        'integer[]': [index + 1, index + 2],
        'string[]': [`one of ${name}`],
      };
      return [name, values[field]];
    }),
  );
}

/** What the client makes of such values: integers are exact, names are ours, and nothing is left over. */
function takenFrom(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(takenFrom);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [camelCase(name), takenFrom(inner)]);
  return { ...(Object.fromEntries(fields) as Row), raw: {} };
}

/** Members of a team have no `raw`, and two keys that nobody documented. */
function expected(name: Name, row: Row): Row {
  const { isListed, more } = caseOf(name);
  if (isListed) {
    const isObject = (value: unknown) => typeof value === 'object' && !Array.isArray(value);
    const taken = Object.entries(row).map(([key, value]) => [
      key,
      isObject(value) ? value : takenFrom(value),
    ]);
    return { ...Object.fromEntries(taken), ...more };
  }
  const { raw: _raw, ...taken } = takenFrom(row) as Row;
  if (name !== 'Team') return { ...taken, ...more };
  const members = (taken['members'] as Row[]).map(({ raw: _none, ...member }) => ({
    ...member,
    email: null,
    phone: null,
  }));
  return { ...taken, members, ...more };
}

/** The object that holds the last name of the path. */
function holderOf(root: Row, path: string): Row {
  const steps = path.split('.').slice(0, -1);
  return steps.reduce<Row>((at, step) => {
    const next = at[step.replace('[]', '')];
    return (step.endsWith('[]') ? (next as Row[])[0] : next) as Row;
  }, root);
}

const lastOf = (path: string): string => path.split('.').at(-1) ?? '';

function changed(row: Row, path: string, change: (holder: Row, name: string) => void): Row {
  const copy = structuredClone(row);
  change(holderOf(copy, path), lastOf(path));
  return copy;
}

const ourPath = (name: Name, path: string): string =>
  caseOf(name).isListed ? path : path.split('.').map(camelCase).join('.');

const otherTypes: Readonly<Record<string, readonly unknown[]>> = {
  integer: ['one', '1.5', '', '01', ' 4', '4.0', 1.5, true, [4]],
  string: [1.5, ['x'], {}, true],
  boolean: ['true', 0],
  'integer[]': [1, ['1'], [1, null]],
  'string[]': [false, 'x', [null]],
  object: ['x', []],
  'object[]': [{}, ['x']],
};

/** A client, and what it reads when the row is the answer. */
async function openReader(name: Name) {
  const { shape, body, read } = caseOf(name);
  let row: Row = sampleOf(shape);
  const { client } = await openPair((socket, request) => {
    const { page = 0 } = (request.body === '' ? {} : JSON.parse(request.body)) as { page?: number };
    socket.write(answer(200, toJson(page === 0 ? body(row) : [])));
  });
  return async (answered: Row): Promise<unknown> => {
    row = answered;
    return (await read(client, 1n))[0];
  };
}

const fields = names.flatMap((name) =>
  fieldsOf(cases[name].shape)
    .filter(({ path }) => !caseOf(name).isListed || !path.includes('.'))
    .map(({ path, type }) => [name, path, type] as const),
);

describe('the fields of an answer', () => {
  test.each(names)('the client reads every documented field of %s', async (name) => {
    const row = sampleOf(cases[name].shape);
    const read = await openReader(name);
    expect(await read(row)).toStrictEqual(expected(name, row));
  });

  test.each(fields)('rejects %s if required %s is invalid, else reads it', async (name, path, type) => {
    const { shape, required, absent } = caseOf(name);
    const row = sampleOf(shape);
    const whole = expected(name, row);
    const read = await openReader(name);
    const without = changed(row, path, (holder, key) => delete holder[key]);
    const none = changed(row, path, (holder, key) => Object.assign(holder, { [key]: null }));
    const others = (otherTypes[type] ?? []).map((value) => ({
      value,
      row: changed(row, path, (holder, key) => Object.assign(holder, { [key]: value })),
    }));
    expect(others.length).toBeGreaterThan(0);

    if (required.includes(path) || path === 'members[].id') {
      for (const broken of [without, none, ...others.map((other) => other.row)]) {
        // A member costs itself, an entry of a list is rejected alone, and an answer of one row is none.
        const got = await read(broken).catch((error: unknown) => error);
        if (path === 'members[].id') expect(got).toMatchObject({ id: 1n, members: [], rejected: [{}] });
        else if (path === 'members' && Array.isArray(holderOf(broken, path)['members'])) {
          expect(got).toMatchObject({ id: 1n, members: [], rejected: [{ resource: 'team members' }] });
        } else if (got !== undefined) expect(got).toMatchObject({ name: 'ServiceError', phase: 'sent' });
      }
      return;
    }
    const becomes = (value: unknown, raw: Row): Row =>
      changed(whole, ourPath(name, path), (holder, key) => {
        if (value === undefined) delete holder[key];
        else holder[key] = value;
        if (holder['raw'] !== undefined) holder['raw'] = raw;
      });
    expect(await read(without)).toStrictEqual(becomes(absent, {}));
    expect(await read(none)).toStrictEqual(becomes(null, {}));
    // What can be edited is not taken for left out.
    const canBeEdited = name.startsWith('User') && ['name', 'email', 'phone', 'role_id'].includes(path);
    for (const other of others) {
      const becomesOf = canBeEdited ? { unreadable: JSON.stringify(other.value) } : absent;
      expect(await read(other.row)).toStrictEqual(becomes(becomesOf, { [lastOf(path)]: other.value }));
    }
  });
});

/** In another type than documented, with what they plainly say. */
const plainly: Readonly<Record<string, readonly [unknown, unknown]>> = {
  integer: ['-9007199254740993', -9007199254740993n],
  string: [9007199254740993n, '9007199254740993'],
};

const swapped = fields.filter(([name, path, type]) => {
  const { required } = caseOf(name);
  return plainly[type] !== undefined && !required.includes(path) && lastOf(path) !== 'id';
});

test.each(swapped)('reads a %s whose %s is text for a number or the reverse', async (name, path, type) => {
  const row = sampleOf(cases[name].shape);
  const read = await openReader(name);
  const [sent, taken] = plainly[type] ?? [];
  const other = changed(row, path, (holder, key) => Object.assign(holder, { [key]: sent }));
  const whole = changed(expected(name, row), ourPath(name, path), (holder, key) =>
    Object.assign(holder, { [key]: taken }),
  );
  expect(await read(other)).toStrictEqual(whole);
});

const quarterMs = 900_000;
const soon = new Date((Math.floor(Date.now() / quarterMs) + 8) * quarterMs).toISOString();

/** Messages that together have every field that can be sent. */
async function schedule(client: ServiceClient, inboxId: bigint): Promise<readonly bigint[]> {
  const content = {
    attachments: [{ name: 'n', type: 't', url: 'https://x.example/a' }],
    gallery: [{ annotationPosition: 'p', annotationText: 'a', originalUrl: 'o', url: 'u' }],
    localDay: 1,
    localTime: '09:00',
    offset: 2,
    template: 5n,
    text: 'x',
    to: 'y',
  };
  const request = { inboxId, executeAt: soon, content };
  const { id } = await client.createSchedule({ ...request, conversationId: 7n });
  const other = await client.createSchedule({ ...request, listId: 8n });
  return [id, other.id];
}

/** Whether the path leads to a value of the documented type; lists may be empty. */
function holds(value: unknown, path: string, type: string): boolean {
  const [step = '', ...rest] = path.split('.');
  const key = step.replace('[]', '');
  const row = value as Row | null;
  const inner = row?.[key] ?? row?.[camelCase(key)];
  if (rest.length > 0) {
    const next = step.endsWith('[]') ? (inner as readonly unknown[] | null)?.[0] : inner;
    return next !== undefined && next !== null && holds(next, rest.join('.'), type);
  }
  if (type.endsWith('[]')) return Array.isArray(inner);
  return (type === 'integer' ? ['bigint', 'number'] : [type]).includes(typeof inner) && inner !== null;
}

/** What the client found to be not as documented, or not documented at all, anywhere inside. */
function leftOver(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'raw' ? Object.entries(inner as Row) : leftOver(inner),
  );
}

test.each(names)('the emulator sends all fields of %s except listed fields', async (name) => {
  const emulator = await openEmulator({ users: 3, tags: 3, fields: 3 });
  const { client } = openClient(emulator.url, { clock: systemClock });
  const { team } = emulator;
  const inboxId = BigInt(team.inboxes()[0]?.id ?? 0);
  const ids: Partial<Record<Name, readonly bigint[]>> = {
    'User (users/update)': team.users().map(({ id }) => BigInt(id)),
    'Tag (tag/{id})': team.tags().map(({ id }) => BigInt(id)),
    'Survey (survey/{id})': team.surveys().map(({ id }) => BigInt(id)),
    'Scheduled message': await schedule(client, inboxId),
  };
  const seen: unknown[] = [];
  for (const id of ids[name] ?? [1n]) seen.push(...(await caseOf(name).read(client, id)));
  expect(seen.length).toBeGreaterThan(0);
  expect(leftOver(seen)).toEqual([]);
  for (const { path, type } of fieldsOf(cases[name].shape)) {
    const is = unplayed.includes(path) ? 'not played' : 'answered';
    const found = seen.some((row) => holds(row, path, type)) ? 'answered' : 'not played';
    expect([path, found]).toEqual([path, is]);
  }
});
