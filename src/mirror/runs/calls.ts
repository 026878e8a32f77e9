/** Records the calls that a person makes with a direct command: one row of the ledger for each call. */
import { sql } from 'kysely';
import type { CallOutcome, CallSubject } from '../../model/direct-call.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Transaction } from '../db/database.ts';

interface BegunCall {
  readonly teamId: Id;
  readonly subject: CallSubject;
  /** The fields that are about to be sent. */
  readonly sent: object;
  /** The message as the service showed it before the call; `null` if there was no message. */
  readonly before: object | null;
}

/** Records a call before it is sent, with the outcome `unknown`. @returns the number of the row */
export async function writeCall(tx: Transaction, { teamId, subject, sent, before }: BegunCall): Promise<Id> {
  const { rows } = await sql<{ readonly id: Id }>`
    insert into sync.changes (team_id, kind, old, new, outcome, sent_at, decided_by, decided_role)
    values (${teamId}, 'call', ${toJson(before === null ? {} : { [subject]: before })}::jsonb, ${toJson({ [subject]: sent })}::jsonb,
      ${toJson({ [subject]: 'unknown' satisfies CallOutcome })}::jsonb, clock_timestamp(), sync.decider(), session_user)
    returning change_id as id`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('an inserted row was not returned');
  return row.id;
}

/** Records the outcome of a call. The time of sending, which was set in advance, is removed if the call was never sent. */
export async function closeCall(
  tx: Transaction,
  changeId: Id,
  subject: CallSubject,
  { outcome, requestId }: { readonly outcome: CallOutcome; readonly requestId: string | null },
): Promise<void> {
  await sql`
    update sync.changes set outcome = ${toJson({ [subject]: outcome })}::jsonb, request_id = ${requestId},
      sent_at = case when ${outcome}::text <> 'unsent' then sent_at end, closed_at = clock_timestamp()
    where change_id = ${changeId}`.execute(tx);
}
