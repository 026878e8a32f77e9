/** Reads the first view of the page: the state and recent activity of each team. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { ScheduledGroup } from '../../model/run-group.ts';
import { readNotAtRest } from '../../mirror/users/not-at-rest.ts';
import { type ChangeRow, readMoves } from './page-changes.ts';
import type { PageReader, SeenTeam } from './page-reader.ts';
import { type PageRun, readRecentRuns } from './page-runs.ts';
import { readWaitingLists, type WaitingTotals } from './page-waiting.ts';

/** The state of a group of a team. */
export interface GlanceGroup {
  readonly teamId: Id;
  readonly group: ScheduledGroup;
  /** Oldest age that counts as fresh: three times the longest interval of the schedule. */
  readonly limitSeconds: bigint | null;
  readonly dueAt: Date | null;
  readonly lastAttempt: Date | null;
  /** `null` if it is fresh, or has no schedule. */
  readonly staleSince: Date | null;
  readonly failures: number;
  readonly completeAt: Date | null;
}

export interface GlanceTotals {
  readonly teamId: Id;
  readonly users: number;
  readonly unresolved: number;
  readonly gone: number;
  readonly tags: number;
  readonly contactFields: number;
  /** Fields pushed in the last 24 hours, and those that the service refused. */
  readonly pushed: number;
  readonly refused: number;
}

export interface GlanceCount {
  readonly teamId: Id;
  readonly segment: string;
  readonly day: string;
  readonly count: bigint;
}

export interface Glance extends WaitingTotals {
  readonly teams: readonly SeenTeam[];
  readonly groups: readonly GlanceGroup[];
  readonly totals: readonly GlanceTotals[];
  readonly counts: readonly GlanceCount[];
  /** The runs of the last 24 hours, the newest first. */
  readonly runs: readonly PageRun[];
  /** The fields of users that moved last, the newest first. */
  readonly moves: readonly ChangeRow[];
}

const readGroups = (teamIds: readonly Id[]) => sql<GlanceGroup>`
  select team_id as "teamId", run_group as "group", stale_after_seconds as "limitSeconds", next_run as "dueAt", last_attempt as "lastAttempt",
    stale_since as "staleSince", failures, last_success as "completeAt"
  from report.freshness where team_id = any (${teamIds}::bigint[])`;

type MovedTotals = Pick<GlanceTotals, 'teamId' | 'tags' | 'contactFields' | 'pushed' | 'refused'>;

const readMoved = (teamIds: readonly Id[]) => sql<MovedTotals>`
  select t.id as "teamId",
    (select count(*)::int from report.tags g where g.team_id = t.id and g.present) as tags,
    (select count(*)::int from report.contact_fields f where f.team_id = t.id and f.present) as "contactFields",
    p.pushed, p.refused
  from unnest(${teamIds}::bigint[]) t (id)
  cross join lateral (
    select count(*)::int as pushed, count(*) filter (where outcome = 'refused')::int as refused
    from report.changes c
    where c.team_id = t.id and c.kind = 'push' and c.opened_at > now() - interval '24 hours'
  ) p
  order by t.id`;

async function readTotals(reader: PageReader): Promise<readonly GlanceTotals[]> {
  const moved = new Map(
    (await readMoved(reader.teamIds).execute(reader.db)).rows.map((row) => [row.teamId, row]),
  );
  return (await readNotAtRest(reader.db, reader.teamIds)).flatMap(({ teamId, present, left, unresolved }) => {
    const totals = moved.get(teamId);
    return totals === undefined
      ? []
      : [{ ...totals, users: present, unresolved: unresolved.length, gone: left }];
  });
}

/**
 * The segment "all" of team t, or else its first one. By a row of its own: with row-level security a comparison with the
 * sub-selects themselves would read all counts of the team.
 */
const mainSegment = sql`
  cross join lateral (
    select coalesce(
      (select segment from mirror.contact_counts where team_id = t.id and segment = 'all' limit 1),
      (select segment from mirror.contact_counts where team_id = t.id order by segment limit 1)
    ) as segment offset 0
  ) s`;

/** Reads the last count of each day for each team, of its main segment. */
export const readDailyCounts = (teamIds: readonly Id[], days: number) => sql<GlanceCount>`
  select t.id as "teamId", s.segment, d.day::text as day, c.count
  from unnest(${teamIds}::bigint[]) t (id) ${mainSegment}
  cross join lateral (
    select (now() at time zone 'UTC')::date - n as day from generate_series(0, ${days}::int) n
  ) d
  cross join lateral (
    select count from mirror.contact_counts c
    where c.team_id = t.id and c.segment = s.segment
      and c.counted_at >= d.day::timestamp at time zone 'UTC' and c.counted_at < (d.day + 1)::timestamp at time zone 'UTC'
    order by c.counted_at desc limit 1
  ) c
  order by t.id, d.day`;

const movedOfUsers = (teamIds: readonly Id[]) => sql`
  team_id = any (${teamIds}::bigint[]) and kind in ('push', 'pull') and field is not null and user_id is not null`;

export const daysShown = 90;
const movesShown = 5;

export async function readGlance(reader: PageReader): Promise<Glance> {
  const { db, teams, teamIds } = reader;
  return {
    teams,
    ...(await readWaitingLists(reader)),
    groups: (await readGroups(teamIds).execute(db)).rows,
    totals: await readTotals(reader),
    counts: (await readDailyCounts(teamIds, daysShown).execute(db)).rows,
    runs: await readRecentRuns(reader, 24),
    moves: await readMoves(reader, movedOfUsers(teamIds), movesShown),
  };
}
