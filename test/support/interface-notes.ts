/** interface.md, Endpoints, the notes below the table. */
import { type Row, rule, withoutPath } from './interface-row.ts';

const section = 'Endpoints, notes';

export const noteRows: readonly Row[] = [
  rule(section, '1. GET users/get takes a JSON body, and returns users by phone or email', {
    client: ['service/http.ts', 'createHttp.body'],
    emulator: ['emulator/wire/service-routes.ts', 'addServiceRoutes.hasBody'],
    tests: [
      ['service/faults.test.ts', 'sends GETs with a body over at most %i connections (N14)'],
      ['emulator/users.test.ts', 'returns the users whose email or phone is in the body of the GET'],
      ['emulator/empty-objects.test.ts', 'accepts [] for {}, but answers 400 if empty-list=refused: %s %j'],
    ],
    variants: ['email-lookup'],
  }),
  rule(section, '1. which users users/get returns without a filter (undocumented)', {
    client: ['reconcile/read/roster.ts', 'readRoster', 'requests all users, then looks up those left out'],
    emulator: ['emulator/rules/user-endpoints.ts', 'getUnfilteredUsers'],
    tests: [
      ['emulator/users.test.ts', 'without a filter, returns as many users as unfiltered-users sets, or 400'],
      ['system/check.test.ts', 'finds service variant %j by probe "%s", and reports %j'],
      ['system/variants.test.ts', 'musterd › mirrors a service with %j, and writes nothing when run again'],
    ],
    variants: ['unfiltered-users', 'member-extras'],
  }),
  rule(section, '2. first and last name are linked: an update must have both, or one is overwritten', {
    client: ['model/user.ts', 'UserPatch', 'has no field for the first or the last name alone'],
    emulator: ['emulator/rules/update-user.ts', 'nameEdit'],
    tests: [
      ['emulator/users.test.ts', 'empties the half of a name that an update leaves out'],
      [
        'service/wire.test.ts',
        'encodeUserPatch writes only changed fields, and of a phone only the digits (S71)',
      ],
    ],
    variants: ['email-update'],
  }),
  rule(section, '2. in which form the service stores a written value (undocumented)', {
    client: ['reconcile/push/outcome.ts', 'judge', 'compares the answer with the sent values'],
    emulator: ['emulator/rules/update-user.ts', 'editOf'],
    tests: [
      ['emulator/users.test.ts', 'normalises, cuts or clears written values as the variants set'],
      ['reconcile/push.test.ts', 'sends only %s, and stores the value that the service shows (A19)'],
    ],
    variants: ['email-case', 'email-writes', 'name-spaces', 'name-cap', 'phone-writes'],
  }),
  rule(section, '2. further attributes of UpdateUser (undocumented)', {
    client: ['service/wire-user.ts', 'encodeUserPatch', 'sends no further attributes'],
    emulator: ['emulator/wire/request-schemas.ts', 'userUpdate.looseObject', 'ignores further attributes'],
    tests: [['service/requests.test.ts', 'the client sends every documented field of %s']],
  }),
  rule(section, '3. which ScheduleRequest fields are required (undocumented)', {
    client: [
      'service/messages/schedule-request.ts',
      'findScheduleFlaw',
      'requires inbox, time, text, target',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'scheduleProblem'],
    tests: [
      ['service/client.test.ts', 'createSchedule, replaceSchedule › reject a schedule with %s and send none'],
      ['emulator/schedules.test.ts', 'answers 400 to a message if a required field is missing or wrong'],
    ],
    variants: ['schedule-creator'],
  }),
  rule(section, '3. `local_id` of a repeated request (undocumented)', {
    client: [
      'service/messages/message-endpoints.ts',
      'createMessageEndpoints.localId',
      'gives each new schedule a `local_id`; the client does not repeat a write if its outcome is unknown',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'createSchedule.local_id'],
    tests: [
      ['service/client.test.ts', 'createSchedule sends a schedule for the allowed time %s'],
      ['emulator/schedules.test.ts', 'creates one message for two equal local_ids, unless local-id=ignored'],
    ],
    variants: ['local-id'],
  }),
  rule(section, '4. format of `execute_at` (undocumented)', {
    client: [
      'service/messages/schedule-request.ts',
      'findTimeFlaw',
      'RFC 3339 on quarters, 15 minutes ahead',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'scheduleProblem.execute_at'],
    tests: [
      ['service/client.test.ts', 'createSchedule, replaceSchedule › reject a schedule with %s and send none'],
      ['emulator/schedules.test.ts', 'accepts each kind of recipient, and any time without grid and margin'],
    ],
    variants: ['schedule-grid', 'schedule-margin'],
  }),
  rule(section, '4. meaning of `_`; format of `local_time`, `local_day`, `offset` (undocumented)', {
    client: ['service/messages/schedule-request.ts', 'encodeSchedule', 'sends these fields as given'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'showSchedule', 'returns these fields unchanged'],
    tests: [['service/requests.test.ts', 'the client sends every documented field of %s']],
  }),
  rule(section, '5. accepted values of `order` (undocumented)', {
    client: ['service/page.ts', 'PageQuery', 'sends no `order`; musterd accepts rows in any order'],
    emulator: ['emulator/wire/read-page.ts', 'orderBy'],
    tests: [
      ['emulator/pages.test.ts', 'sorts by `order` or newest first; unknown-order=refuse refuses others'],
      ['service/emulator.test.ts', 'the emulator › answers all calls if %s, or a list is incomplete'],
    ],
    variants: ['order', 'unknown-order'],
  }),
  rule(section, '5. default page size (undocumented)', {
    client: ['service/page.ts', 'PageQuery.limit', 'always sends `limit`'],
    emulator: ['emulator/wire/read-page.ts', 'pageLimit'],
    tests: [
      ['service/requests.test.ts', 'the client sends every documented field of %s'],
      ['emulator/pages.test.ts', 'listings return 30 rows by default, and never more rows than limit-cap'],
    ],
    variants: ['default-limit'],
  }),
  rule(section, '5. page numbering (undocumented)', {
    client: ['service/pages.ts', 'readListing', 'reads page after page, until two pages in a row are empty'],
    emulator: ['emulator/wire/read-page.ts', 'firstRow'],
    tests: [
      ['service/pages.test.ts', 'two reads return all rows, for any number of rows and any page limit (A6)'],
      ['emulator/pages.test.ts', 'with pages=%s, listings return for pages 0, 1, 2 and so on the rows %j'],
      ['emulator/pages.test.ts', 'the variant survey-pages sets the first page number of surveys only'],
    ],
    variants: ['pages', 'field-pages', 'survey-pages'],
  }),
  ...withoutPath(
    section,
    '6. endpoints of contacts except contacts/count (undocumented)',
    '6. lists (undocumented)',
    '6. templates (undocumented)',
    '6. user groups (undocumented)',
    '6. links (undocumented)',
    '6. endpoints of conversations except conversations/read (undocumented)',
    '6. message sending (undocumented)',
  ),
];
