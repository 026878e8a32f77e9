/** What the database knows of a team before anything is read from the service: asked in one statement. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { EditedUser } from '../model/plan.ts';
import type { Team } from '../model/team.ts';
import type { Queryable } from './database.ts';
import type { Learned, LearnedValue } from './learned.ts';

/** While a run holds the lease, nobody else changes any of it but what `musterd check` learns. */
export interface KnownTeam {
  /** `null`: no run of this team has got that far yet. */
  readonly teamId: Id | null;
  /** As `mirror.teams` has it. */
  readonly team: { readonly name: string | null; readonly listSize: bigint | null } | null;
  /** By topic. */
  readonly learned: ReadonlyMap<string, LearnedValue>;
  /** Whether users are shown older than they were before. */
  readonly hasStale: boolean;
  /** Resources of which rows are missing, … */
  readonly missing: ReadonlySet<string>;
  /** … and those of which rows were rejected. */
  readonly rejected: ReadonlySet<string>;
  /** Whether the outcome of a push is not known yet. */
  readonly hasIntents: boolean;
  /**
   * Whether `mirror.roles` may be behind: the last run of the users did not get to its end, or a role was moved since, or
   * came with a newcomer of a resync. That run itself pushes after it has counted them; whom it adopted it has counted.
   */
  readonly mayLackRoles: boolean;
  /** Whether nobody may approve what they edited themselves. */
  readonly fourEyes: boolean;
  /** Who is edited, where that was asked for along with it. */
  readonly edited?: readonly EditedUser[];
}

/** As it comes, in one column. */
export interface KnownRow {
  readonly known: {
    readonly team_id: Id | null;
    readonly team: { readonly name: string | null; readonly list_size: number | bigint | null } | null;
    readonly learned: Readonly<Record<string, LearnedValue>> | null;
    readonly missing: readonly string[];
    readonly rejected: readonly string[];
    readonly has_intents: boolean;
    readonly has_stale: boolean;
    readonly may_lack_roles: boolean;
    readonly four_eyes: boolean;
  };
}

export function toKnown({ known }: KnownRow): KnownTeam {
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
  } = known;
  const size = team?.list_size ?? null;
  return {
    teamId: teamId === null ? null : BigInt(teamId),
    team: team === null ? null : { name: team.name, listSize: size === null ? null : BigInt(size) },
    learned: new Map(Object.entries(learned ?? {})),
    missing: new Set(missing),
    rejected: new Set(rejected),
    hasIntents,
    hasStale,
    mayLackRoles,
    fourEyes,
  };
}

export async function readKnownTeam(db: Queryable, team: string): Promise<KnownTeam> {
  const { rows } = await sql<KnownRow>`select sync.known_team(${team}) as known`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('select of one row returned none');
  return toKnown(row);
}

export function isSameTeam({ team }: KnownTeam, { name, listSize }: Team): boolean {
  return team !== null && team.name === name && team.listSize === listSize;
}

/** Whether this is what is known of the topic. */
export function isKnown({ learned }: Pick<KnownTeam, 'learned'>, topic: string, value: unknown): boolean {
  const known = learned.get(topic)?.value;
  return known !== undefined && inOrder(known) === inOrder(value);
}

/** What is written of a time that moves on with each run. */
const timeIsNewsMs = 3_600_000;

/** What of this is not known yet, or was known so long ago that its time is worth noting. */
export function newsOf(known: Pick<KnownTeam, 'learned'>, learned: readonly Learned[]): readonly Learned[] {
  return learned.filter(({ topic, value, atMs }) => {
    const ageMs = known.learned.get(topic)?.ageMs ?? 0;
    return !isKnown(known, topic, value) || (atMs !== undefined && ageMs > timeIsNewsMs);
  });
}

/** The same text for the same value, whatever the order of its keys; jsonb has one of its own. */
function inOrder(value: unknown): string {
  if (typeof value !== 'object' || value === null) return toJson(value);
  return toJson(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
