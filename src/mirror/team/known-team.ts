/** Reads what the database knows about a team before any request to the service, in one statement. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Team } from '../../model/team.ts';
import type { Queryable } from '../db/database.ts';
import type { KnownPlaceRow } from './known-place.ts';
import type { Learned, LearnedValue } from './learned.ts';

/** The recorded state of a team. While a run holds the lease, no other process but `musterd check` changes it. */
export interface KnownTeam {
  /** The service's id of the team; `null` until a run has read it. */
  readonly teamId: Id | null;
  /** The row of `mirror.teams`. */
  readonly team: {
    readonly name: string | null;
    readonly listSize: bigint | null;
    /** The number of members. `null` if an earlier version of musterd wrote the row. */
    readonly members: number | null;
  } | null;
  /** The facts in `sync.learned`, by topic. */
  readonly learned: ReadonlyMap<string, LearnedValue>;
  /** True if the service shows users with older versions than it showed before. */
  readonly hasStale: boolean;
  /** The resources with rows that are missing from complete listings. */
  readonly missing: ReadonlySet<string>;
  /** The resources with rows that could not be used. */
  readonly rejected: ReadonlySet<string>;
  /** True if a push is open. */
  readonly hasIntents: boolean;
  /**
   * True if `mirror.roles` may be outdated: the last run that reads all users did not finish, or a role changed after
   * this run counted roles, by the run's own pushes or by a resync. Users that the run adopted are counted already.
   */
  readonly mayLackRoles: boolean;
  /** True if people cannot approve their own edits: `push.fourEyes` in the settings of the last run or command. */
  readonly fourEyes: boolean;
  /** The calling code that phones without a plus sign must have: `phones.country` in the settings of the last run. */
  readonly phoneCountry: string | null;
  /** The recorded and present place of the database, which is the same for all teams. */
  readonly place: KnownPlaceRow;
}

/** The recorded state as read, in two columns. */
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

/** True if the mirror already has these values of the team. */
export const isSameTeam = ({ team }: KnownTeam, now: Team): boolean =>
  team !== null &&
  team.name === now.name &&
  team.listSize === now.listSize &&
  team.members === now.members.length;

/** True if the topic has this value on record already. */
export function isKnown({ learned }: Pick<KnownTeam, 'learned'>, topic: string, value: unknown): boolean {
  const knownValue = learned.get(topic)?.value;
  return knownValue !== undefined && inOrder(knownValue) === inOrder(value);
}

/** The time of an unchanged fact is written again only if the written time is this many ms old. */
const timeIsNewsMs = 3_600_000;

/** The facts to write: new or changed values, and values whose time on record is old (`timeIsNewsMs`). */
export function newsOf(known: Pick<KnownTeam, 'learned'>, learned: readonly Learned[]): readonly Learned[] {
  return learned.filter(({ topic, value, atMs }) => {
    const ageMs = known.learned.get(topic)?.ageMs ?? 0;
    return !isKnown(known, topic, value) || (atMs !== undefined && ageMs > timeIsNewsMs);
  });
}

/** Returns equal texts for equal values, whatever the order of their keys, because jsonb changes the order of keys. */
function inOrder(value: unknown): string {
  if (typeof value !== 'object' || value === null) return toJson(value);
  return toJson(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
