/** The record of runs. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { RunGroup, RunOutcome } from '../model/run-group.ts';
import { type Database, databaseTime, type Queryable, type Row, type Transaction } from './database.ts';
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
    const { run_id: runId } = await tx
      .insertInto('sync.runs')
      .values({ team, command, groups })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    await noteBegin(tx, team, groups);
    return runId;
  });
}

export async function noteTeam(db: Database, runId: bigint, teamId: Id): Promise<void> {
  await db.transaction((tx) =>
    tx.updateTable('sync.runs').set({ team_id: teamId }).where('run_id', '=', runId).execute(),
  );
}

/** Nothing is noted of a run that another one has closed already. */
export async function finishRun(db: Database, runId: bigint, run: FinishedRun): Promise<void> {
  await db.transaction(async (tx) => {
    const { outcome, reasons, counts, waiting, requests, requestIds } = run;
    const closed = await tx
      .updateTable('sync.runs')
      .set({ finished_at: databaseTime, outcome, reasons, counts: JSON.stringify(counts) })
      .set({ waiting, requests, request_ids: requestIds })
      .where((eb) => eb.and({ run_id: runId, outcome: 'running' }))
      .returning(['team', 'groups'])
      .$narrowType<{ groups: readonly RunGroup[] }>()
      .execute();
    for (const { team, groups } of closed) await noteEnd(tx, team, groups, outcome);
  });
}

/** Records a step that a person took and that is over with its transaction, so that the ledger can name it. */
export async function recordStep(
  tx: Transaction,
  step: { readonly team: string; readonly teamId: Id; readonly command: string },
): Promise<bigint> {
  const { team, teamId, command } = step;
  const { run_id: runId } = await tx
    .insertInto('sync.runs')
    .values({ team, team_id: teamId, command, outcome: 'complete', finished_at: databaseTime })
    .returning('run_id')
    .executeTakeFirstOrThrow();
  return runId;
}

export type RunRow = Row<
  'sync.runs',
  'run_id' | 'command' | 'started_at' | 'finished_at' | 'outcome' | 'reasons' | 'waiting' | 'requests'
> &
  Pick<FinishedRun, 'counts'>;

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
