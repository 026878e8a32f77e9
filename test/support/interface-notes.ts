/** interface.md, Endpoints, the notes below the table. */
import { type Row, rule, withoutPath } from './interface-row.ts';

const section = 'Endpoints, notes';

export const noteRows: readonly Row[] = [
  rule(section, '1. users/get reads a JSON body on a GET; it answers users by phone or email', {
    client: ['service/http.ts', 'createHttp.body'],
    emulator: ['emulator/wire/service-routes.ts', 'addServiceRoutes.hasBody'],
    tests: [
      ['service/faults.test.ts', 'sends a GET with a body, over at most %i kept connections (N14)'],
      ['emulator/users.test.ts', 'reads its filter from the body of a GET and answers the union of both'],
      ['emulator/empty-objects.test.ts', 'takes [] for an empty object: %s %j'],
    ],
    variants: ['email-lookup'],
  }),
  rule(section, '1. what users/get answers without a filter (not shown)', {
    client: [
      'reconcile/read/roster.ts',
      'readRoster',
      'asks once, then by address for those who were left out',
    ],
    emulator: ['emulator/rules/user-endpoints.ts', 'getUnfilteredUsers'],
    tests: [
      ['emulator/users.test.ts', 'plays the four answers to no filter'],
      ['system/check.test.ts', 'for a service of variant %j, the probe "%s" reports %j'],
      ['system/variants.test.ts', 'musterd › mirrors a service with %j, and writes nothing when run again'],
    ],
    variants: ['unfiltered-users', 'member-extras'],
  }),
  rule(section, '2. first and last name are linked: both together, or one is overwritten', {
    client: ['model/user.ts', 'UserPatch', 'half a name cannot be expressed'],
    emulator: ['emulator/rules/update-user.ts', 'nameEdit'],
    tests: [
      ['emulator/users.test.ts', 'overwrites both halves of a name if only one is sent'],
      [
        'service/wire.test.ts',
        'a patch has only changed fields, both halves of a name, digits of a phone, an exact role (S71)',
      ],
    ],
    variants: ['email-update'],
  }),
  rule(section, '2. what is stored of a written value (not shown)', {
    client: ['reconcile/push/outcome.ts', 'judge', 'compares what was answered with what was sent'],
    emulator: ['emulator/rules/update-user.ts', 'editOf'],
    tests: [
      ['emulator/users.test.ts', 'plays normalisation, cut names, cleared names and a stuck updated_at'],
      ['reconcile/push.test.ts', 'sends only %s; base and mirror take the bytes of the service (A19)'],
    ],
    variants: ['email-case', 'email-writes', 'name-spaces', 'name-cap', 'phone-writes'],
  }),
  rule(section, '2. further attributes of UpdateUser (not shown)', {
    client: ['service/wire-user.ts', 'encodeUserPatch', 'sends none'],
    emulator: ['emulator/wire/request-schemas.ts', 'userUpdate.looseObject', 'lets them through, unread'],
    tests: [['service/requests.test.ts', '%s: every documented field reaches the wire']],
  }),
  rule(section, '3. which ScheduleRequest fields are required (not shown)', {
    client: [
      'service/messages/schedule-request.ts',
      'findScheduleFlaw',
      'asks for inbox, time, content and one family of targets before it sends',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'scheduleProblem'],
    tests: [
      ['service/client.test.ts', 'schedules are checked before they are sent › refuses %s'],
      ['emulator/schedules.test.ts', 'messages get a 400 if a required field is missing or wrong'],
    ],
    variants: ['schedule-creator'],
  }),
  rule(section, '3. `local_id` of a repeated request (not shown)', {
    client: [
      'service/messages/message-endpoints.ts',
      'createMessageEndpoints.localId',
      'a new schedule always has one, and no write is repeated blindly',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'createSchedule.local_id'],
    tests: [
      ['service/client.test.ts', 'createSchedule accepts %s as on time'],
      ['emulator/schedules.test.ts', 'a repeated local_id makes no second message, or does'],
    ],
    variants: ['local-id'],
  }),
  rule(section, '4. format of `execute_at` (not shown)', {
    client: [
      'service/messages/schedule-request.ts',
      'findTimeFlaw',
      'RFC 3339, on a quarter of an hour, 15 minutes ahead',
    ],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'scheduleProblem.execute_at'],
    tests: [
      ['service/client.test.ts', 'schedules are checked before they are sent › refuses %s'],
      [
        'emulator/schedules.test.ts',
        'take every target family, other offsets, and anything when the rules are off',
      ],
    ],
    variants: ['schedule-grid', 'schedule-margin'],
  }),
  rule(section, '4. meaning of `_`; format of `local_time`, `local_day`, `offset` (not shown)', {
    client: ['service/messages/schedule-request.ts', 'encodeSchedule', 'sends them as given'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'showSchedule', 'gives them back as they came'],
    tests: [['service/requests.test.ts', '%s: every documented field reaches the wire']],
  }),
  rule(section, '5. accepted values of `order` (not shown)', {
    client: ['service/page.ts', 'PageQuery', 'sends none, and relies on no order'],
    emulator: ['emulator/wire/read-page.ts', 'orderBy'],
    tests: [
      ['emulator/pages.test.ts', 'come newest first, or as asked; an unknown order is ignored or refused'],
      ['service/emulator.test.ts', 'every variant › every call succeeds: %s'],
    ],
    variants: ['order', 'unknown-order'],
  }),
  rule(section, '5. default page size (not shown)', {
    client: ['service/page.ts', 'PageQuery.limit', 'always sends `limit`'],
    emulator: ['emulator/wire/read-page.ts', 'pageLimit'],
    tests: [
      ['service/requests.test.ts', '%s: every documented field reaches the wire'],
      ['emulator/pages.test.ts', 'give 30 rows by default, and clamp or refuse a limit above the cap'],
    ],
    variants: ['default-limit'],
  }),
  rule(section, '5. page numbering (not shown)', {
    client: ['service/pages.ts', 'readListing', 'reads page after page; two empty ones are the end'],
    emulator: ['emulator/wire/read-page.ts', 'firstRow'],
    tests: [
      ['service/pages.test.ts', 'a listing comes complete twice, for any number of rows and limit (A6)'],
      ['emulator/pages.test.ts', 'number their pages: %s'],
      ['emulator/pages.test.ts', 'can number fields and surveys otherwise'],
    ],
    variants: ['pages', 'field-pages', 'survey-pages'],
  }),
  ...withoutPath(
    section,
    '6. contacts other than their count (not shown)',
    '6. lists (not shown)',
    '6. templates (not shown)',
    '6. user groups (not shown)',
    '6. links (not shown)',
    '6. conversations other than read (not shown)',
    '6. message sending (not shown)',
  ),
];
