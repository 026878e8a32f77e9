import { createTeam, putUser, type PlayedTeam, type UserRecord } from '../rules/played-team.ts';

/**
 * The content of all teams, as a value for JSON. Faults, variants and the clock are not part of it.
 * `format` also names the layout in which a team is written.
 */
export interface Snapshot {
  readonly format: string;
  readonly teams: readonly object[];
}

const format = 'musterd emulator state 2';
const rowKeys = ['tags', 'fields', 'surveys', 'inboxes', 'schedules'] as const;

type RowKey = (typeof rowKeys)[number];
type Plain = 'id' | 'name' | 'listSize' | 'contacts' | 'ratePerMinute' | 'nextId' | 'secrets';
type Rows = {
  readonly [Key in RowKey]: readonly (PlayedTeam[Key] extends Map<number, infer R> ? R : never)[];
};
type StoredTeam = Pick<PlayedTeam, Plain | 'conversationsRead' | 'deliveries'> &
  Rows & {
    readonly apiKey?: string;
    readonly users: readonly UserRecord[];
    readonly roles: readonly (readonly [number, string])[];
    readonly segments: readonly (readonly [string, number])[];
  };

/** Takes a snapshot with the rows in the order of their ids, so that equal teams have equal texts. */
export function takeSnapshot(teams: readonly PlayedTeam[]): Snapshot {
  return structuredClone({ format, teams: teams.map(store) });
}

/** Throws an Error if the value is not a snapshot. */
export function teamsIn(value: unknown): readonly PlayedTeam[] {
  const given = value as Partial<Snapshot> | null;
  if (given?.format !== format || given.teams === undefined) throw new Error('This is no snapshot.');
  return (given.teams as readonly StoredTeam[]).map(restore);
}

/** Gives the teams the content of the snapshot. If it has other team ids, throws an Error and changes nothing. */
export function restoreSnapshot(teams: readonly PlayedTeam[], value: unknown): void {
  const read = teamsIn(value);
  const idsOf = (some: readonly PlayedTeam[]) => some.map(({ id }) => id).join(', ');
  if (idsOf(read) !== idsOf(teams))
    throw new Error(`The snapshot is of the teams ${idsOf(read)}, and not of ${idsOf(teams)}.`);
  for (const [at, team] of teams.entries()) Object.assign(team, read[at], { version: team.version + 1 });
}

function store(team: PlayedTeam): StoredTeam {
  const { usersByEmail: _emails, usersByPhone: _phones, version: _version, apiKey, ...kept } = team;
  return {
    ...kept,
    ...(apiKey === undefined ? {} : { apiKey }),
    users: inOrder(team.users).map(([, user]) => user),
    roles: inOrder(team.roles),
    segments: inOrder(team.segments),
    ...(Object.fromEntries(
      rowKeys.map((key) => [key, inOrder<number, unknown>(team[key]).map(([, row]) => row)]),
    ) as unknown as Rows),
  };
}

function inOrder<K extends number | string, R>(rows: ReadonlyMap<K, R>): readonly (readonly [K, R])[] {
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
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
  const { listSize, contacts, ratePerMinute, nextId, apiKey } = stored;
  return Object.assign(team, { listSize, contacts, ratePerMinute, nextId, apiKey });
}
