/**
 * The settings: their names, allowed values and defaults. They come from a YAML file and the environment, which takes
 * precedence; `config/load.ts` merges the two.
 */
import { z } from 'zod';
import { eachSingle, single } from '../model/fields.ts';
import { statusSettings } from './status-settings.ts';
import {
  conflictPolicy,
  atLeastZero,
  days,
  flag,
  longSecret,
  milliseconds,
  oneOf,
  paginationBody,
  positive,
  positiveUpTo,
  secret,
  share,
  someShare,
  text,
  whole,
  word,
  zone,
} from './values.ts';

const segment = z.strictObject({
  name: word.describe('Name under which the count is kept.'),
  body: paginationBody.default({}).describe('Pagination body of the request, such as {filter: vip}.'),
});

/** A section of settings. The settings file can leave it out. */
const section = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.prefault(z.strictObject(shape), {} as never);

export const configSchema = z.strictObject({
  team: word.default('default').describe('Name of the team in this database.'),
  database: section({
    url: text.optional().describe('URL of a Postgres 15 or newer. Absent: musterd runs its own server.'),
    dataDir: text
      .optional()
      .describe(
        "Folder of musterd's own server. Absent: systemd's state directory; /var/lib/musterd for root; otherwise the user's data folder.",
      ),
    migrate: flag.default(true).describe('Bring the schema up to date at the start of reconcile and daemon.'),
  }),
  service: section({
    baseUrl: text.optional().describe('Address of the service. https; plain http on loopback only.'),
    secretId: secret.optional().describe('Secret ID of the API Secret.'),
    secretKey: secret.optional().describe('Its Secret Key. Better in a file.'),
    secretKeyFile: text.optional().describe('File that contains the key.'),
    nextSecretId: secret.optional().describe('The second API Secret, while rotating.'),
    nextSecretKey: secret.optional().describe('Its Secret Key.'),
    nextSecretKeyFile: text.optional().describe('File that contains the key.'),
    apiKey: secret
      .optional()
      .describe('The legacy team API key, if there is no API Secret. The service plans to drop it.'),
    caFile: text
      .optional()
      .describe("PEM file of certificate authorities to trust in addition to Node's own."),
  }),
  schedule: section({
    users: text
      .default('*/5 * * * *')
      .describe(
        'When the daemon reconciles the users, in UTC: cron, five fields, or six with seconds first.',
      ),
    listings: text
      .default('0 * * * *')
      .describe('When the daemon refreshes the listings (tags, contact fields, inboxes, surveys), likewise.'),
    counts: text.default('*/15 * * * *').describe('When the daemon counts contacts, likewise.'),
  }),
  push: section({
    batchSize: positiveUpTo(25).default(25).describe('Users per update request.'),
    quietPeriodMs: milliseconds(0)
      .default(600_000)
      .describe(
        'How long an update without an answer may still take effect. Until then it is not sent again.',
      ),
    approve: oneOf('guarded', 'always')
      .default('guarded')
      .describe(
        'guarded: edits within the limits are sent without approval. always: each edit waits until a person approves it.',
      ),
    fourEyes: flag
      .default(false)
      .describe('Nobody may approve their own edits. In SQL this applies from the next run on.'),
  }),
  http: section({
    totalDeadlineMs: milliseconds(1)
      .default(60_000)
      .describe('Longest time until an answer is complete. It must begin within half of that.'),
    concurrency: positiveUpTo(64).default(8).describe('Requests in flight at once.'),
  }),
  rate: section({
    perMinute: positive
      .default(500)
      .describe("The service's limit, for all processes on one database together."),
    share: someShare
      .default(1)
      .describe('Part of the limit that musterd uses; other programs of the team have the remaining part.'),
  }),
  pages: section({
    size: positiveUpTo(10_000)
      .optional()
      .describe(
        'Rows to request per page; halved, down to 10, if the service refuses. Absent: 100 at first, then up to 1000 if the service returns that many.',
      ),
  }),
  absence: section({
    confirmAfterMs: milliseconds(0)
      .default(600_000)
      .describe('Time between the first complete pass without a row and the pass that marks it as gone.'),
  }),
  policy: section({
    name: conflictPolicy.default('hold').describe('The rule if both sides changed the name.'),
    ...eachSingle((field) =>
      conflictPolicy.default('hold').describe(`The same for the ${single(field).noun}.`),
    ),
  }),
  guard: section({
    maxRows: atLeastZero
      .default(25)
      .describe(
        'Within a day at most this many users are pushed to without an approval, or maxShare of them if that is more. Further pushes wait for a person.',
      ),
    maxShare: share.default(0.2).describe('The same as a share of the users present.'),
    maxRoleChanges: atLeastZero
      .default(3)
      .describe('If one run would change more roles than this, they are held.'),
  }),
  roles: section({
    admin: z.array(whole).default([1]).describe('Role ids of administrators. The last one is never demoted.'),
  }),
  display: section({
    timezone: zone
      .default('UTC')
      .describe(
        'Time zone of all times that people read, such as Europe/Berlin. JSON, CSV and SQL have UTC.',
      ),
  }),
  phones: section({
    country: positiveUpTo(999)
      .optional()
      .describe(
        'Calling code of phone numbers that a file gives without one, such as 49. In SQL, digits without a plus sign begin with it, from the next run on.',
      ),
  }),
  segments: z
    .array(segment)
    .min(1, 'at least one segment is expected')
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two segments have one name')
    .default([{ name: 'all', body: {} }])
    .describe('Contact counts to take, one request each: a name, and the pagination body of the request.'),
  lease: section({
    ttlMs: milliseconds(1_000)
      .default(20_000)
      .describe('How long a team stays reserved for a run whose machine died.'),
  }),
  retention: section({
    changes: days
      .default('forever')
      .describe('How long the ledger of users and their edits is kept: a number of days, or forever.'),
  }),
  log: section({
    level: oneOf('debug', 'info', 'warn', 'error', 'silent')
      .optional()
      .describe('Least severe log line to write. Absent: warn on a terminal, info elsewhere.'),
  }),
  daemon: section({
    queue: oneOf('process', 'postgres')
      .default('process')
      .describe(
        'process: this daemon does everything. postgres: all daemons on the database share the teams.',
      ),
    concurrency: positiveUpTo(64).default(4).describe('Teams that one daemon reconciles at once.'),
  }),
  ping: section({
    url: text
      .optional()
      .describe('Requested (GET) after each complete run of the users, and only then: a dead-man switch.'),
  }),
  notify: section({
    url: text
      .optional()
      .describe(
        'The daemon posts here what people should know: failing runs, a stale mirror, refused credentials, edits that wait for a person; and when each is over. It is JSON with a text that chat tools show.',
      ),
    secret: longSecret
      .optional()
      .describe('Signs each post as in Standard Webhooks. 16 characters or more, or whsec_ and base64.'),
  }),
  status: section(statusSettings),
});

/** The paths of all settings, such as `push.batchSize`. */
export const settingPaths: readonly string[] = Object.entries(configSchema.shape).flatMap(
  ([section, schema]) => {
    const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
    return inner instanceof z.ZodObject
      ? Object.keys(inner.shape).map((key) => `${section}.${key}`)
      : [section];
  },
);

/** The sections that can differ from team to team. The other sections apply to the whole process. */
const teamSchema = configSchema.omit({
  team: true,
  database: true,
  display: true,
  log: true,
  daemon: true,
  status: true,
});

/** The names of the sections that can differ from team to team. */
export const teamSections: ReadonlySet<string> = new Set(Object.keys(teamSchema.shape));

/** The schema of a file: the settings that all teams share, and the settings of single teams. */
export const fileSchema = configSchema.extend({
  teams: z
    .record(z.string(), teamSchema)
    .optional()
    .describe('Teams by name, each with the settings in which it differs from the top level.'),
});

/** The settings of one team. */
export type Config = z.output<typeof configSchema>;
