import {
  existsSync,
  readFileSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createTeam, putUser, type PlayedTeam, type UserRecord } from './played-team.ts';
import { randomUUID } from 'node:crypto';

/** The target of the path. A link by anybody else would choose what is read and overwritten. */
export function targetOf(path: string): string {
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named?.isSymbolicLink() !== true) return path;
  if (named.uid !== 0 && named.uid !== process.geteuid?.())
    throw new Error(`${path} is a link that somebody else made; name the file itself, or another one.`);
  return existsSync(path) ? realpathSync(path) : path;
}

/** Replaces what is there by a new file. */
export function writeOwnFile(path: string, text: string, mode: number): void {
  const target = targetOf(path);
  // Nobody can have created anything with this name before.
  const part = `${target}.${randomUUID()}.new`;
  try {
    writeFileSync(part, text, { mode, flag: 'wx' });
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

interface StateFile {
  /** Writes the teams, unless nothing has changed since the last time. */
  save(): void;
  /** Saves, and stops saving by itself. */
  close(): void;
}

const format = 'musterd emulator state 2';
const everyMs = 1000;
const rowKeys = ['tags', 'fields', 'surveys', 'inboxes', 'schedules'] as const;

/** The teams in the file, or `undefined` if there is no file yet. Throws an Error if the file has another content. */
export function readTeams(given: string): readonly PlayedTeam[] | undefined {
  const path = targetOf(given);
  if (!existsSync(path)) return undefined;
  const stored = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly format?: string;
    readonly teams: StoredTeam[];
  };
  if (stored.format !== format)
    throw new Error(`${path} is not the state of an emulator; name another file.`);
  return stored.teams.map(restore);
}

/** Saves now, and then once a second if something has changed; the file is replaced atomically. */
export function createStateFile(path: string, teams: readonly PlayedTeam[]): StateFile {
  let saved = -1;
  function save(): void {
    const version = teams.reduce((sum, team) => sum + team.version, 0);
    if (version === saved) return;
    // The file contains the API Secrets of the emulated teams.
    writeOwnFile(path, JSON.stringify({ format, teams: teams.map(store) }), 0o600);
    saved = version;
  }
  save();
  const timer = setInterval(save, everyMs);
  timer.unref();
  return {
    save,
    close: () => {
      clearInterval(timer);
      save();
    },
  };
}

type RowKey = (typeof rowKeys)[number];
type Plain =
  | 'id'
  | 'name'
  | 'listSize'
  | 'contacts'
  | 'ratePerMinute'
  | 'nextId'
  | 'version'
  | 'apiKey'
  | 'secrets';
type Rows = {
  readonly [Key in RowKey]: readonly (PlayedTeam[Key] extends Map<number, infer R> ? R : never)[];
};
type StoredTeam = Pick<PlayedTeam, Plain | 'conversationsRead' | 'deliveries'> &
  Rows & {
    readonly users: readonly UserRecord[];
    readonly roles: readonly (readonly [number, string])[];
    readonly segments: readonly (readonly [string, number])[];
  };

function store(team: PlayedTeam): StoredTeam {
  const { usersByEmail: _emails, usersByPhone: _phones, ...kept } = team;
  return {
    ...kept,
    users: [...team.users.values()],
    roles: [...team.roles],
    segments: [...team.segments],
    tags: [...team.tags.values()],
    fields: [...team.fields.values()],
    surveys: [...team.surveys.values()],
    inboxes: [...team.inboxes.values()],
    schedules: [...team.schedules.values()],
  };
}

function restore(stored: StoredTeam): PlayedTeam {
  const team = createTeam(stored.id, stored.name);
  for (const [id, name] of stored.roles) team.roles.set(id, name);
  for (const [segment, count] of stored.segments) team.segments.set(segment, count);
  for (const user of stored.users) putUser(team, user);
  for (const key of rowKeys) {
    const rows: Map<number, unknown> = team[key];
    for (const row of stored[key]) rows.set(row.id, row);
  }
  team.secrets.push(...stored.secrets);
  team.conversationsRead.push(...stored.conversationsRead);
  team.deliveries.push(...stored.deliveries);
  const { listSize, contacts, ratePerMinute, nextId, version, apiKey } = stored;
  return Object.assign(team, { listSize, contacts, ratePerMinute, nextId, version, apiKey });
}
