/**
 * The settings: what they are called, what they may be, and what they are when nobody sets them. They come
 * from a YAML file and from the environment, which wins; `config/load.ts` brings the two together.
 */
import { z } from 'zod';
import {
  atLeast,
  conflictPolicy,
  flag,
  listingFilter,
  milliseconds,
  oneOf,
  paginationBody,
  positive,
  positiveUpTo,
  secret,
  share,
  shareUpTo,
  someShare,
  text,
  upTo,
  whole,
  word,
} from './values.ts';

const segment = z.strictObject({
  name: word.describe('Name under which the count is kept.'),
  body: paginationBody.default({}).describe('Pagination body of the question, such as {filter: vip}.'),
});

export const configSchema = z.strictObject({
  team: word.default('default').describe('Name of the team in this database.'),
  database: z
    .strictObject({
      url: text.optional().describe('Postgres 15 or newer; absent: an embedded server. DATABASE_URL.'),
      urlFile: text.optional().describe('File that holds the url.'),
      dataDir: text.optional().describe('Where the embedded server keeps its files.'),
      migrate: flag
        .default(true)
        .describe('Bring the schema up to date at the start of reconcile and daemon.'),
    })
    .prefault({}),
  service: z
    .strictObject({
      baseUrl: text.optional().describe('https; plain http on loopback only. MUSTERD_BASE_URL.'),
      secretId: secret.optional().describe('Secret ID of the API Secret. MUSTERD_SECRET_ID.'),
      secretKey: secret
        .optional()
        .describe('Secret Key of the API Secret. MUSTERD_SECRET_KEY, better in a file.'),
      secretKeyFile: text.optional().describe('File that holds the secretKey.'),
      nextSecretId: secret
        .optional()
        .describe('The second API Secret while rotating. MUSTERD_NEXT_SECRET_ID.'),
      nextSecretKey: secret.optional().describe('Its key. MUSTERD_NEXT_SECRET_KEY.'),
      nextSecretKeyFile: text.optional().describe('File that holds the nextSecretKey.'),
      apiKey: secret.optional().describe('Legacy team API key, planned for deprecation. MUSTERD_API_KEY.'),
      apiKeyFile: text.optional().describe('File that holds the apiKey.'),
      caFile: text
        .optional()
        .describe('PEM file of authorities to trust besides the usual ones. MUSTERD_CA_FILE.'),
    })
    .prefault({}),
  schedule: z
    .strictObject({
      users: text
        .default('*/5 * * * *')
        .describe('When the daemon reconciles the users: cron, five fields, or six with seconds first.'),
      listings: text.default('0 * * * *').describe('When it refreshes tags and contact fields, likewise.'),
      counts: text.default('*/15 * * * *').describe('When it counts contacts, likewise.'),
      timezone: text.default('UTC').describe('Zone of the schedule; any but UTC skips or repeats hours.'),
    })
    .prefault({}),
  edits: z
    .strictObject({
      debounceMs: milliseconds
        .default(1_000)
        .describe('How long the daemon waits after an edit of the mirror for more of them.'),
      everyMs: milliseconds
        .default(5_000)
        .describe("Least time between two pushes of a team's edits outside of the schedule."),
      pollMs: positive
        .default(30_000)
        .describe('How often it looks for edits by itself, where a notification can be lost.'),
    })
    .prefault({}),
  push: z
    .strictObject({
      batchSize: positiveUpTo(25).default(25).describe('Users per update request.'),
      quietPeriodMs: milliseconds
        .default(600_000)
        .describe('How long an unanswered push may still take effect.'),
    })
    .prefault({}),
  http: z
    .strictObject({
      totalDeadlineMs: positive
        .default(60_000)
        .describe('Until an answer is complete; until it begins, half of that.'),
      concurrency: positiveUpTo(64).default(4).describe('Requests in flight at once.'),
      maxResponseBytes: positive
        .default(33_554_432)
        .describe(
          'Larger answers are refused. A page of a listing may have 8 MiB at most, a row 1 MiB, a count 64 KiB.',
        ),
    })
    .prefault({}),
  rate: z
    .strictObject({
      perMinute: positive.default(500).describe("The service's limit."),
      share: someShare.default(1).describe('Part of the limit that is ours.'),
    })
    .prefault({}),
  pages: z
    .strictObject({
      size: positiveUpTo(10_000).default(100).describe('Rows asked for per page.'),
    })
    .prefault({}),
  absence: z
    .strictObject({
      confirmAfterMs: milliseconds
        .default(600_000)
        .describe('Between the passes that must miss a row before it is gone.'),
      maxRows: milliseconds
        .default(3)
        .describe('More missing rows than this, and than maxShare, are an accident.'),
      maxShare: shareUpTo(0.5).default(0.1).describe('Share of the rows present.'),
    })
    .prefault({}),
  scope: z
    .strictObject({
      tags: listingFilter.describe('Which tags are mirrored, as a pagination body; empty: all.'),
      contactFields: listingFilter.describe('Which contact fields are mirrored, likewise.'),
    })
    .prefault({}),
  policy: z
    .strictObject({
      name: conflictPolicy.default('hold').describe('When both sides changed the name.'),
      email: conflictPolicy.default('hold').describe('When both sides changed the email.'),
      phone: conflictPolicy.default('hold').describe('When both sides changed the phone.'),
      roleId: conflictPolicy.default('hold').describe('When both sides changed the role.'),
    })
    .prefault({}),
  guard: z
    .strictObject({
      maxRows: milliseconds
        .default(25)
        .describe('Users that one run may push to, if maxShare allows no more.'),
      maxShare: share.default(0.2).describe('Share of the users that one run may push to.'),
      maxSharePerDay: share.default(0.5).describe('Share of the users that all runs of a day may push to.'),
      maxRoleChanges: milliseconds.default(3).describe('Roles that may change in one run.'),
    })
    .prefault({}),
  roles: z
    .strictObject({
      admin: z.array(whole).default([1]).describe('Role ids of administrators; the last one is not demoted.'),
    })
    .prefault({}),
  segments: z
    .array(segment)
    .min(1, 'at least one segment is expected')
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two segments have one name')
    .default([{ name: 'all', body: {} }])
    .describe('Contact counts to take.'),
  lease: z
    .strictObject({
      ttlMs: atLeast(1_000).default(20_000).describe('How long a lease outlives its holder.'),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: oneOf('debug', 'info', 'warn', 'error', 'silent')
        .optional()
        .describe('Least severe log line to write.'),
    })
    .prefault({}),
  daemon: z
    .strictObject({
      queue: oneOf('process', 'postgres')
        .default('process')
        .describe(
          'process: this daemon does everything. postgres: all daemons on the database share the teams.',
        ),
      concurrency: positiveUpTo(64).default(4).describe('Teams that one daemon reconciles at once.'),
    })
    .prefault({}),
  ping: z
    .strictObject({
      url: text.optional().describe('Called (GET) after each complete run of the users: a dead-man switch.'),
    })
    .prefault({}),
  hooks: z
    .strictObject({
      token: secret
        .pipe(z.string().min(16, 'at least 16 characters'))
        .optional()
        .describe('POST /hooks/<token> on the status server asks for a run of this team soon.'),
      tokenFile: text.optional().describe('File that holds the token.'),
    })
    .prefault({}),
  status: z
    .strictObject({
      port: upTo(65_535).default(0).describe('Port of the status server; 0: off.'),
      host: text.default('127.0.0.1').describe('Address that the status server listens on.'),
    })
    .prefault({}),
});

/** All settings by their path, such as `push.batchSize`. */
export const settingPaths: readonly string[] = Object.entries(configSchema.shape).flatMap(
  ([section, schema]) => {
    const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
    return inner instanceof z.ZodObject
      ? Object.keys(inner.shape).map((key) => `${section}.${key}`)
      : [section];
  },
);

/**
 * What earlier versions had settings for, and what takes their place. They have no effect: a file that names one still
 * starts the daemon, which warns.
 */
export const goneSettings: Readonly<Record<string, string>> = {
  'push.maxTries': 'a field is held after 3 tries',
  'http.connectTimeoutMs': 'a connection has 5 s',
  'http.headersTimeoutMs': 'an answer has half of http.totalDeadlineMs to begin',
  'rate.burst': 'it is learned from the service',
  clock: 'tokens are dated by the service where the clocks differ by 30 s to 15 minutes',
  'pages.max': 'a listing may have 100,000 pages',
  'guard.minPopulation': 'shares apply from 20 users on',
  'guard.maxDrift': 'a fifth of the users may lack a field that they had',
  'lease.waitMs': 'the commands take --wait <seconds>',
};

/** What can differ from team to team. The rest is of the process: its database, its status server, its log. */
const teamSchema = configSchema.omit({ team: true, database: true, log: true, daemon: true, status: true });

/** The sections that can stand under the name of a team. */
export const teamSections: ReadonlySet<string> = new Set(Object.keys(teamSchema.shape));

/** What may stand in a file: the settings of all teams, and those that differ for some. */
export const fileSchema = configSchema.extend({
  teams: z
    .record(z.string(), teamSchema)
    .optional()
    .describe('Teams by name, each with the settings in which it differs from the rest of the file.'),
});

/** The settings of one team. */
export type Config = z.output<typeof configSchema>;
