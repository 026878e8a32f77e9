/** The record of runs. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { RunGroup, RunOutcome } from '../../model/run-group.ts';
import type { Database, Queryable, Row, Transaction } from '../db/database.ts';
import { noteBegin, noteEnd } from '../team/due.ts';
import { endWithdrawn } from '../users/edits.ts';
import { type Waiting, waitingOf } from '../users/holds.ts';
import { type KnownRow, type KnownTeam, toKnown } from '../team/known-team.ts';

/** The counts of one endpoint, as stored in `sync.runs.endpoints`. */
export interface EndpointCount {
  /** All requests, including retries. */
  readonly requests: number;
  /** Requests that were answered with 429. */
  readonly throttled: number;
  /** Requests that got another error, or no answer. */
  readonly failed: number;
  /** The sum of the durations of all requests, in ms. */
  readonly ms: number;
  readonly slowest_ms: number;
  readonly slowest_request_id: string | null;
}

export interface FinishedRun {
  readonly outcome: RunOutcome;
  readonly reasons: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  /** The team whose waiting fields are counted, and the least number to record; `null` to count nothing. */
  readonly waiting: { readonly teamId: Id; readonly atLeast: number } | null;
  readonly requests: number;
  readonly endpoints: Readonly<Record<string, EndpointCount>>;
  readonly requestIds: readonly string[];
  /** The code of the error that ended the run early. */
  readonly errorCode?: string | undefined;
}

/**
 * Records a new run, in the transaction that takes the team's lease, so that an open run belongs to the lease's holder.
 * An earlier run whose process died is closed as failed.
 */
export async function beginRun(
  tx: Transaction,
  team: string,
  command: string,
  groups: readonly RunGroup[],
): Promise<{ readonly runId: bigint; readonly known: KnownTeam }> {
  const begun = sql<KnownRow & { run_id: bigint }>`
    with closed as (
      update sync.runs set outcome = 'failed', finished_at = clock_timestamp(),
        reasons = reasons || array['the process ended before the run did']
      where team = ${team} and outcome = 'running'
    ),
    begun as (
      insert into sync.runs (team, team_id, command, groups)
      values (${team}, (select team_id from sync.teams where team = ${team}), ${command}, ${groups}::text[])
      returning run_id
    ),
    due as (${noteBegin(team, groups)})
    select run_id, sync.known_team(${team}) as known, mirror.known_place() as place from begun`;
  const [row] = (await begun.execute(tx)).rows;
  if (row === undefined) throw new Error('insert of one row returned none');
  return { runId: row.run_id, known: toKnown(row) };
}

/** Records the team's id, for a run that began without it. */
export async function noteTeam(db: Database, runId: bigint, teamId: Id): Promise<void> {
  await db.transaction((tx) =>
    tx.updateTable('sync.runs').set({ team_id: teamId }).where('run_id', '=', runId).execute(),
  );
}

const nothingAsked = sql<Waiting>`select 0 as held, 0 as "inBatches"`;

/** @returns the counts of fields and users that wait for a person; `isNoted` is false if another run closed this run */
export async function finishRun(
  tx: Transaction,
  runId: bigint,
  run: FinishedRun,
): Promise<Pick<Waiting, 'held'> & { readonly waiting: number; readonly isNoted: boolean }> {
  const { outcome, reasons, counts, waiting, requests, endpoints, requestIds, errorCode = null } = run;
  const { atLeast } = waiting ?? { atLeast: 0 };
  const closed = sql`
    update sync.runs set finished_at = clock_timestamp(), outcome = ${outcome}, reasons = ${reasons}::text[],
      counts = ${JSON.stringify(counts)}::jsonb, requests = ${requests},
      endpoints = ${JSON.stringify(endpoints)}::jsonb,
      waiting = (select greatest(${atLeast}, held + "inBatches") from waits),
      request_ids = ${requestIds}::text[], error_code = ${errorCode}
    where run_id = ${runId} and outcome = 'running' returning team, groups`;
  const waits = waiting === null ? nothingAsked : waitingOf(waiting.teamId);
  const withdrawn = waiting === null ? undefined : endWithdrawn(waiting.teamId);
  const [row] = (await noteEnd(closed, outcome, waits, withdrawn).execute(tx)).rows;
  const { held, inBatches, isNoted } = row ?? { held: 0, inBatches: 0, isNoted: false };
  return { held, waiting: Math.max(atLeast, held + inBatches), isNoted };
}

export type RunRow = Row<
  'sync.runs',
  'run_id' | 'command' | 'started_at' | 'finished_at' | 'outcome' | 'reasons' | 'waiting' | 'requests'
> &
  Pick<FinishedRun, 'counts'>;

/** Reads the newest complete run, and the newest run of any outcome, of the group `users` (without `resync`). */
export async function readLastRuns(
  db: Queryable,
  team: string,
): Promise<{ readonly attempt: RunRow | null; readonly success: RunRow | null }> {
  const newest = async (onlyComplete: boolean) => {
    const { rows } = await sql<RunRow>`
      select run_id, command, started_at, finished_at, outcome, reasons, counts, waiting, requests from sync.runs
      where team = ${team} and command in ('reconcile', 'daemon') and 'users' = any (groups) and (not ${onlyComplete} or outcome = 'complete')
      order by run_id desc limit 1`.execute(db);
    return rows[0] ?? null;
  };
  return { attempt: await newest(false), success: await newest(true) };
}

/** The numbers of the newest runs of these teams that changed something, newest first. */
export async function readLatestRuns(db: Queryable, teams: readonly string[]): Promise<readonly bigint[]> {
  const { rows } = await sql<{ run_id: bigint }>`
    select r.run_id from unnest(${teams}::text[]) t (team)
    cross join lateral (select run_id from sync.runs where team = t.team order by run_id desc limit 20) r
    where exists (select from sync.changes c where c.run_id = r.run_id)
    order by r.run_id desc limit 20`.execute(db);
  return rows.map(({ run_id }) => run_id);
}
