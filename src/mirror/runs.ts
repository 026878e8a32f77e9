/** The record of runs. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { RunGroup, RunOutcome } from '../model/run-group.ts';
import type { Database, Queryable, Transaction } from './database.ts';
import { noteBegin, noteEnd } from './due.ts';
import { fenced, type Lease } from './lease.ts';

export interface FinishedRun {
  readonly outcome: RunOutcome;
  readonly reasons: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  /** Fields that wait for a person. */
  readonly waiting: number;
  readonly requests: number;
  readonly requestIds: readonly string[];
}

/**
 * Begins a run; one that its process did not finish is closed as failed.
 * @throws MusterdError `lease-lost`: the run that is on record belongs to whoever has the lease by now
 */
export async function beginRun(
  db: Database,
  lease: Lease,
  command: string,
  groups: readonly RunGroup[],
): Promise<bigint> {
  const { team } = lease;
  return fenced(db, lease, async (tx) => {
    await sql`
      update sync.runs set outcome = 'failed', finished_at = clock_timestamp(),
        reasons = reasons || array['the process ended before the run did']
      where team = ${team} and outcome = 'running'`.execute(tx);
    const { rows } = await sql<{ run_id: bigint }>`
      insert into sync.runs (team, command, groups) values (${team}, ${command}, ${groups}::text[]) returning run_id`.execute(
      tx,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('insert into sync.runs returned no row');
    await noteBegin(tx, team, groups);
    return row.run_id;
  });
}

export async function noteTeam(db: Database, runId: bigint, teamId: Id): Promise<void> {
  await db.transaction((tx) =>
    sql`update sync.runs set team_id = ${teamId} where run_id = ${runId}`.execute(tx),
  );
}

/** Nothing is noted of a run that another one has closed already. */
export async function finishRun(db: Database, runId: bigint, run: FinishedRun): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await sql<{ team: string; groups: RunGroup[] }>`
      update sync.runs set finished_at = clock_timestamp(), outcome = ${run.outcome}, reasons = ${run.reasons}::text[],
        counts = ${JSON.stringify(run.counts)}::jsonb, waiting = ${run.waiting}, requests = ${run.requests},
        request_ids = ${run.requestIds}::text[]
      where run_id = ${runId} and outcome = 'running' returning team, groups`.execute(tx);
    for (const { team, groups } of rows) await noteEnd(tx, team, groups, run.outcome);
  });
}

/** Records a step that a person took and that is over with its transaction, so that the ledger can name it. */
export async function recordStep(
  tx: Transaction,
  step: { readonly team: string; readonly teamId: Id; readonly command: string },
): Promise<bigint> {
  const { rows } = await sql<{ run_id: bigint }>`
    insert into sync.runs (team, team_id, command, outcome, finished_at)
    values (${step.team}, ${step.teamId}, ${step.command}, 'complete', clock_timestamp()) returning run_id`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('insert into sync.runs returned no row');
  return row.run_id;
}

export interface RunRow {
  readonly run_id: bigint;
  readonly command: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: RunOutcome | 'running';
  readonly reasons: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly waiting: number;
  readonly requests: number;
}

/** The newest complete two-way run, and the newest one that was tried; `resolve` and `resync` are neither. */
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
