/** What the client sends, as a plain HTTP server sees it. */

import { describe, expect, test } from 'vitest';
import contactFields from '../../src/model/listed/contact-fields.ts';
import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import type { ScheduleRequest } from '../../src/model/message-request.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { bodies } from '../support/interface-bodies.ts';
import { fieldsOf } from '../support/interface-rows.ts';
import type { Resource } from '../support/interface-shapes.ts';
import { openPair, respond } from './client-fixture.ts';
import { json } from './raw-server.ts';

const page = {
  archived: false,
  ascending: true,
  assigned: 3,
  date: '2030-01-01T00:00:00Z',
  filter: 'vip',
  filters: { inboxes: [1], closed: false, unread: true, ids: [2], unanswered: true },
  id: 4,
  limit: 10,
  order: 'created_at',
  page: 2,
  parent_id: 5,
};

const content = {
  attachments: [{ name: 'n', type: 'image/png', url: 'https://x.example/a' }],
  gallery: [{ annotationPosition: 'p', annotationText: 'é 👋', originalUrl: 'o', url: 'u' }],
  localDay: 1,
  localTime: '09:00',
  offset: 2,
  template: 9007199254740991n,
  text: 'Bis später',
  to: 'y',
};
const sentContent = {
  attachments: content.attachments,
  gallery: [{ annotation_position: 'p', annotation_text: 'é 👋', original_url: 'o', url: 'u' }],
  local_day: 1,
  local_time: '09:00',
  offset: 2,
  template: 9007199254740991,
  text: 'Bis später',
  to: 'y',
};
const common = { inboxId: 3n, executeAt: '2030-01-01T00:30:00Z', content };
const sentCommon = { inbox_id: 3, execute_at: '2030-01-01T00:30:00Z', content: sentContent };
const rest = { userId: 6n, superId: 7n, isEmail: true, _: 8, localId: 'l' };
const sentRest = { user_id: 6, super_id: 7, is_email: true, _: 8, local_id: 'l' };
/** Exactly one of these can be given. */
const families = [
  [{ phoneNumber: '15550100' }, { phone_number: '15550100' }],
  [{ conversationId: 9n }, { conversation_id: 9 }],
  [{ listId: 10n }, { list_id: 10 }],
  [{ targets: ['15550100', '15550101'] }, { targets: ['15550100', '15550101'] }],
] as const;
const schedules = families.map(([target]): ScheduleRequest => ({ ...common, ...rest, ...target }));
const sentSchedules = families.map(([, target]) => ({ ...sentCommon, ...sentRest, ...target }));

const nothing = { memory: nothingLearned, size: 10 };
/** Read to the end: two pages tell how they are numbered, and both are empty here. */
const emptyPages = [
  { limit: 10, page: 0 },
  { limit: 10, page: 1 },
];

/** Calls that together send every field of a body, and the bodies that must come of them. */
const cases: Record<
  keyof typeof bodies,
  readonly { readonly call: (client: ServiceClient) => Promise<unknown>; readonly sent: readonly unknown[] }[]
> = {
  pagination: [
    { call: (client) => client.contactCount(page), sent: [page] },
    { call: (client) => client.list(tags, nothing), sent: emptyPages },
    { call: (client) => client.list(contactFields, nothing), sent: emptyPages },
  ],
  surveyPage: [{ call: (client) => client.list(surveys, nothing), sent: emptyPages }],
  userFilter: [
    {
      call: (client) => client.users({ emails: ['zoë@example.com'], phones: ['+1 (555) 0100'] }),
      sent: [{ email: ['zoë@example.com'], phone: ['15550100'] }],
    },
    { call: (client) => client.users({ emails: [], phones: [] }), sent: [{}] },
  ],
  updateUsers: [
    {
      call: (client) =>
        client.updateUsers(
          new Map([
            [
              1n,
              { name: { first: 'Zoë', last: '田中' }, email: 'z@example.com', phone: '+1 555', roleId: 4n },
            ],
            [2n, { phone: null }],
          ]),
        ),
      sent: [
        {
          users: [
            {
              id: 1,
              first_name: 'Zoë',
              last_name: '田中',
              email: 'z@example.com',
              phone: '1555',
              role_id: 4,
            },
            { id: 2, phone: '' },
          ],
        },
      ],
    },
  ],
  newTag: [{ call: (client) => client.createTag('Größe 👟'), sent: [{ tag: 'Größe 👟' }] }],
  conversationRead: [
    {
      call: (client) =>
        client.readConversation({
          inboxId: 3n,
          userId: 1n,
          target: '15550100',
          targets: ['15550101'],
          reassignId: 2n,
        }),
      sent: [{ inbox_id: 3, user_id: 1, target: '15550100', targets: ['15550101'], reassign_id: 2 }],
    },
    {
      call: (client) => client.readConversation({ inboxId: 3n, userId: 1n }),
      sent: [{ inbox_id: 3, user_id: 1 }],
    },
  ],
  scheduleRequest: [
    ...schedules.map((request, at) => ({
      call: (client: ServiceClient) => client.createSchedule(request),
      sent: [sentSchedules[at]],
    })),
    ...schedules.map((request, at) => ({
      call: (client: ServiceClient) => client.replaceSchedule(5n, request),
      sent: [sentSchedules[at]],
    })),
  ],
};
const names = Object.keys(cases) as readonly (keyof typeof bodies)[];

/** The paths in a JSON value, with their types in the words of the shapes. */
function pathsOf(value: unknown, prefix = ''): readonly (readonly [path: string, type: string])[] {
  return Object.entries(value ?? {}).flatMap(([key, inner]: readonly [string, unknown]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    const own = [path, typeOf(inner)] as const;
    if (path === 'filters' || typeof inner !== 'object') return [own];
    if (!Array.isArray(inner)) return [own, ...pathsOf(inner, path)];
    return typeof inner[0] === 'object' ? [own, ...pathsOf(inner[0], `${path}[]`)] : [own];
  });
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return `${typeOf(value[0])}[]`;
  return Number.isInteger(value) ? 'integer' : typeof value;
}

describe('the request bodies of the client', () => {
  test.each(names)('the client sends every documented field of %s', async (name) => {
    const { client, server } = await openPair(respond);
    for (const one of cases[name]) await one.call(client);
    const received = server.requests.map(
      ({ body }) => JSON.parse(Buffer.from(body, 'latin1').toString()) as unknown,
    );
    expect(received).toEqual(cases[name].flatMap(({ sent }) => sent));
    expect(new Set(server.requests.map(({ headers }) => headers['content-type']))).toEqual(
      new Set(['application/json']),
    );
    const { at, shape }: Resource = bodies[name];
    const operations = at.map((place) => place.replace(' request', '').replace('{id}', '5'));
    expect(new Set(server.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(operations),
    );
    const seen = Object.fromEntries(received.flatMap((body) => pathsOf(body)));
    expect(seen).toEqual(Object.fromEntries(fieldsOf(shape).map(({ path, type }) => [path, type])));
  });

  test('the client sends no body and no content type with a GET that documents no body', async () => {
    const { client, server } = await openPair((socket, request) =>
      socket.write(json(200, request.path === '/v1/inboxes' ? [] : { id: 5, members: [] })),
    );
    await client.list(inboxes, { memory: nothingLearned });
    await client.team();
    await client.row(tags, 5n);
    await client.row(surveys, 5n);
    await client.schedule(5n);
    expect(server.requests.map(({ body, headers }) => [body, headers['content-type']])).toEqual(
      Array.from({ length: 5 }, () => ['', undefined]),
    );
  });
});
