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
    url: text
      .optional()
      .describe('URL of a Postgres 15 or newer. If absent, musterd runs its own Postgres server.'),
    dataDir: text
      .optional()
      .describe(
        "Folder of musterd's own Postgres server. If absent: systemd's state directory; /var/lib/musterd for root; otherwise the user's data folder.",
      ),
    migrate: flag
      .default(true)
      .describe('If true, reconcile and daemon bring the schema of the database up to date when they start.'),
  }),
  service: section({
    baseUrl: text
      .optional()
      .describe('Address of the service. It must use https; plain http is allowed only on loopback.'),
    secretId: secret.optional().describe('Secret ID of the API Secret.'),
    secretKey: secret.optional().describe('Secret Key of the API Secret. Prefer secretKeyFile.'),
    secretKeyFile: text.optional().describe('File that contains the key.'),
    nextSecretId: secret.optional().describe('Secret ID of the second API Secret, while you rotate secrets.'),
    nextSecretKey: secret.optional().describe('Secret Key of the second API Secret.'),
    nextSecretKeyFile: text.optional().describe('File that contains the key.'),
    apiKey: secret
      .optional()
      .describe('The legacy team API key, if you have no API Secret. The service plans to drop this key.'),
    caFile: text
      .optional()
      .describe("PEM file of certificate authorities to trust in addition to Node's own."),
  }),
  schedule: section({
    users: text
      .default('*/5 * * * *')
      .describe(
        'When the daemon reconciles the users: a cron expression in UTC with five fields, or with six if seconds come first.',
      ),
    listings: text
      .default('0 * * * *')
      .describe(
        'When the daemon refreshes the listings (tags, contact fields, inboxes, surveys): a cron expression like schedule.users.',
      ),
    counts: text
      .default('*/15 * * * *')
      .describe('When the daemon counts contacts: a cron expression like schedule.users.'),
  }),
  push: section({
    batchSize: positiveUpTo(25).default(25).describe('Largest number of users in one update request.'),
    quietPeriodMs: milliseconds(0)
      .default(600_000)
      .describe(
        'How long an update without an answer may still take effect. musterd does not send the update again before this time has passed.',
      ),
    approve: oneOf('guarded', 'always')
      .default('guarded')
      .describe(
        'guarded: musterd sends edits within the limits without an approval. always: each edit waits until a person approves it.',
      ),
    fourEyes: flag
      .default(false)
      .describe(
        'If true, nobody can approve their own edits. In SQL, a change of this setting takes effect with the next run.',
      ),
  }),
  http: section({
    totalDeadlineMs: milliseconds(1)
      .default(60_000)
      .describe(
        'Longest time until an answer of the service is complete. The answer must begin within half of this time.',
      ),
    concurrency: positiveUpTo(64)
      .default(8)
      .describe('Largest number of requests in flight at the same time.'),
  }),
  rate: section({
    perMinute: positive
      .default(500)
      .describe("The service's limit on requests per minute, for all processes on one database together."),
    share: someShare
      .default(1)
      .describe(
        'Share of rate.perMinute that musterd uses; other programs of the team can use the remaining share.',
      ),
  }),
  pages: section({
    size: positiveUpTo(10_000)
      .optional()
      .describe(
        'Number of rows that musterd requests per page. If the service refuses the number, musterd halves it, down to 10. If absent: 1000 at first, later the size that the service accepted.',
      ),
  }),
  absence: section({
    confirmAfterMs: milliseconds(0)
      .default(600_000)
      .describe(
        'Shortest time between the first complete pass that lacks a row and the pass that marks the row as gone.',
      ),
  }),
  policy: section({
    name: conflictPolicy.default('hold').describe('The rule for a conflict, if both sides changed the name.'),
    ...eachSingle((field) =>
      conflictPolicy
        .default('hold')
        .describe(`The rule for a conflict, if both sides changed the ${single(field).noun}.`),
    ),
  }),
  guard: section({
    maxRows: atLeastZero
      .default(25)
      .describe(
        'Without an approval, musterd pushes to at most this many users within a day, or to maxShare of the users if that is more. Further pushes wait for a person.',
      ),
    maxShare: share.default(0.2).describe('Like guard.maxRows, but as a share of the users in the mirror.'),
    maxRoleChanges: atLeastZero
      .default(3)
      .describe('If one run would change more roles than this number, the guard holds all its role changes.'),
  }),
  roles: section({
    admin: z
      .array(whole)
      .default([1])
      .describe('Role ids of administrators. musterd never demotes the last administrator.'),
  }),
  display: section({
    timezone: zone
      .default('UTC')
      .describe(
        'Time zone of all times that people read, such as Europe/Berlin. JSON, CSV and SQL always use UTC.',
      ),
  }),
  phones: section({
    country: positiveUpTo(999)
      .optional()
      .describe(
        'Calling code that import adds to phone numbers without one, such as 49. From the next run on, SQL accepts a phone without a plus sign only if the phone begins with this code.',
      ),
  }),
  segments: z
    .array(segment)
    .min(1, 'at least one segment is expected')
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two segments have one name')
    .default([{ name: 'all', body: {} }])
    .describe(
      'Contact counts that musterd reads, one request per count: a name, and the pagination body of the request.',
    ),
  lease: section({
    ttlMs: milliseconds(1_000)
      .default(20_000)
      .describe('How long the lease of a team stays reserved for a run whose machine has died.'),
  }),
  retention: section({
    changes: days
      .default('forever')
      .describe('How long musterd keeps the ledger of users and their edits: a number of days, or forever.'),
  }),
  log: section({
    level: oneOf('debug', 'info', 'warn', 'error', 'silent')
      .optional()
      .describe(
        'Level of the least severe log lines that musterd writes. If absent: warn on a terminal, otherwise info.',
      ),
  }),
  daemon: section({
    queue: oneOf('process', 'postgres')
      .default('process')
      .describe(
        'process: this daemon reconciles all teams itself. postgres: all daemons on the database share the teams.',
      ),
    concurrency: positiveUpTo(64)
      .default(4)
      .describe('Largest number of teams that one daemon reconciles at the same time.'),
  }),
  ping: section({
    url: text
      .optional()
      .describe(
        'URL that musterd requests (GET) after each complete run of the users, and only then: a dead-man switch.',
      ),
  }),
  notify: section({
    url: text
      .optional()
      .describe(
        'URL to which the daemon posts notices: failing runs, a stale mirror, refused credentials, edits that wait for a person; and when each of these ends. A notice is JSON with a text that chat tools show.',
      ),
    secret: longSecret
      .optional()
      .describe(
        'Secret with which the daemon signs each notice, as in Standard Webhooks: 16 characters or more, or whsec_ and base64.',
      ),
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
    .describe('Teams by name. Each team has only the settings that differ from the top level.'),
});

/** The settings of one team. */
export type Config = z.output<typeof configSchema>;
