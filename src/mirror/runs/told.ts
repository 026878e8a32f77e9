/** The state of the teams for notices, and the notices already sent, in one snapshot. */
import { sql } from 'kysely';
import { toJson } from '../../model/json.ts';
import type { Notice, TeamEvent } from '../../model/notices.ts';
import type { Placing } from '../../model/place.ts';
import type { GroupStatus } from '../../model/run-group.ts';
import type { Database, Queryable } from '../db/database.ts';
import { readStandings } from '../team/due.ts';
import { type HeldByReason, readHeldByReason } from './metrics-read.ts';
import { heldNow, waitsInBatch } from '../users/holds.ts';
import { readPlacing } from '../team/known-place.ts';

const prefix = 'notice ';
/** The number of a team's newest runs in which the beginning of a problem is searched: the runs of a few hours. */
const runsLookedAt = 200;

/** A batch that waits for an approval. */
export interface WaitingBatch {
  readonly team: string;
  readonly hash: string;
  /** The unit of `count`: `users`, or another resource. */
  readonly unit: string;
  readonly count: number;
  readonly sinceMs: number;
}

export interface RefusedCredentials {
  readonly team: string;
  /** When the first run whose credentials were refused ended. */
  readonly sinceMs: number;
  readonly runId: bigint;
}

/** The last failed or partial run of a group. */
export interface FailedRun {
  readonly team: string;
  readonly group: string;
  readonly runId: bigint;
  readonly errorCode: string | null;
}

export interface ToldNotice {
  readonly team: string;
  readonly event: TeamEvent;
  readonly notice: Notice;
}

export interface TeamsNow {
  /** By the database's clock, in ms since 1970. */
  readonly nowMs: number;
  readonly standings: readonly GroupStatus[];
  readonly refused: readonly RefusedCredentials[];
  readonly failedRuns: readonly FailedRun[];
  readonly batches: readonly WaitingBatch[];
  readonly held: readonly HeldByReason[];
  readonly told: readonly ToldNotice[];
  /** The recorded and the present place of the mirror, which is the same for all teams. */
  readonly placing: Placing;
}

const ms = (moment: ReturnType<typeof sql>) =>
  sql<number>`round(extract(epoch from ${moment}) * 1000)::float8`;

/** The newest finished runs of each team, without people's actions. */
const lastRuns = (teams: readonly string[]) => sql`
  unnest(${teams}::text[]) t (team)
  cross join lateral (
    select run_id, groups, outcome, error_code, finished_at from sync.runs
    where sync.runs.team = t.team and finished_at is not null and command in ('reconcile', 'daemon', 'resync')
    order by run_id desc limit ${runsLookedAt}
  ) r`;

/** Finds teams whose credentials are refused. A run that failed for another reason proves nothing about the credentials. */
async function readRefused(db: Queryable, teams: readonly string[]): Promise<readonly RefusedCredentials[]> {
  const { rows } = await sql<RefusedCredentials>`
    with told as (
      select t.team, r.run_id, r.finished_at, coalesce(r.error_code = 'credentials', false) as refused
      from ${lastRuns(teams)} where r.error_code = 'credentials' or r.error_code is null and r.outcome <> 'failed'
    ),
    taken as (select team, max(run_id) filter (where not refused) as run_id from told group by team)
    select told.team, min(${ms(sql`told.finished_at`)}) as "sinceMs", max(told.run_id) as "runId"
    from told join taken on taken.team = told.team and told.run_id > coalesce(taken.run_id, 0)
    group by told.team order by told.team`.execute(db);
  return rows;
}

async function readFailedRuns(db: Queryable, teams: readonly string[]): Promise<readonly FailedRun[]> {
  const { rows } = await sql<FailedRun>`
    select distinct on (t.team, d.run_group) t.team, d.run_group as "group", r.run_id as "runId", r.error_code as "errorCode"
    from ${lastRuns(teams)}
    join sync.due d on d.team = t.team and d.run_group = any (r.groups) and d.outcome = r.outcome
    where r.outcome in ('failed', 'partial')
    order by t.team, d.run_group, r.run_id desc`.execute(db);
  return rows;
}

async function readBatches(db: Queryable, teams: readonly string[]): Promise<readonly WaitingBatch[]> {
  const { rows } = await sql<WaitingBatch>`
    select t.team, h.batch as hash, 'users' as unit,
      count(distinct h.user_id)::int as count,
      min(${ms(sql`h.since`)}) as "sinceMs"
    from sync.teams t
    join ${heldNow} h on h.team_id = t.team_id
    where t.team = any (${teams}::text[]) and h.batch is not null and ${waitsInBatch}
    group by 1, 2
    union all
    select t.team, a.batch, a.resource, count(*)::int, min(${ms(sql`a.withheld_at`)})
    from sync.teams t join sync.absences a using (team_id)
    where t.team = any (${teams}::text[]) and a.batch is not null
    group by t.team, a.batch, a.resource
    order by team, "sinceMs", hash`.execute(db);
  return rows;
}

async function readTold(db: Queryable, teams: readonly string[]): Promise<readonly ToldNotice[]> {
  const { rows } = await sql<ToldNotice>`
    select team, substr(topic, length(${prefix}) + 1) as event, value as notice from sync.learned
    where team = any (${teams}::text[]) and starts_with(topic, ${prefix})`.execute(db);
  return rows;
}

export async function readTeamsNow(db: Database, teams: readonly string[]): Promise<TeamsNow> {
  return db.transaction(
    async (tx) => {
      const { rows } = await sql<{ nowMs: number }>`
        select ${ms(sql`clock_timestamp()`)} as "nowMs"`.execute(tx);
      return {
        nowMs: rows[0]?.nowMs ?? 0,
        standings: await readStandings(tx, teams),
        refused: await readRefused(tx, teams),
        failedRuns: await readFailedRuns(tx, teams),
        batches: await readBatches(tx, teams),
        held: await readHeldByReason(tx, teams),
        told: await readTold(tx, teams),
        placing: await readPlacing(db, tx),
      };
    },
    { isolationLevel: 'repeatable read' },
  );
}

/** Replaces a notice unless it changed since it was read. @returns true if it did, which only one process can do */
export async function replaceNotice(
  db: Database,
  { team, event }: Pick<ToldNotice, 'team' | 'event'>,
  before: Notice | undefined,
  notice: Notice,
): Promise<boolean> {
  const recorded = before === undefined ? null : toJson(before);
  const topic = prefix + event;
  const write =
    recorded === null
      ? sql`
        insert into sync.learned (team, topic, value) values (${team}, ${topic}, ${toJson(notice)}::jsonb)
        on conflict do nothing returning team`
      : sql`
        update sync.learned set value = ${toJson(notice)}::jsonb, learned_at = clock_timestamp()
        where team = ${team} and topic = ${topic} and value = ${recorded}::jsonb returning team`;
  return (await db.transaction((tx) => write.execute(tx))).rows.length > 0;
}
