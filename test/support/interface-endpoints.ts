/** interface.md, Endpoints: the sixteen, their ids in the path, and the answers that are a string. */
import { conforms, type Proof, type Row, type Source } from './interface-row.ts';

const section = 'Endpoints';
const sent: Proof = ['service/client.test.ts', 'sends %s with its method and path and a signed token'];
const taken: Proof = [
  'service/emulator.test.ts',
  'the emulator › answers all calls if %s, or a list is incomplete',
];

function endpoint(operation: string, client: Source, emulator: string, proof: Proof): Row {
  const [file = '', declaration = ''] = emulator.split(' ');
  const path = operation.replace(/^\w+ /, '');
  return {
    section,
    name: operation,
    client,
    emulator: [file, `${declaration} ${path}`],
    tests: [sent, taken, proof],
  };
}

const roster = (method: string): Source => ['service/roster-endpoints.ts', `createRosterEndpoints.${method}`];
const listed = (file: string, what: 'list' | 'row'): Source => [
  `model/listed/${file}.ts`,
  `${file === 'contact-fields' ? 'contactFields' : file}.${what}`,
];
const message = (method: string): Source => [
  'service/messages/message-endpoints.ts',
  `createMessageEndpoints.${method}`,
];
const listings = 'emulator/rules/paged-endpoints.ts listingEndpoints';
const schedules = 'emulator/rules/schedule-endpoints.ts scheduleEndpoints';
const read = conforms('each reading endpoint answers 200 with JSON');
const one = conforms('a tag or a survey by its id equals its row in the listing');
const scheduled = conforms('schedule endpoints create, replace and cancel a message');

const withId = [
  'GET /v1/survey/{id}',
  'GET /v1/tag/{id}',
  'GET /v1/schedule/{id}',
  'PUT /v1/schedule/{id}',
  'DELETE /v1/schedule/{id}',
];

export const endpointRows: readonly Row[] = [
  endpoint(
    'GET /v1/inboxes',
    listed('inboxes', 'list'),
    'emulator/rules/team-endpoints.ts teamEndpoints',
    read,
  ),
  endpoint(
    'GET /v1/users/get',
    roster('users'),
    'emulator/rules/user-endpoints.ts userEndpoints',
    conforms('users/get reads its filter from the body of a GET'),
  ),
  endpoint(
    'POST /v1/users/update',
    roster('updateUsers'),
    'emulator/rules/user-endpoints.ts userEndpoints',
    conforms('users/update answers with the updated users'),
  ),
  endpoint('GET /v1/team', roster('team'), 'emulator/rules/team-endpoints.ts teamEndpoints', read),
  endpoint('POST /v1/contact-fields', listed('contact-fields', 'list'), listings, read),
  endpoint('POST /v1/tags', listed('tags', 'list'), listings, read),
  endpoint(
    'POST /v1/contacts/count',
    ['service/listing-endpoints.ts', 'createListingEndpoints.contactCount'],
    listings,
    read,
  ),
  endpoint('POST /v1/surveys', listed('surveys', 'list'), listings, read),
  endpoint('GET /v1/survey/{id}', listed('surveys', 'row'), listings, one),
  {
    ...endpoint(
      'POST /v1/tag',
      message('createTag'),
      'emulator/rules/tag-endpoints.ts tagEndpoints',
      conforms('the service returns a created tag by its id'),
    ),
    variants: ['same-tag', 'tag-names', 'tag-spaces'],
  },
  endpoint('GET /v1/tag/{id}', listed('tags', 'row'), 'emulator/rules/tag-endpoints.ts tagEndpoints', one),
  endpoint(
    'POST /v1/conversations/read',
    message('readConversation'),
    'emulator/rules/conversation-endpoints.ts conversationEndpoints',
    conforms('conversations/read answers 200, and 400 to {}'),
  ),
  endpoint('POST /v1/schedule', message('createSchedule'), schedules, scheduled),
  endpoint('GET /v1/schedule/{id}', message('schedule'), schedules, scheduled),
  endpoint('PUT /v1/schedule/{id}', message('replaceSchedule'), schedules, scheduled),
  endpoint('DELETE /v1/schedule/{id}', message('cancelSchedule'), schedules, scheduled),
  {
    section,
    name: 'the `id` in a path is a required integer',
    client: ['service/wire-lists.ts', 'decodeOne', 'rejects an answer with another row than requested'],
    emulator: ['emulator/wire/answer-request.ts', 'perform.id'],
    tests: [
      ['service/wire.test.ts', 'decodeOne returns the requested tag, and throws for any other answer'],
      ['emulator/schedules.test.ts', 'GET tag and survey answer 404 to unknown ids, and 400 to non-numbers'],
    ],
    field: { at: withId.map((operation) => `${operation} path`), path: 'id', type: 'integer' },
  },
  {
    section,
    name: 'contacts/count answers with a string that holds the count',
    client: ['service/wire-lists.ts', 'decodeCount', 'accepts only a string of digits or an integer'],
    emulator: ['emulator/wire/answer-schemas.ts', 'contactCount'],
    tests: [
      ['service/faults.test.ts', 'accepts up to 15 digits, as a JSON number or a JSON string: %s (N4)'],
      ['service/faults.test.ts', 'rejects a value other than 1 to 15 digits, or with a leading 0: %s (N4)'],
      ['emulator/pages.test.ts', 'returns a filtered count as a string, or as integer if count-body=integer'],
    ],
    variants: ['count-body'],
    field: { at: ['POST /v1/contacts/count response'], path: '', type: 'string' },
  },
  {
    section,
    name: 'conversations/read answers with a string',
    client: ['service/messages/wire-schedule.ts', 'decodeString'],
    emulator: ['emulator/wire/answer-schemas.ts', 'conversationAnswer'],
    tests: [
      [
        'service/wire.test.ts',
        'decodeString throws if the answer is not a string, or not the expected string',
      ],
      ['emulator/schedules.test.ts', 'conversations/read answers 400 if the inbox or the user is unknown'],
    ],
    field: { at: ['POST /v1/conversations/read response'], path: '', type: 'string' },
  },
  {
    section,
    name: 'cancelling a schedule is answered with the string `ok`',
    client: ['service/messages/wire-schedule.ts', 'decodeString.expected'],
    emulator: ['emulator/wire/answer-schemas.ts', 'cancelled'],
    tests: [
      ['service/client.test.ts', 'cancelSchedule() fails if the service answers a string other than `ok`'],
      ['emulator/schedules.test.ts', 'creates, shows, replaces and cancels a message, which then gets 404'],
    ],
    field: { at: ['DELETE /v1/schedule/{id} response'], path: '', type: 'string' },
  },
  {
    section,
    name: 'every endpoint requires credentials, and can answer 401 and 429',
    client: ['service/call.ts', 'settle'],
    emulator: ['emulator/wire/answer-request.ts', 'admit'],
    tests: [
      conforms('missing, invalid and expired credentials get 401 Unauthorized'),
      ['emulator/authentication.test.ts', 'answers 429 from the 501st request of a team in a minute'],
    ],
  },
];
