/** Reads what the database knows about a team before any request to the service, in one statement. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Team } from '../../model/team.ts';
import type { Queryable } from '../db/database.ts';
import type { KnownPlaceRow } from './known-place.ts';
import type { Learned, LearnedValue } from './learned.ts';

/** While a run holds the lease, only `musterd check` changes any of this. */
export interface KnownTeam {
  /** `null` as long as no run of this team has read it. */
  readonly teamId: Id | null;
  /** The row of `mirror.teams`. */
  readonly team: {
    readonly name: string | null;
    readonly listSize: bigint | null;
    /** How many members it has. `null`: an earlier version of the program has written the row. */
    readonly members: number | null;
  } | null;
  /** By topic. */
  readonly learned: ReadonlyMap<string, LearnedValue>;
  /** Whether the service shows users with older versions than before. */
  readonly hasStale: boolean;
  /** Resources with missing rows. */
  readonly missing: ReadonlySet<string>;
  /** Resources with rejected rows. */
  readonly rejected: ReadonlySet<string>;
  /** Whether a push is open. */
  readonly hasIntents: boolean;
  /**
   * Whether `mirror.roles` may be outdated: the last run of the users did not finish, or a role changed since, by
   * its own pushes, which come after the count, or by a resync. Users adopted by that run are counted already.
   */
  readonly mayLackRoles: boolean;
  /** Whether the database lets nobody approve their own edits, as the last run or command had it (`push.fourEyes`). */
  readonly fourEyes: boolean;
  /** The calling code that the database wants of digits without a plus sign, as the last run had it (`phones.country`). */
  readonly phoneCountry: string | null;
  /** The place of the whole database. */
  readonly place: KnownPlaceRow;
}

/** The raw row, in two columns. */
export interface KnownRow {
  readonly place: KnownPlaceRow;
  readonly known: {
    readonly team_id: Id | null;
    readonly team: {
      readonly name: string | null;
      readonly list_size: number | bigint | null;
      readonly members: number | null;
    } | null;
    readonly learned: Readonly<Record<string, LearnedValue>> | null;
    readonly missing: readonly string[];
    readonly rejected: readonly string[];
    readonly has_intents: boolean;
    readonly has_stale: boolean;
    readonly may_lack_roles: boolean;
    readonly four_eyes: boolean;
    readonly phone_country: string | null;
  };
}

export function toKnown({ known, place }: KnownRow): KnownTeam {
  const {
    team_id: teamId,
    team,
    learned,
    missing,
    rejected,
    has_intents: hasIntents,
    has_stale: hasStale,
    may_lack_roles: mayLackRoles,
    four_eyes: fourEyes,
    phone_country: phoneCountry,
  } = known;
  const size = team?.list_size ?? null;
  return {
    teamId: teamId === null ? null : BigInt(teamId),
    team: team === null ? null : { ...team, listSize: size === null ? null : BigInt(size) },
    learned: new Map(Object.entries(learned ?? {})),
    missing: new Set(missing),
    rejected: new Set(rejected),
    hasIntents,
    hasStale,
    mayLackRoles,
    fourEyes,
    phoneCountry,
    place,
  };
}

export async function readKnownTeam(db: Queryable, team: string): Promise<KnownTeam> {
  const { rows } = await sql<KnownRow>`
    select sync.known_team(${team}) as known, mirror.known_place() as place`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('select of one row returned none');
  return toKnown(row);
}

/** Whether the mirror has the same team already. */
export const isSameTeam = ({ team }: KnownTeam, now: Team): boolean =>
  team !== null &&
  team.name === now.name &&
  team.listSize === now.listSize &&
  team.members === now.members.length;

/** Whether this is the known value of the topic. */
export function isKnown({ learned }: Pick<KnownTeam, 'learned'>, topic: string, value: unknown): boolean {
  const knownValue = learned.get(topic)?.value;
  return knownValue !== undefined && inOrder(knownValue) === inOrder(value);
}

/** A time that moves with each run is written only when it has moved this far. */
const timeIsNewsMs = 3_600_000;

/** The values that are new, or whose time is old enough to be updated. */
export function newsOf(known: Pick<KnownTeam, 'learned'>, learned: readonly Learned[]): readonly Learned[] {
  return learned.filter(({ topic, value, atMs }) => {
    const ageMs = known.learned.get(topic)?.ageMs ?? 0;
    return !isKnown(known, topic, value) || (atMs !== undefined && ageMs > timeIsNewsMs);
  });
}

/** Writes equal values as equal texts, whatever the order of their keys, because jsonb has an order of its own. */
function inOrder(value: unknown): string {
  if (typeof value !== 'object' || value === null) return toJson(value);
  return toJson(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
