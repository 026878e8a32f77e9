/** When each group of each team is due, and its last results: `sync.due`, by the database's clock. */
import { type RawBuilder, sql } from 'kysely';
import type {
  DueGroup,
  NextTime,
  ScheduledRun,
  GroupStatus,
  RunGroup,
  RunOutcome,
} from '../../model/run-group.ts';
import type { Database, Queryable, Transaction } from '../db/database.ts';

/** True if a group is due. It is also due if its last run started in the future, because the clock was set back since. */
const isDue = sql`(run_group <> 'edits'
  and (due_at <= clock_timestamp() or started_at > clock_timestamp() + interval '1 minute'))`;

/**
 * Registers these groups. A new group is due at once. A group whose schedule has changed is due by the new schedule.
 * @param now true to make every group due at once
 */
export async function registerGroups(
  db: Database,
  all: readonly ScheduledRun[],
  now: boolean,
): Promise<void> {
  const make = sql`
    insert into sync.due as d (team, run_group, schedule, due_at, stale_after)
    select p.team, p."group", p.schedule, clock_timestamp(), p."staleAfterMs" * interval '1 ms'
    from jsonb_to_recordset(${JSON.stringify(all)}::jsonb) p (team text, "group" text, schedule text, "staleAfterMs" float8)
    on conflict (team, run_group) do update set schedule = excluded.schedule, stale_after = excluded.stale_after,
      due_at = case when ${now} or d.schedule = '' then clock_timestamp()
        when d.schedule = excluded.schedule then d.due_at
        else (select clock_timestamp() + p."delayMs" * interval '1 ms'
              from jsonb_to_recordset(${JSON.stringify(all)}::jsonb) p (team text, "group" text, "delayMs" float8)
              where p.team = d.team and p."group" = d.run_group) end
      where ${now} or (d.schedule, d.stale_after) is distinct from (excluded.schedule, excluded.stale_after)`;
  await db.transaction((tx) => make.execute(tx));
}

/** Reads the due groups by team. The team that has waited longest comes first. */
export async function readDue(
  db: Queryable,
  teams: readonly string[],
): Promise<ReadonlyMap<string, readonly DueGroup[]>> {
  const { rows } = await sql<DueGroup & { team: string }>`
    select team, run_group as "group", due_at::text as "dueAt" from sync.due
    where ${isDue} and team = any (${teams}::text[])
    order by min(due_at) over (partition by team), team, run_group`.execute(db);
  return Map.groupBy(rows, ({ team }) => team);
}

/** Ms until the next group of these teams is due; `null` if no group has a due time. */
export async function readNextDueMs(db: Queryable, teams: readonly string[]): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select extract(epoch from min(due_at) - clock_timestamp())::float8 * 1000 as ms from sync.due
    where team = any (${teams}::text[]) and run_group <> 'edits' and due_at > clock_timestamp() and due_at < 'infinity'`.execute(
    db,
  );
  return rows[0]?.ms ?? null;
}

/** Sets the next times of groups, unless they were changed since the run read them. */
export async function setNextTime(db: Database, team: string, next: readonly NextTime[]): Promise<void> {
  const set = sql`
    update sync.due d set due_at = clock_timestamp() + n."delayMs" * interval '1 ms'
    from jsonb_to_recordset(${JSON.stringify(next)}::jsonb) n ("group" text, "dueAt" text, "delayMs" float8)
    where d.team = ${team} and d.run_group = n."group" and d.due_at = n."dueAt"::timestamptz`;
  await db.transaction((tx) => set.execute(tx));
}

/** The state of every group of these teams. */
export async function readStandings(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly GroupStatus[]> {
  const { rows } = await sql<GroupStatus>`
    select team, run_group as "group", extract(epoch from clock_timestamp() - since)::float8 * 1000 as "knownForMs",
      started_at as "startedAt", outcome, failures, complete_at as "completeAt",
      extract(epoch from clock_timestamp() - complete_at)::float8 * 1000 as "completeForMs"
    from sync.due where team = any (${teams}::text[]) order by team, run_group`.execute(db);
  return rows;
}

/** A part of the statement that records a new run: records that the run of these groups begins. */
export const noteBegin = (team: string, groups: readonly RunGroup[]) => sql`
  insert into sync.due as d (team, run_group, started_at)
  select ${team}, g, clock_timestamp() from unnest(${groups}::text[]) g
  on conflict (team, run_group) do update set started_at = clock_timestamp(),
    failures = d.failures + case when d.started_at > coalesce(d.finished_at, '-infinity') then 1 else 0 end`;

/**
 * Records how a run of a team's groups ended. A run of the group `users` pushes edits, too. So if it did not finish, it is
 * also recorded as a failed run of the group `edits`, and a run of `edits` follows after a while.
 * @param ended a query of `team` and `groups`, such as the statement that closes the run; an empty result writes nothing
 * @param waits a query of the fields that wait for a person, whose result `ended` may use as `waits`
 * @param besides an unrelated statement, which is sent in the same query to save a round trip
 */
export const noteEnd = <Waits>(
  ended: RawBuilder<unknown>,
  outcome: RunOutcome,
  waits: RawBuilder<Waits> = sql`select`,
  besides: RawBuilder<unknown> = sql`select`,
): RawBuilder<Waits & { readonly isNoted: boolean }> => {
  const isWhole = outcome === 'complete' || outcome === 'refused';
  const edits = isWhole
    ? sql`
        update sync.due d set failures = 0 from ended e
        where 'users' = any (e.groups) and d.team = e.team and d.run_group = 'edits' and d.failures > 0`
    : sql`
        insert into sync.due as d (team, run_group, started_at, finished_at, outcome, failures)
        select team, 'edits', clock_timestamp(), clock_timestamp(), ${outcome}, 1 from ended where 'users' = any (groups)
        on conflict (team, run_group) do update set started_at = excluded.started_at,
          finished_at = excluded.finished_at, outcome = excluded.outcome, failures = d.failures + 1`;
  return sql`
    with waits as (${waits}),
    ended as (${ended}),
    noted as (
      update sync.due d set finished_at = clock_timestamp(), outcome = ${outcome},
        failures = case when ${outcome} = 'failed' or (run_group = 'edits' and not ${isWhole}) then failures + 1 else 0 end,
        complete_at = case when ${outcome} = 'complete' then clock_timestamp() else complete_at end
      from ended e where d.team = e.team and d.run_group = any (e.groups)
    ),
    edits as (${edits}),
    besides as (${besides})
    select waits.*, exists (select from ended) as "isNoted" from waits`;
};

/** The configured names of all teams, by the key that notifications of edits contain. */
export async function readTeamNames(db: Queryable): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom('sync.teams').select(['edit_key', 'team']).execute();
  return new Map(rows.map(({ edit_key: key, team }) => [key, team]));
}

/**
 * Wakes the daemon on commit: after a person's decision, waiting edits may be pushed although nothing new was edited.
 * Removes the mark of the last push, so that edits that this push did not send are tried again.
 */
export async function wakeForEdits(tx: Transaction, team: string): Promise<void> {
  await tx
    .updateTable('sync.due')
    .set({ mark: null })
    .where((eb) => eb.and({ team, run_group: 'edits' }))
    .execute();
  await sql`select pg_notify('musterd_edits', edit_key::text) from sync.teams where team = ${team}`.execute(
    tx,
  );
}
