/** interface.md, Authentication, Errors, Limits and Versioning. */
import { conforms, type Proof, type Row, rule, withoutPath } from './interface-row.ts';

const jwt = 'Authentication: API Secret JWT';
const signed: Proof = ['service/client.test.ts', 'sends %s with its method and path and a signed token'];
const refused: Proof = [
  'emulator/authentication.test.ts',
  'answers 401 to a missing, malformed, forged or expired token',
];
const accepted: Proof = [
  'emulator/authentication.test.ts',
  'accepts a JWT, with or without extra claims, and the legacy API key',
];

const authentication: readonly Row[] = [
  rule('Authentication', 'every endpoint accepts two methods: `ApiSecretJwtAuth` and `LegacyApiKeyAuth`', {
    client: ['service/token.ts', 'Credentials'],
    emulator: ['emulator/wire/open-api.ts', 'securitySchemes'],
    tests: [accepted, refused],
  }),
  rule(jwt, '1. an API Secret has a Secret ID and a Secret Key', {
    client: ['service/token.ts', 'ApiSecret'],
    emulator: ['emulator/options.ts', 'TeamSecret'],
    tests: [signed, accepted],
  }),
  rule(jwt, '2. the header of the JWT has alg HS256 and typ JWT', {
    client: ['service/token.ts', 'makers.HS256'],
    emulator: ['emulator/wire/authenticate.ts', 'headerProblem'],
    tests: [signed, refused],
  }),
  rule(jwt, '3. the payload of the JWT has iss and iat', {
    client: ['service/token.ts', 'makers.iss'],
    emulator: ['emulator/wire/authenticate.ts', 'ageProblem'],
    tests: [signed, refused],
  }),
  rule(jwt, '3. how far iat may be in the future (undocumented)', {
    client: ['service/clock-skew.ts', 'createClockSkew', 'corrects differences of up to 15 minutes'],
    emulator: ['emulator/wire/authenticate.ts', 'leewayMs'],
    tests: [
      ['service/faults.test.ts', 'makes the client measure, report and correct a difference of %i s (N21)'],
      ['service/emulator.test.ts', 'the emulator › answers all calls if %s, or a list is incomplete'],
    ],
    variants: ['future-iat'],
  }),
  rule(jwt, '4. the signing secret is the Secret ID, two bars and the Secret Key', {
    client: ['service/token.ts', 'signingKey'],
    emulator: ['emulator/wire/authenticate.ts', 'signedWith'],
    tests: [signed, refused],
  }),
  rule(jwt, '5. the JWT is signed with HMAC-SHA256, and encoded as base64url without padding', {
    client: ['service/token.ts', 'makers.sign'],
    emulator: ['emulator/wire/authenticate.ts', 'decodeSegment'],
    tests: [signed, refused],
  }),
  rule(jwt, '6. the JWT is sent as a Bearer token', {
    client: ['service/token.ts', 'createTokens.Bearer'],
    emulator: ['emulator/wire/authenticate.ts', 'authenticate.Bearer'],
    tests: [signed, refused],
  }),
  rule(jwt, '7. a JWT expires 5 minutes after iat, and can be used for many calls until then', {
    client: ['service/token.ts', 'reuseMs', 'uses a JWT for 4 minutes, by a steady clock'],
    emulator: ['emulator/wire/authenticate.ts', 'lifetimeMs'],
    tests: [
      [
        'service/token.test.ts',
        'makes a new token after four minutes even if the wall clock was set back (N21, R8, S40)',
      ],
      ['emulator/faults.test.ts', 'the fault clock-skew moves the Date header and the expiry of tokens'],
      conforms('the service accepts a token twice, and with further claims'),
    ],
  }),
  rule(jwt, '8. secrets and tokens are never logged', {
    client: ['secret.ts', 'createSecret'],
    emulator: ['emulator/wire/request-log.ts', 'LoggedRequest'],
    tests: [
      [
        'service/faults.test.ts',
        'keeps tokens and the key out of errors and events if a server repeats tokens in its answers (S7)',
      ],
      ['system/command-line.test.ts', 'reconcile prints no secret key or token at log level debug (S32)'],
      ['emulator/emulator.test.ts', 'the control endpoint lists all requests except its own'],
    ],
  }),
  rule(jwt, '9. a call of `GET /v1/inboxes` checks the credentials', {
    client: ['service/credential-check.ts', 'createCredentialCheck.inboxes'],
    emulator: ['emulator/rules/team-endpoints.ts', 'teamEndpoints /v1/inboxes'],
    tests: [
      [
        'service/faults.test.ts',
        'checkCredentials() switches to an accepted next secret, and reports both secrets (N20, S43)',
      ],
    ],
  }),
  rule(
    'Authentication: rotation',
    'a team adds a second secret, verifies it with a call, and revokes the first',
    {
      client: ['service/token.ts', 'Credentials.next'],
      emulator: ['emulator/control/team-control.ts', 'TeamControl.revokeSecret'],
      tests: [
        ['service/faults.test.ts', 'a refusal of the %s secret makes the client use the %s secret (N20)'],
        ['system/check.test.ts', 'reports when a run last needed each of two secrets (S44)'],
        [
          'emulator/authentication.test.ts',
          'accepts two secrets of a team, and refuses to add a third secret',
        ],
      ],
    },
  ),
  rule('Authentication: legacy key', 'the team API key is sent as the Bearer token', {
    client: ['service/token.ts', 'makers.apiKey'],
    emulator: ['emulator/wire/authenticate.ts', 'authenticate.apiKey'],
    tests: [
      [
        'service/library.test.ts',
        'createClient sends a legacy API key unchanged, and reports a warning to onEvent',
      ],
      accepted,
    ],
  }),
];

const labelled: Proof = [
  'service/faults.test.ts',
  'label the error with the JSON string or the message of the body, else the error has no label',
];

const errors: readonly Row[] = [
  rule('Errors', 'an error response has a status and a JSON string', {
    client: ['service/answer.ts', 'readRefusal', 'reads the string for messages; it can be missing'],
    emulator: ['emulator/wire/answer-schemas.ts', 'errorLabel'],
    tests: [conforms('an error has a JSON string as its body'), labelled],
  }),
  rule('Errors', 'the inbox listing can answer 400 `bad_data`', {
    client: ['service/call-outcome.ts', 'serviceError.label'],
    emulator: ['emulator/wire/endpoint.ts', 'Endpoint.bad_data'],
    tests: [labelled, ['emulator/emulator.test.ts', 'answers 413 with a JSON string to a body of 11 MiB']],
    status: '400',
  }),
  rule('Errors', 'the user endpoints can answer 400 `error`', {
    client: ['service/call-outcome.ts', 'serviceError.label'],
    emulator: ['emulator/wire/endpoint.ts', 'refused'],
    tests: [labelled, conforms('an update of an unknown user gets 400 with the label error')],
    status: '400',
  }),
  rule('Errors', '401 `Unauthorized`', {
    client: ['service/token.ts', 'createTokens.refused', 'a fresh token, then the other secret, an error'],
    emulator: ['emulator/wire/answer-request.ts', 'admit.Unauthorized'],
    tests: [
      labelled,
      ['service/faults.test.ts', 'the client fails a write if the service refuses both secrets (N19)'],
      conforms('missing, invalid and expired credentials get 401 Unauthorized'),
    ],
    status: '401',
  }),
  ...withoutPath(
    'Errors',
    'a link endpoint can answer 403 `link_tracking_not_available`',
    '404 means that the link does not exist, or belongs to another team',
  ),
  rule('Errors', '404 for the id of a tag, a survey or a schedule (undocumented)', {
    client: ['service/call.ts', 'nullIfMissing', 'returns null'],
    emulator: ['emulator/wire/endpoint.ts', 'notFound'],
    tests: [
      ['service/client.test.ts', 'reading one %s returns null after a 404, and fails after a 403'],
      ['emulator/schedules.test.ts', 'GET tag and survey answer 404 to unknown ids, and 400 to non-numbers'],
    ],
    status: '404',
  }),
  rule('Errors', '429 `too many requests`', {
    client: ['service/rate-limiter.ts', 'createRate.throttled', 'pauses every call of the team'],
    emulator: ['emulator/wire/answer-request.ts', 'admit too many requests'],
    tests: [
      labelled,
      [
        'service/faults.test.ts',
        'slow the client to fewer than 40 requests in 30 minutes, and the next call succeeds (N16)',
      ],
      ['emulator/authentication.test.ts', 'answers 429 from the 501st request of a team in a minute'],
    ],
    status: '429',
  }),
  rule('Errors', '429: when to repeat the request (undocumented)', {
    client: ['service/retry.ts', 'choosePauseMs', 'a sane `Retry-After`, else growing pauses with jitter'],
    emulator: ['emulator/wire/answer-request.ts', 'retryAfter'],
    tests: [
      ['service/faults.test.ts', 'parseRetryAfter returns ms for seconds or a date, and else null'],
      ['service/faults.test.ts', 'choosePauseMs returns 1 s to 15 min for any text in Retry-After (N17)'],
      [
        'emulator/authentication.test.ts',
        'a 429 has the Retry-After of the variant retry-after; rate-window refills each minute or evenly',
      ],
    ],
    variants: ['retry-after'],
  }),
  rule('Errors', 'the default response `error` of write endpoints means a server error', {
    client: ['service/retry.ts', 'isRepeatable', 'repeats no write, because its outcome is unknown'],
    emulator: ['emulator/faults/faults.ts', 'faultTable.status'],
    tests: [
      labelled,
      ['service/retry.test.ts', 'repeats a read after a %i, and does not repeat a write'],
      ['emulator/faults.test.ts', 'faults instead of an answer › fault %s answers %i, and writes nothing'],
    ],
    status: 'default',
  }),
  rule('Errors', '1. body and status of other server errors (undocumented)', {
    client: ['service/retry.ts', 'nextStep', 'accepts every 5xx with any body, and repeats a read'],
    emulator: ['emulator/faults/faults.ts', 'faultTable.status'],
    tests: [
      [
        'service/faults.test.ts',
        'cause 20 retries in all for 50 failing reads, since all reads share a retry budget (N18)',
      ],
      labelled,
      ['service/retry.test.ts', 'repeats a read after a %i, and does not repeat a write'],
    ],
  }),
  rule('Errors', '2. further causes of a 400 (undocumented)', {
    client: ['reconcile/push/push.ts', 'pushBatch', 'finds the refused value, and holds only this value'],
    emulator: ['emulator/rules/user-endpoints.ts', 'checkUpdate'],
    tests: [
      [
        'reconcile/push.test.ts',
        'retries the request user by user, then field by field, and holds only the refused value (A21)',
      ],
      ['emulator/users.test.ts', 'answers 400 and writes nothing if one user of the request is invalid'],
    ],
    variants: ['unknown-user', 'unknown-role', 'refused-update'],
  }),
];

const limits: readonly Row[] = [
  rule('Limits', 'a team can send 500 requests per minute, over all endpoints', {
    client: ['service/rate-limiter.ts', 'createRate'],
    emulator: ['emulator/rules/rate-limit.ts', 'createRateLimit'],
    tests: [
      ['service/rate-limiter.test.ts', 'sends 475 requests a minute on average, and at most 500 (seed %i)'],
      ['service/rate-limiter.test.ts', 'sends 300 to 500 requests a minute with %s'],
      ['mirror/rate-limits.test.ts', 'three processes that ask 20 times each get 60 different send times'],
      ['emulator/authentication.test.ts', 'answers 429 from the 501st request of a team in a minute'],
    ],
    variants: ['rate-window'],
  }),
  rule('Limits', 'a JWT lives for 5 minutes', {
    client: ['service/token.ts', 'reuseMs'],
    emulator: ['emulator/wire/authenticate.ts', 'lifetimeMs'],
    tests: [
      [
        'service/token.test.ts',
        'makes a new token after four minutes even if the wall clock was set back (N21, R8, S40)',
      ],
      ['emulator/faults.test.ts', 'the fault clock-skew moves the Date header and the expiry of tokens'],
    ],
  }),
  rule('Limits', 'a team has at most 2 API Secrets', {
    client: ['service/token.ts', 'Credentials.next', 'accepts one current and one next secret'],
    emulator: ['emulator/rules/create-teams.ts', 'teamOf'],
    tests: [
      ['emulator/authentication.test.ts', 'accepts two secrets of a team, and refuses to add a third secret'],
      ['service/faults.test.ts', 'the client fails a write if the service refuses both secrets (N19)'],
    ],
  }),
  ...withoutPath(
    'Limits',
    'a contact has at most 5 tags',
    'the team’s `list_size` limits the size of a list',
  ),
  rule('Limits', 'largest `limit` (undocumented)', {
    client: ['service/pages.ts', 'readPages', 'a short page does not end a listing; halves a refused limit'],
    emulator: ['emulator/wire/read-page.ts', 'pageLimit'],
    tests: [
      ['service/pages.test.ts', 'two reads return all rows, for any number of rows and any page limit (A6)'],
      [
        'service/pages.test.ts',
        'reads all rows if the service cuts pages to %i rows but numbers pages by the requested size (A6)',
      ],
      ['emulator/pages.test.ts', 'listings return 30 rows by default, and never more rows than limit-cap'],
    ],
    variants: ['limit-cap', 'over-cap'],
  }),
  rule('Limits', 'largest request body (undocumented)', {
    client: ['service/roster-endpoints.ts', 'maxPatches', 'an update has at most 25 users'],
    emulator: ['emulator/wire/web-server.ts', 'settings.bodyLimit'],
    tests: [
      ['service/client.test.ts', 'updateUsers() sends no request for an empty map, and throws for 26 users'],
      ['emulator/emulator.test.ts', 'answers 413 with a JSON string to a body of 11 MiB'],
    ],
  }),
];

const versioning: readonly Row[] = [
  rule('Versioning', '1. every path begins with `/v1`; the version is 1.0', {
    client: ['service/operation.ts', 'operations'],
    emulator: ['emulator/wire/open-api.ts', 'openApiDocument.version'],
    tests: [
      signed,
      ['emulator/open-api.test.ts', 'equals docs/openapi.json (UPDATE_OPENAPI=1 writes it, unformatted)'],
    ],
  }),
  rule('Versioning', '2. the legacy key is planned for deprecation', {
    client: ['service/client.ts', 'openChannel legacy-api-key', 'logs a warning at each start'],
    emulator: ['emulator/wire/open-api.ts', 'securitySchemes.LegacyApiKeyAuth'],
    tests: [
      [
        'service/library.test.ts',
        'createClient sends a legacy API key unchanged, and reports a warning to onEvent',
      ],
      ['system/check.test.ts', 'exits 0 with a legacy API key, and warns of its planned deprecation (S50)'],
    ],
  }),
  rule('Versioning', '3. compatibility, and the date of deprecation (undocumented)', {
    client: ['service/wire.ts', 'takeFields', 'keeps new fields in `raw`, without an error'],
    emulator: ['emulator/wire/encode.ts', 'bend'],
    tests: [['service/wire.test.ts', 'keeps unknown fields in `raw`, even one called `__proto__` (A11)']],
    variants: ['extra-fields'],
  }),
];

export const accessRows: readonly Row[] = [...authentication, ...errors, ...limits, ...versioning];
