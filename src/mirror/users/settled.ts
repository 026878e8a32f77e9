/** Waits for the outcome of one transaction's edits, in several short calls of `sync.settled()`, so it can be stopped. */
import { sql } from 'kysely';
import { type EditState, type HeldReason, isOpen } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import type { Database, Transaction } from '../db/database.ts';

/** A row of `sync.settled()`. */
export interface SettledEdit {
  readonly user_id: Id;
  readonly field: string;
  readonly state: EditState;
  /** The reason why the edit is held. */
  readonly reason: HeldReason | null;
  /** More about the state, in words. */
  readonly detail: string | null;
  /** X-Request-Id of the push. */
  readonly request_id: string | null;
}

/** The longest wait, in ms, in one statement, because a statement cannot be stopped and has a time limit. */
const longestLookMs = 1_000;

/** Reads the id of this transaction, which is recorded with its edits. */
export async function readTransactionId(tx: Transaction): Promise<string> {
  const { rows } = await sql<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(tx);
  return rows[0]?.xid ?? '';
}

/**
 * Clears the transaction ids of edits that were restored from another cluster. Otherwise this cluster, whose counter is
 * lower, would give the same ids to new transactions.
 */
export async function dropForeignTransactions(tx: Transaction): Promise<void> {
  await sql`update sync.edits set xid = '0' where xid >= pg_snapshot_xmax(pg_current_snapshot())`.execute(tx);
}

/** Waits until no edit is open any more, for `waitMs` at most. */
export async function readSettled(
  { kysely }: Pick<Database, 'kysely'>,
  xid: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<readonly SettledEdit[]> {
  const endMs = performance.now() + waitMs;
  for (;;) {
    signal.throwIfAborted();
    const lookS = Math.max(0, Math.min(longestLookMs, endMs - performance.now())) / 1_000;
    const { rows } = await sql<SettledEdit>`
      select user_id, field, state, reason, detail, request_id
      from sync.settled(timeout => make_interval(secs => ${lookS}::float8), xid => ${xid}::xid8)`.execute(
      kysely,
    );
    if (!rows.some(isOpen) || performance.now() >= endMs) return rows;
  }
}

/** Reads the runs that sent edits of this transaction and then saw them on the service. */
export async function readRunsOf({ kysely }: Pick<Database, 'kysely'>, xid: string): Promise<readonly Id[]> {
  const { rows } = await sql<{ run_id: Id }>`
    select distinct c.run_id from sync.edits e
    join sync.changes c on c.team_id = e.team_id and c.user_id = e.user_id and (c.edits ->> e.field)::bigint = e.edit_id
    where e.xid = ${xid}::xid8 and c.kind = 'push' and c.outcome ->> e.field = 'confirmed'
    order by c.run_id`.execute(kysely);
  return rows.map(({ run_id }) => run_id);
}
