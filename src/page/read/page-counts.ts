/** Reads counts over time, with one value for each step (such as a day), so that a year has few rows. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Row } from '../../mirror/db/database.ts';
import { type Contacts, countBy, monthBefore } from './page-glance.ts';
import type { PageReader } from './page-reader.ts';
import { segmentsOf } from '../../mirror/listings/segments.ts';
import { dayMs, hourMs } from '../../model/zone-time.ts';

/** The counts of one segment within a step. A step without counts has no row. */
export interface CountedStep {
  readonly segment: string;
  readonly from: Date;
  /** The last count within the step, and its time. */
  readonly last: number;
  readonly countedAt: Date;
}

/** All counts of one segment in a week, which begins on Monday, in UTC. */
export type CountedWeek = { readonly monday: Date } & Readonly<Record<'last' | 'lowest' | 'highest', number>>;

export type LastCount = Omit<Contacts, 'teamId'>;

/** Reads the last count of each step, by one index lookup per step and segment. @param only `null`: all segments */
async function readSteps(
  { db }: PageReader,
  teamId: Id,
  only: string | null,
  { from, to, stepMs }: { readonly from: Date; readonly to: Date; readonly stepMs: number },
): Promise<readonly CountedStep[]> {
  const { rows } = await sql<CountedStep>`
    with recursive ${segmentsOf(teamId)}
    select s.segment, g.at as "from", l.count::float8 as last, l.counted_at as "countedAt"
    from segments s
    cross join generate_series(${from}::timestamptz, ${to}::timestamptz, make_interval(secs => ${stepMs / 1000})) g (at)
    cross join lateral (
      select c.count, c.counted_at from mirror.contact_counts c
      where c.team_id = ${teamId} and c.segment = s.segment and c.counted_at >= g.at
        and c.counted_at < g.at + make_interval(secs => ${stepMs / 1000})
      order by c.counted_at desc limit 1
    ) l
    where s.segment is not null and (${only}::text is null or s.segment = ${only})
    order by s.segment, g.at`.execute(db);
  return rows;
}

async function readWeeks({ db }: PageReader, teamId: Id, segment: string, from: Date) {
  const { rows } = await sql<CountedWeek>`
    select date_trunc('week', c.counted_at at time zone 'UTC') at time zone 'UTC' as monday, (array_agg(c.count order by c.counted_at desc))[1]::float8 as last,
      min(c.count)::float8 as lowest, max(c.count)::float8 as highest
    from mirror.contact_counts c
    where c.team_id = ${teamId} and c.segment = ${segment}
      and c.counted_at >= date_trunc('week', ${from}::timestamptz at time zone 'UTC') at time zone 'UTC'
    group by 1 order by 1`.execute(db);
  return rows;
}

const newest = 50;

async function readPace({ db }: PageReader, teamId: Id, segment: string): Promise<number | null> {
  const { rows } = await sql<{ paceMs: number | null }>`
    select (extract(epoch from percentile_cont(0.5) within group (order by n.apart)) * 1000)::float8 as "paceMs"
    from (
      select c.counted_at - lag(c.counted_at) over (order by c.counted_at) as apart
      from (
        select counted_at from mirror.contact_counts
        where team_id = ${teamId} and segment = ${segment} order by counted_at desc limit ${newest}
      ) c
    ) n`.execute(db);
  return rows[0]?.paceMs ?? null;
}

export interface MovedMonth {
  readonly month: Date;
  readonly added: number;
  readonly gone: number;
}

export interface ListedRead {
  readonly now: number;
  readonly months: readonly MovedMonth[];
}

/** The last twelve months, as `report.listing_history` counts them: rows found by the first refresh do not count as added. */
export async function readMonths(
  { db, now }: PageReader,
  teamIds: readonly Id[],
  listed: string,
): Promise<ListedRead> {
  const table = sql.table(`mirror.${listed}`);
  const ofTeams = sql`team_id = any (${idArray(teamIds)})`;
  const { rows } = await sql<MovedMonth & Pick<ListedRead, 'now'>>`
    with months as (
      select m.month at time zone 'UTC' as month, row_number() over (order by m.month)::int as nth
      from (select date_trunc('month', ${now}::timestamptz at time zone 'UTC') as month) t
      cross join lateral generate_series(t.month - interval '11 months', t.month, interval '1 month') m (month)
    ),
    moved as (
      select width_bucket(changed_at, array(select month from months order by month)) as nth,
        count(*) filter (where kind <> 'gone')::int as added, count(*) filter (where kind = 'gone')::int as gone
      from (
        select 'added' as kind, first_seen_at as changed_at from ${table} where ${ofTeams} and first_seen_at > (
          select coalesce(min(finished_at), (select min(first_seen_at) from ${table} where ${ofTeams})) from sync.runs
          where ${ofTeams} and outcome = 'complete' and 'listings' = any (groups))
        union all
        select kind, changed_at from sync.listing_changes where ${ofTeams} and resource = ${listed} and kind <> 'changed'
      ) h group by 1
    )
    select m.month, coalesce(v.added, 0) as added, coalesce(v.gone, 0) as gone,
      (select count(*)::int from ${table} where ${ofTeams} and gone_at is null) as now
    from months m left join moved v on v.nth = m.nth order by m.month`.execute(db);
  const { now: there = 0 } = rows[0] ?? {};
  return { now: there, months: rows.map(({ month, added, gone }) => ({ month, added, gone })) };
}

export type RoleCount = Row<'mirror.roles', 'team_id' | 'role_id' | 'name'> & { readonly members: number };

async function readRoleCounts({ db }: PageReader, teamIds: readonly Id[]): Promise<readonly RoleCount[]> {
  const { rows } = await sql<RoleCount>`
    select team_id, role_id, name, members::float8 as members from mirror.roles
    where team_id = any (${idArray(teamIds)}) and gone_at is null order by members desc, role_id`.execute(db);
  return rows;
}

export interface CountsRead {
  readonly teamId: Id | null;
  readonly days: number;
  readonly segment: string | null;
  readonly last: readonly LastCount[];
  readonly steps: readonly CountedStep[];
  readonly weeks: readonly CountedWeek[];
  readonly stepMs: number;
  readonly tags: ListedRead;
  readonly contactFields: ListedRead;
  readonly roles: readonly RoleCount[];
}

/** The length of a step: short enough for a smooth line, and at least 1.5 times the interval between counts. */
export function stepFor(days: number, paceMs: number | null): number {
  const least = days <= 7 ? hourMs : days <= 30 ? 6 * hourMs : dayMs;
  const steps = [hourMs, 6 * hourMs, dayMs, 7 * dayMs];
  const wanted = Math.max(least, (paceMs ?? 0) * 1.5);
  return steps.find((step) => step >= wanted) ?? 7 * dayMs;
}

async function readLast({ db, now }: PageReader, teamId: Id): Promise<readonly LastCount[]> {
  const { rows } = await sql<LastCount>`
    with recursive ${segmentsOf(teamId)}
    select s.segment, l.count, l.counted_at as "countedAt", b.count as before
    from (select ${teamId}::bigint as id) t cross join segments s
    cross join lateral (${countBy(now)}) l
    left join lateral (${countBy(monthBefore(now))}) b on true
    order by s.segment`.execute(db);
  return rows;
}

/** If `segment` is null, the main segment is read. A CSV file has all segments. */
export interface CountsRange {
  readonly days: number;
  readonly segment: string | null;
  readonly isCsv: boolean;
}

/** If there are several teams, only the first team is read, because contacts of different teams are not comparable. */
export async function readCounts(reader: PageReader, range: CountsRange): Promise<CountsRead> {
  const [teamId = null] = reader.teamIds;
  const chosen = teamId === null ? [] : [teamId];
  const last = teamId === null ? [] : await readLast(reader, teamId);
  const named =
    [range.segment, 'all'].map((word) => last.find(({ segment }) => segment === word)).find(Boolean) ??
    last[0];
  const segment = named?.segment ?? null;
  const line =
    teamId === null || segment === null
      ? { steps: [], weeks: [], stepMs: dayMs }
      : await readLine(reader, teamId, { ...range, segment });
  return {
    teamId,
    days: range.days,
    segment,
    last,
    ...line,
    tags: await readMonths(reader, chosen, 'tags'),
    contactFields: await readMonths(reader, chosen, 'contact_fields'),
    roles: await readRoleCounts(reader, chosen),
  };
}

async function readLine(
  reader: PageReader,
  teamId: Id,
  { days, segment, isCsv }: CountsRange & { readonly segment: string },
): Promise<Pick<CountsRead, 'steps' | 'weeks' | 'stepMs'>> {
  const stepMs = stepFor(days, await readPace(reader, teamId, segment));
  const to = new Date(Math.floor(reader.now.getTime() / stepMs) * stepMs);
  const from = new Date(to.getTime() - days * dayMs);
  const weeks = isCsv ? [] : await readWeeks(reader, teamId, segment, from);
  return {
    stepMs,
    weeks,
    steps: await readSteps(reader, teamId, isCsv ? null : segment, { from, to, stepMs }),
  };
}
