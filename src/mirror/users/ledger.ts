/** Reads the ledger: every field that moved, in either direction. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import type { ChangeKind, LedgerOutcome } from '../../model/ledger-words.ts';
import type { Queryable, Row } from '../db/database.ts';

/** A `null` selects everything. */
export interface LedgerFilter {
  readonly userId: Id | null;
  readonly runId: bigint | null;
  readonly field: string | null;
  readonly kind: ChangeKind | null;
  readonly outcome: LedgerOutcome | null;
  /** Rows written or closed since a time, or in the last seconds by the database's clock. */
  readonly since: TimeFromNow | null;
  /** Most rows to return, the newest. */
  readonly limit: number;
}

/**
 * One field that moved, or a decision about it. A user that is gone, forgotten or has left is one row without a
 * field. A move of the mirror itself has no user, and neither has a message, a tag or a read conversation.
 */
export interface LedgerRow
  extends Row<
    'sync.changes',
    | 'change_id'
    | 'run_id'
    | 'user_id'
    | 'request_id'
    | 'opened_at'
    | 'closed_at'
    | 'decided_by'
    | 'decided_why'
  > {
  readonly kind: ChangeKind;
  /** The name in the mirror today. */
  readonly name: string | null;
  readonly field: string | null;
  readonly base_value: unknown;
  /** In the row of a hold this is the mirror's value. */
  readonly old_value: unknown;
  /** In the row of a hold this is the service's value. */
  readonly new_value: unknown;
  readonly outcome: LedgerOutcome | null;
  /** The person who made the edit that it is about. */
  readonly edited_by: string | null;
}

/** The newest rows that match the filter, newest last. */
export async function readLedger(
  db: Queryable,
  teamId: Id,
  { userId, runId, field, kind, outcome, since, limit }: LedgerFilter,
): Promise<readonly LedgerRow[]> {
  const moment = since !== null && 'moment' in since ? since.moment : null;
  const seconds = since !== null && 'seconds' in since ? since.seconds : null;
  const { rows } = await sql<LedgerRow>`
    select c.change_id, c.run_id, c.user_id, c.name, c.kind, c.field, c.base_value, c.old_value, c.new_value, c.outcome, c.request_id,
      c.opened_at, c.closed_at, c.decided_by, c.decided_why, c.edited_by
    from report.changes c
    where c.team_id = ${teamId}
      and (${userId}::bigint is null or c.user_id = ${userId})
      and (${runId}::bigint is null or c.run_id = ${runId})
      and (${field}::text is null or c.field = ${field})
      and (${kind}::text is null or c.kind = ${kind})
      and (${outcome}::text is null or c.outcome = ${outcome})
      and (${moment}::timestamptz is null or greatest(c.opened_at, c.closed_at) >= ${moment}::timestamptz)
      and (${seconds}::float8 is null
           or greatest(c.opened_at, c.closed_at) >= clock_timestamp() - make_interval(secs => ${seconds}::float8))
    order by c.change_id desc, c.field desc
    limit ${limit}`.execute(db);
  return rows.toReversed();
}
