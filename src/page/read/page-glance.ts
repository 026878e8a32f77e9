/** Reads the first view: the facts about each team, the runs of the last day in steps, and the last changes. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { readNotAtRest } from '../../mirror/users/not-at-rest.ts';
import { movedKinds } from '../../model/moved-kinds.ts';
import { daySteps } from '../../model/run-group.ts';
import { type ChangeRow, readMoves } from './page-changes.ts';
import type { PageReader, SeenTeam } from './page-reader.ts';
import type { Lane } from './page-runs.ts';
import { readWaitingLists, type WaitingTotals } from './page-waiting.ts';
import { dayMs } from '../../model/zone-time.ts';

/** A team with its counts. */
export interface CountedTeam extends SeenTeam {
  readonly users: number;
  readonly unresolved: number;
  readonly gone: number;
  readonly tags: number;
  readonly contactFields: number;
  /** Fields pushed in the last 24 hours; `refused` is how many of them the service refused. */
  readonly pushed: number;
  readonly refused: number;
  /** The requests of the busiest minute of the last 24 hours. A run counts for the minute in which it began. */
  readonly busiest: number;
  readonly lastRun: bigint | null;
  readonly reason: string | null;
}

/** The last count of the main segment, and the count 30 days before. */
export interface Contacts {
  readonly teamId: Id;
  readonly segment: string;
  readonly count: number;
  readonly countedAt: Date;
  readonly before: number | null;
}

export interface Glance extends WaitingTotals {
  readonly teams: readonly CountedTeam[];
  readonly lanes: readonly Lane[];
  readonly contacts: readonly Contacts[];
  readonly moves: readonly ChangeRow[];
}

const movesShown = 5;
export const lanes = ['users', 'edits', 'listings', 'counts'] as const;

const namesAndIds = (teams: readonly SeenTeam[]) =>
  sql`unnest(${teams.map(({ team }) => team)}::text[], ${idArray(teams.map(({ teamId }) => teamId))}) t (name, id)`;

const readLanes = ({ teams, now }: PageReader) => sql<Lane>`
  select t.id as "teamId", n.lane, f.next_run as next, f.stale_since as "staleSince",
    f.last_success as "completeAt", coalesce(f.failures, 0)::int as failures, coalesce(s.last, f.last_attempt) as last,
    coalesce(s.runs, 0) as runs, coalesce(s.ticks, '[]') as ticks
  from ${namesAndIds(teams)} cross join unnest(${lanes}::text[]) with ordinality n (lane, nth)
  left join report.freshness f on f.team = t.name and f.run_group = n.lane
  left join lateral (
    select max(k.last) as last, sum(k.runs)::int as runs, jsonb_agg(jsonb_build_array(k.step, k.weight, k.moved)) as ticks from (
      select floor(extract(epoch from r.started_at - ${new Date(now.getTime() - dayMs)}::timestamptz) * ${daySteps}::int / 86400)::int as step,
        count(*) as runs, max(r.started_at) as last, sum(m.moved)::int as moved,
        max(case when r.outcome = 'refused' then 3 when r.outcome in ('partial', 'failed') then 2 when m.moved > 0 then 1 else 0 end) as weight
      from report.runs r cross join lateral (
        select coalesce(sum(e.value::int), 0)::int as moved from jsonb_each_text(r.counts) e where e.key = any (${movedKinds}::text[])) m
      where r.team = t.name and n.lane = any (r.groups) and r.started_at > ${new Date(now.getTime() - dayMs)}::timestamptz group by 1
    ) k
  ) s on true
  order by t.id, n.nth`;

type Counted = Omit<CountedTeam, 'users' | 'unresolved' | 'gone' | keyof SeenTeam> & Pick<SeenTeam, 'teamId'>;

const readFacts = ({ teams, now }: PageReader) => sql<Counted>`
  select t.id as "teamId", p.*, r.*, (select count(*)::int from report.tags g where g.team_id = t.id and g.present) as tags,
    (select count(*)::int from report.contact_fields g where g.team_id = t.id and g.present) as "contactFields"
  from ${namesAndIds(teams)}
  cross join lateral (
    select count(*)::int as pushed, count(*) filter (where outcome = 'refused')::int as refused from report.changes
    where team_id = t.id and kind = 'push' and opened_at > ${new Date(now.getTime() - dayMs)}::timestamptz
  ) p
  cross join lateral (
    select coalesce(max(m.requests), 0)::int as busiest, max(m.complete) as "lastRun",
      (array_agg(m.reason order by m.last desc) filter (where m.reason is not null))[1] as reason
    from (
      select sum(requests) as requests, max(run_id) as last, max(run_id) filter (where outcome = 'complete' and 'users' = any (groups)) as complete,
        (array_agg(reasons[array_length(reasons, 1)] order by run_id desc) filter (where reasons <> '{}'))[1] as reason
      from report.runs where team = t.name and started_at > ${new Date(now.getTime() - dayMs)}::timestamptz
      group by date_trunc('minute', started_at)
    ) m
  ) r`;

export const monthBefore = (now: Date): Date => new Date(now.getTime() - 30 * dayMs);
export const countBy = (when: Date) => sql`
  select c.count::float8 as count, c.counted_at from mirror.contact_counts c
  where c.team_id = t.id and c.segment = s.segment and c.counted_at <= ${when} order by c.counted_at desc limit 1`;

/**
 * The contacts of each team: the count of the segment "all", or else of its first segment. The segment is selected as a
 * row (`s`), because under row-level security a comparison with the sub-selects would read all counts of the team.
 */
export const readContacts = (teamIds: readonly Id[], now: Date) => sql<Contacts>`
    select t.id as "teamId", s.segment, l.count, l.counted_at as "countedAt", b.count as before
    from unnest(${idArray(teamIds)}) t (id)
    cross join lateral (
      select coalesce(
        (select segment from mirror.contact_counts where team_id = t.id and segment = 'all' order by counted_at desc limit 1),
        (select segment from mirror.contact_counts where team_id = t.id order by segment limit 1)
      ) as segment offset 0
    ) s
    cross join lateral (${countBy(now)}) l
    left join lateral (${countBy(monthBefore(now))}) b on true
    order by t.id`;

export async function readGlance(reader: PageReader): Promise<Glance> {
  const { db, teams, teamIds, now } = reader;
  const counted = (await readFacts(reader).execute(db)).rows;
  const users = await readNotAtRest(db, teamIds);
  const moved = sql`team_id = any (${idArray(teamIds)}) and kind in ('push', 'pull') and field is not null and user_id is not null`;
  return {
    teams: teams.flatMap((team) => {
      const row = counted.find(({ teamId }) => teamId === team.teamId);
      const of = users.find(({ teamId }) => teamId === team.teamId);
      if (row === undefined || of === undefined) return [];
      return [{ ...team, ...row, users: of.present, unresolved: of.unresolved.length, gone: of.left }];
    }),
    ...(await readWaitingLists(reader)),
    lanes: (await readLanes(reader).execute(db)).rows,
    contacts: (await readContacts(teamIds, now).execute(db)).rows,
    moves: await readMoves(reader, moved, movesShown),
  };
}
