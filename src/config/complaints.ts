/** Complaints about the settings, with the place of each. */
import type { z } from 'zod';
import { MusterdError } from '../errors.ts';
import { suggestion } from './nearest.ts';
import { isSection, type Path, type RawSettings } from './raw-settings.ts';

/** Settings of earlier versions, and what replaces each of them, for the complaint about such a setting. */
export const goneSettings: Readonly<Record<string, string>> = {
  edits:
    'the daemon pushes edits after 50 ms, at most every 500 ms, and polls every 30 s for edits without a notification',
  'push.maxTries': 'a field is held after 3 tries',
  'http.connectTimeoutMs': 'connecting may take 5 s',
  'http.headersTimeoutMs': 'an answer must begin within half of http.totalDeadlineMs',
  'rate.burst': 'it is learned from the service',
  clock: 'tokens use the time of the service if the clocks differ by 30 s to 15 minutes',
  'pages.max': 'a listing may have 100,000 pages',
  'guard.minPopulation': 'shares apply to every team',
  'guard.maxSharePerDay': 'guard.maxRows and guard.maxShare count what happens within a day',
  'guard.maxDrift': 'a field that the service does not show stays as it is on both sides',
  'database.urlFile': 'name the file in DATABASE_URL_FILE, or give database.url',
  'database.port': 'musterd keeps the port in the file "port" of the data directory',
  'schedule.timezone': 'schedules are in UTC',
  'absence.maxRows': 'up to 3 missing rows, or a tenth of them, are marked as gone without an approval',
  'absence.maxShare': 'up to 3 missing rows, or a tenth of them, are marked as gone without an approval',
  'retention.counts': 'each count is kept for 90 days, and the last one of each day for ever',
  'service.apiKeyFile': 'name the file in MUSTERD_API_KEY_FILE, or give service.apiKey',
  'status.user': 'give status.people, by name, each with a tokenFile',
  'status.password': 'give status.people, by name, each with a token',
  'status.passwordFile': 'give status.people, by name, each with a tokenFile',
  'status.token': 'give status.people, by name, each with a token of their own',
  'status.tokenFile': 'give status.people, by name, each with a tokenFile of their own',
  'status.decide': 'give each person who decides on the page "may: decide" in status.people',
  'lease.waitMs': 'the commands take --wait <seconds>',
  write:
    'commands send tags, messages and read conversations at once (tag create, schedule, conversations read)',
  hooks: 'the service sends no webhooks. Run "musterd reconcile" to look at once, or shorten schedule.users',
  scope: 'listings are mirrored completely; a condition in SQL selects a part',
  'notify.format': 'each notice is JSON with a text that Slack, Mattermost and others show',
  'notify.details': 'a notice has counts and the command that shows the details',
  'http.maxResponseBytes':
    'an answer may have 32 MiB; a smaller pages.size makes the pages of listings smaller',
  'retention.runs': 'a run is kept for 90 days, and as long as something refers to it',
  'guard.maxNewTags': 'a tag is made at once by a command',
  'guard.maxMessages': 'a message is sent at once by a command',
  'guard.maxRecipients': 'a message is sent at once by a command',
};

/** A value that an environment variable sets. */
export interface Assignment {
  readonly path: Path;
  readonly value: unknown;
  /** The variable that holds the value, or that names the file with it. */
  readonly name: string;
  /** Present if the value is for one team only. */
  readonly team?: string | undefined;
}

export interface Complaint {
  /** A place in the file, or the name of a variable. */
  readonly where: string;
  /** The setting at that place, such as `push.batchSize`. Absent for a variable, whose name identifies its setting. */
  readonly setting?: string;
  /** The team that the complaint is about, if the file names teams. */
  readonly team?: string | undefined;
  readonly message: string;
}

/** The sources of one team's settings. */
export interface Origins {
  /** The team's name under `teams`, or `undefined` if the file names no teams. */
  readonly team: string | undefined;
  /** The settings at the top level of the file, and those below the name of the team. */
  readonly common: RawSettings;
  readonly own: RawSettings;
  /** The sections that can differ from team to team. */
  readonly teamSections: ReadonlySet<string>;
  /** The values from environment variables. If several set the same path, the last of them is used. */
  readonly assigned: readonly Assignment[];
  /** The line and column of a path in the file, or of its nearest parent if the file lacks the path. */
  readonly locate: (path: Path) => string;
}

export function invalid(message: string, hint?: string): MusterdError {
  return new MusterdError('configuration', message, hint === undefined ? {} : { hint });
}

const dotted = (path: Path) => path.map(String).join('.');

/** True if the team has its own value at a path. A list or single value of the team replaces the whole common value. */
function isOwn(own: unknown, common: unknown, path: Path): boolean {
  const [first, ...rest] = path.map(String);
  if (first === undefined || !isSection(own)) return true;
  const inherited = isSection(common) && Object.hasOwn(common, first) ? common[first] : undefined;
  if (!Object.hasOwn(own, first)) return inherited === undefined;
  return isOwn(own[first], inherited, rest);
}

/** A complaint about a setting of one team, with the place that the setting comes from. */
export function complain(
  { team, teamSections, common, own, assigned, locate }: Origins,
  path: Path,
  message: string,
): Complaint {
  const setting = dotted(path);
  const variable = assigned.findLast(({ path: set }) => {
    const at = dotted(set);
    return at === setting || at.startsWith(`${setting}.`) || setting.startsWith(`${at}.`);
  });
  if (variable !== undefined && setting.startsWith(`${dotted(variable.path)}.`))
    return { where: variable.name, setting, message };
  if (variable !== undefined) return { where: variable.name, message };
  if (team !== undefined && isOwn(own, common, path))
    return { where: locate(['teams', team, ...path]), setting, team, message };
  const inherits = teamSections.has(String(path[0]));
  return { where: locate(path), setting, team: inherits ? team : undefined, message };
}

const kinds: Readonly<Record<string, string>> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** The message for an issue whose schema has no message of its own. The message does not contain the value. */
export function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  const kind = issue.code === 'invalid_type' ? kinds[issue.expected] : undefined;
  return kind === undefined ? undefined : `${kind} is expected`;
}

/**
 * One complaint per unknown key, with the place where it was set.
 *
 * @param settings all settings, such as `push.batchSize`
 */
export function complaintsOf(
  issue: z.core.$ZodIssue,
  origins: Origins,
  settings: readonly string[],
): readonly Complaint[] {
  if (issue.code !== 'unrecognized_keys') return [complain(origins, issue.path, issue.message)];
  const sections = [...new Set(settings.map((name) => name.replace(/\..*/, '')))];
  return issue.keys.map((key) => {
    const path = [...issue.path, key];
    const name = dotted(path);
    const instead = goneSettings[name];
    const message =
      instead === undefined
        ? `there is no such setting${suggestion(name, path.length === 1 ? sections : settings)}`
        : `this setting no longer exists: ${instead}. Leave it out`;
    return complain(origins, path, message);
  });
}

/** One line for each complaint. A complaint about a place from which several teams inherit appears only once. */
export function complaintsInWords(complaints: readonly Complaint[]): readonly string[] {
  const groups = Map.groupBy(complaints, ({ where, setting, message }) =>
    JSON.stringify([where, setting, message]),
  );
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { where, setting, team, message } = first;
    if (setting === undefined) return [`${where}: ${message}`];
    const name = team === undefined ? setting : `teams.${team}.${setting}`;
    const more = others.filter((other) => other.team !== team).length;
    const inherited = more === 0 ? '' : ` (and of ${more === 1 ? 'another team' : `${more} other teams`})`;
    return [`${where}: ${name}${inherited}: ${message}`];
  });
}
