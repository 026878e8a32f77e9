/** What interface.md says of bodies, resources and fields, and the resources that it shows no path to. */
import { conforms, type Row, rule, withoutPath } from './interface-row.ts';

const general: readonly Row[] = [
  rule('General rules', '1. all bodies are JSON', {
    client: ['service/answer.ts', 'judgeHead'],
    emulator: ['emulator/wire/answer-request.ts', 'answerRequest.stringify'],
    tests: [
      conforms('each reading endpoint answers 200 with JSON'),
      ['service/faults.test.ts', 'a read rejects the type "%s" unless anyContentType is set (N10)'],
      ['service/requests.test.ts', 'the client sends every documented field of %s'],
      ['emulator/empty-objects.test.ts', 'accepts [] for {}, but answers 400 if empty-list=refused: %s %j'],
    ],
    variants: ['empty-list'],
  }),
  rule('General rules', '2. the service accepts only HTTPS; plain HTTP fails', {
    client: ['service/base-url.ts', 'checkBaseUrl', 'allows plain HTTP only to loopback, for the emulator'],
    emulator: ['emulator/wire/web-server.ts', 'createServer'],
    tests: [
      ['service/client.test.ts', 'checkBaseUrl rejects remote http, a login, a query and a non-URL: "%s"'],
      ['service/faults.test.ts', 'the client trusts a private authority whose certificate is in caFile'],
      ['emulator/emulator.test.ts', 'rejects plain HTTP, and resets a TLS connection for the fault reset-in'],
      ['emulator/emulator.test.ts', 'refuses to start with plain HTTP except on loopback'],
    ],
  }),
  rule('General rules', '2. calls without authentication fail', {
    client: ['service/call.ts', 'attempt.authorization', 'no call is sent without credentials'],
    emulator: ['emulator/wire/authenticate.ts', 'authenticate'],
    tests: [
      conforms('missing, invalid and expired credentials get 401 Unauthorized'),
      ['service/client.test.ts', 'sends %s with its method and path and a signed token'],
    ],
  }),
  rule('General rules', '3. every response has an `X-Request-Id`', {
    client: ['service/call-outcome.ts', 'AnswerMetadata.requestId', 'each event and each error has the id'],
    emulator: ['emulator/wire/service-routes.ts', 'addServiceRoutes X-Request-Id'],
    tests: [
      conforms('every response carries a unique X-Request-Id'),
      [
        'service/library.test.ts',
        'tags() and inboxes() throw an error with status 404 if the service answers 404',
      ],
    ],
  }),
  rule('General rules', '4. schedules and conversations need an `inbox_id`', {
    client: ['model/message-request.ts', 'ScheduleRequest.inboxId', 'does not compile without an inbox'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'scheduleProblem.inbox_id'],
    tests: [
      ['service/requests.test.ts', 'the client sends every documented field of %s'],
      ['emulator/schedules.test.ts', 'answers 400 to a message if a required field is missing or wrong'],
      ['emulator/schedules.test.ts', 'conversations/read answers 400 if the inbox or the user is unknown'],
    ],
  }),
  rule('General rules', '4. inbox ids come from the inbox listing', {
    client: ['model/listed/inboxes.ts', 'inboxes.list'],
    emulator: ['emulator/wire/encode.ts', 'encodeInbox'],
    tests: [['service/emulator.test.ts', 'the emulator › answers all calls if %s, or a list is incomplete']],
  }),
  ...withoutPath('General rules', '5. `creator_id` when a message is sent'),
];

const fields: readonly Row[] = [
  rule('Resources', 'timestamps of users are in ISO 8601 and UTC', {
    client: ['mirror/db/timestamp.ts', 'asTimestamp', 'keeps a timestamp as written, with all digits'],
    emulator: ['emulator/wire/show-timestamp.ts', 'formatMoment'],
    tests: [
      conforms('users/get answers users with fields of the documented types'),
      ['service/fields.test.ts', 'the client reads every documented field of %s'],
      ['emulator/users.test.ts', 'answers with blank, null, missing and extra fields as the variants set'],
    ],
    variants: ['fraction'],
  }),
  rule('Resources', 'ids are integers', {
    client: ['service/row-flaws.ts', 'takeId', 'reads ids up to 2^63 - 1; rejects rows with other ids'],
    emulator: ['emulator/wire/answer-schemas.ts', 'user.id'],
    tests: [
      ['service/wire.test.ts', 'toJson and parseJson keep any 64-bit integer exact (A8)'],
      [
        'service/wire.test.ts',
        'encodeUserPatch writes only changed fields, and of a phone only the digits (S71)',
      ],
      ['service/wire.test.ts', 'rejects a row with the id %s, and keeps the rows before and after (A9)'],
    ],
  }),
  rule('Resources', 'which fields can be missing, null or additional (undocumented)', {
    client: ['service/wire.ts', 'takeFields', 'requires only the id; keeps unknown fields in `raw`'],
    emulator: ['emulator/wire/encode.ts', 'bend'],
    tests: [
      ['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it'],
      ['service/wire.test.ts', 'keeps unknown fields in `raw`, even one called `__proto__` (A11)'],
      ['emulator/pages.test.ts', 'listings leave out rev if revisions=absent, but never the id'],
    ],
    variants: ['missing-fields', 'extra-fields', 'nulls', 'blank', 'value-types'],
  }),
  rule('Inbox', '`invited` is a list of strings', {
    client: ['model/listed/inboxes.ts', 'inboxes.invited', 'keeps a value of another type only in `raw`'],
    emulator: ['emulator/wire/encode.ts', 'encodeInbox.invited'],
    tests: [['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it']],
    variants: ['invited'],
  }),
  rule('User', '`phone` has the digits of the E.164 form, without the plus', {
    client: ['model/canonical.ts', 'canonicalPhone', 'sends and compares only digits'],
    emulator: ['emulator/wire/encode.ts', 'phoneText'],
    tests: [
      ['service/requests.test.ts', 'the client sends every documented field of %s'],
      ['emulator/users.test.ts', 'answers with blank, null, missing and extra fields as the variants set'],
    ],
    variants: ['phones'],
  }),
  rule('User', '`updated_at` is the time of the last update', {
    client: ['service/wire-user.ts', 'shape.updated_at', 'musterd ignores a user with an older time'],
    emulator: ['emulator/rules/update-user.ts', 'writeUser'],
    tests: [
      conforms('an update never moves updated_at back'),
      ['emulator/users.test.ts', 'keeps fields that an update leaves out, and sets a later updated_at'],
      ['system/variants.test.ts', 'musterd › mirrors a service with %j, and writes nothing when run again'],
    ],
    variants: ['updated-at'],
  }),
  rule('Scheduled message', '`execute` is the delivery time', {
    client: ['service/messages/wire-schedule.ts', 'shape.execute'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'showSchedule.execute'],
    tests: [['service/requests.test.ts', 'the client sends every documented field of %s']],
  }),
  rule('Write result', 'the service answers with this object if a tag or a schedule is created or updated', {
    client: ['service/messages/wire-schedule.ts', 'decodeWriteResult', 'requires only the id'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'created'],
    tests: [
      ['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it'],
      ['emulator/schedules.test.ts', 'creates, shows, replaces and cancels a message, which then gets 404'],
    ],
    variants: ['schedule-answer'],
  }),
  rule('Shared pagination body', 'each kind of object has its own `filters`', {
    client: ['model/contact-count.ts', 'PaginationBody', 'sends `filters` as given'],
    emulator: ['emulator/rules/count-contacts.ts', 'countMatching', 'counts for each combination of filters'],
    tests: [
      ['service/requests.test.ts', 'the client sends every documented field of %s'],
      ['emulator/pages.test.ts', 'returns a filtered count as a string, or as integer if count-body=integer'],
    ],
  }),
  rule('Other shapes', 'synchronised resources have `rev` and `op`', {
    client: ['model/listed/contact-fields.ts', 'contactFields', 'mirrors both fields; no decision uses them'],
    emulator: ['emulator/wire/encode.ts', 'revision'],
    tests: [
      ['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it'],
      ['emulator/pages.test.ts', 'listings leave out rev if revisions=absent, but never the id'],
    ],
    variants: ['revisions'],
  }),
];

const withoutPaths: readonly Row[] = [
  ...withoutPath(
    'What the service does',
    'messages to one contact or to a list, whose members do not see each other',
    'templates, media and merge tokens in messages',
    'surveys, campaigns and tracked short links',
  ),
  ...withoutPath('User Group', 'id', 'name', 'description', 'member_ids', 'members'),
  ...withoutPath(
    'User Group',
    'user groups are made in the web app, limit who sees lists and templates, and address several teammates',
  ),
  ...withoutPath('Contact', 'id', 'display_name', 'first', 'last', 'email', 'phone', 'custom', 'team_id'),
  ...withoutPath('Contact', 'creator_id', 'shared', 'created', 'updated', 'rev', 'op', 'assigned_user_id'),
  ...withoutPath('Contact', 'tags', 'is_opted_out'),
  ...withoutPath('Contact field', 'the ids of contact fields are the keys of a contact’s `custom`'),
  ...withoutPath('List', 'id', 'name', 'local_id', 'targets', 'team_id', 'creator_id', 'shared', 'created'),
  ...withoutPath('List', 'updated', 'rev', 'op', 'ListTarget: f', 'ListTarget: l'),
  ...withoutPath('Template', 'id', 'name', 'local_id', 'content', 'team_id', 'creator_id', 'shared'),
  ...withoutPath('Template', 'created', 'updated', 'rev', 'op', 'Content: text', 'Content: gallery'),
  ...withoutPath('Link', 'id', 'short_code', 'short_url', 'original_url', 'team_id', 'target'),
  ...withoutPath('Link', 'conversation_id', 'broadcast_id', 'campaign_step_id', 'template_id'),
  ...withoutPath('Link', 'last_visited_at', 'created_at', 'a team can read only its own links'),
  ...withoutPath('Survey', 'the id of a survey is used when messages are sent'),
  ...withoutPath(
    'Other shapes',
    '1. fields of a conversation',
    '2. fields of a message, and of a request that sends a message',
  ),
  ...withoutPath('Events', 'webhooks: kinds, shape, delivery, retries, signing'),
];

const open: readonly Row[] = [
  rule('Other shapes', '3. timestamps other than a user’s (undocumented)', {
    client: ['service/wire-lists.ts', 'decodeListed', 'keeps the text of a timestamp as written'],
    emulator: ['emulator/wire/show-timestamp.ts', 'formatMoment'],
    tests: [
      ['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it'],
      ['emulator/pages.test.ts', 'returns no row twice, but skips rows at the cursor’s time (%s digits)'],
    ],
    variants: ['fraction'],
  }),
  rule('Other shapes', '4. values of a survey’s `type` (undocumented)', {
    client: ['model/listed/surveys.ts', 'surveys.type', 'accepts any text'],
    emulator: ['emulator/wire/answer-schemas.ts', 'survey.type'],
    tests: [['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it']],
  }),
  rule('Other shapes', '5. format and values of a tag’s `color` (undocumented)', {
    client: ['model/listed/tags.ts', 'tags.color', 'accepts any text'],
    emulator: ['emulator/wire/answer-schemas.ts', 'tag.color'],
    tests: [['service/fields.test.ts', 'rejects %s if required %s is invalid, else reads it']],
  }),
  rule('States and transitions', 'states of any resource (undocumented)', {
    client: ['service/call.ts', 'nullIfMissing', 'returns null for a missing resource'],
    emulator: ['emulator/rules/schedule-endpoints.ts', 'settledAnswer', 'a sent message cannot be changed'],
    tests: [
      ['service/client.test.ts', 'reading one %s returns null after a 404, and fails after a 403'],
      [
        'emulator/schedules.test.ts',
        'with sent-change=%s and sent-read=%s, a sent message answers PUT and DELETE with %i, and GET with %i',
      ],
      ['emulator/schedules.test.ts', 'shows a cancelled message as deleted if cancelled-read=shown'],
    ],
    variants: ['sent-change', 'sent-read', 'cancelled-read'],
  }),
];

export const ruleRows: readonly Row[] = [...general, ...fields, ...withoutPaths, ...open];
