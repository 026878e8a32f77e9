/** Writes and reads the ledger: every change of a field, in either direction, every hold and every decision. */
import { sql } from 'kysely';
import { columnOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import type { ChangeKind, LedgerOutcome } from '../../model/ledger-words.ts';
import type { HoldOfUser } from '../../model/waiting.ts';
import type { Queryable, Row, Transaction } from '../db/database.ts';
import { type StageShape, withSpool } from '../db/spool.ts';
import { stage } from '../db/stage.ts';

export interface RunOrPerson {
  readonly teamId: Id;
  readonly runId: bigint | null;
}

/** A change to record: for each field the old values of base and the changed side, and the new value. */
export interface LedgerEntry {
  readonly user_id: Id;
  readonly kind: string;
  readonly base: object;
  readonly old: object;
  readonly new: object;
  /** If the change is a hold: the reason by field. */
  readonly outcome?: object;
}

/** Returns a ledger entry for each new hold. Rejected fields are left out, because they stay rejected. */
export function holdsInLedger(holds: readonly HoldOfUser[]): readonly LedgerEntry[] {
  return holds.flatMap(({ id, hold: { field, reason, base, mirror, service } }) => {
    const of = (value: unknown) => ({ [columnOf(field)]: value ?? null });
    const values = { base: of(base), old: of(mirror), new: of(service), outcome: of(reason) };
    return reason === 'rejected' ? [] : [{ user_id: id, kind: 'hold', ...values }];
  });
}

const ledgerShape: StageShape<LedgerEntry> = {
  name: 'ledger',
  columns: [
    ['user_id', 'bigint'],
    ['kind', 'text'],
    ['base', 'jsonb'],
    ['old', 'jsonb'],
    ['new', 'jsonb'],
    ['outcome', 'jsonb'],
  ],
  values: ({ outcome = {}, ...row }) => [
    row.user_id,
    row.kind,
    ...[row.base, row.old, row.new, outcome].map(toJson),
  ],
};

export async function writeLedger(
  tx: Transaction,
  { teamId, runId }: RunOrPerson,
  rows: readonly LedgerEntry[],
): Promise<void> {
  if (rows.length === 0) return;
  await withSpool(ledgerShape, rows, async (spool) => {
    await sql`
      insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, outcome, closed_at)
      select ${teamId}, s.user_id, ${runId}::bigint, s.kind, s.base, s.old, s.new, s.outcome, clock_timestamp()
      from ${await stage(tx, spool)}`.execute(tx);
  });
}

/** The conditions on rows of the ledger. A condition that is `null` selects all rows. */
export interface LedgerFilter {
  readonly userId: Id | null;
  readonly runId: bigint | null;
  readonly field: string | null;
  readonly kind: ChangeKind | null;
  readonly outcome: LedgerOutcome | null;
  /** Selects rows written or closed since this time, or within the last so many seconds, by the database's clock. */
  readonly since: TimeFromNow | null;
  /** The highest number of rows to return. The newest rows are returned. */
  readonly limit: number;
}

/**
 * One field that moved, or a decision about it. A row about a whole user (gone, forgotten or left) has no field. A row
 * about a move of the mirror, a message, a tag or a read conversation has no user.
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
  /** The value before the change. In the row of a hold, it is the mirror's value. */
  readonly old_value: unknown;
  /** The value after the change. In the row of a hold, it is the service's value. */
  readonly new_value: unknown;
  readonly outcome: LedgerOutcome | null;
  /** The person who made the edit that the row is about. */
  readonly edited_by: string | null;
}

/** Reads the newest rows that match the filter. The newest row comes last. */
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
