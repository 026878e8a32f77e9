/** The list of held fields, and holds that a person asks for. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import { columnOf, type Field } from '../../model/fields.ts';
import type { HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import type { HoldReason } from '../../model/user-plan.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { describeRefusal, unknownStates } from '../db/database-errors.ts';
import { isDecidable } from './waiting-fields.ts';

export interface HeldRow {
  readonly user_id: Id;
  readonly name: string | null;
  readonly field: string;
  readonly state: 'held' | 'rejected';
  readonly reason: HeldReason;
  readonly base_value: unknown;
  readonly mirror_value: unknown;
  readonly service_value: unknown;
  /** The values of mirror and service when the hold began. */
  readonly mirror_value_then: unknown;
  readonly service_value_then: unknown;
  readonly detail: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly run_id: bigint | null;
  /** The edit that is held; `null` if the field has no edit. */
  readonly edit_id: Id | null;
  /** The batch: the edits of one editor that one run held. `null` until that run has ended, or without an edit. */
  readonly batch: string | null;
  readonly edited_at: Date | null;
  readonly edited_by: string | null;
  /** The time, the person and the reason of a rejection. */
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decided_why: string | null;
  /** If a person asked for the hold: who that was, and why the field was held before. */
  readonly asked_by: string | null;
  readonly held_before: HoldReason | null;
}

/** Reads held fields, also rejected fields, oldest first. With `batch`, only fields of it that a person can resolve. */
export async function readHeldFields(
  db: Queryable,
  teamId: Id,
  { userId, batch }: { readonly userId?: Id | undefined; readonly batch?: string },
): Promise<readonly HeldRow[]> {
  const { rows } = await sql<HeldRow>`
    select user_id, name, field, state, reason, base_value, mirror_value, service_value, detail, since, until, run_id,
           mirror_value_then, service_value_then, edit_id, batch, decided_at, decided_by, decided_why, asked_by, held_before,
           edited_at, edited_by
    from report.held h
    where team_id = ${teamId} and (${userId ?? null}::bigint is null or user_id = ${userId ?? null})
      and (${batch ?? null}::text is null or ${isDecidable} and exists (
        select from sync.held_fields f where f.team_id = h.team_id and f.user_id = h.user_id and f.field = h.field and f.batch = ${batch ?? null}))
    order by since, user_id, field`.execute(db);
  return rows;
}

export interface RequestedHolds {
  /** The fields whose requested hold was set or ended. An existing requested hold gets the new end and reason. */
  readonly held: readonly string[];
  /** Those fields of `held` that are held for another reason as well. */
  readonly before: readonly { readonly field: string; readonly reason: HoldReason }[];
  /** The end of the holds; `null` if the requested holds were ended. */
  readonly until: Date | null;
}

/**
 * Calls `sync.hold()`, which checks the rights of the login and fails while a run of the team is under way.
 * @param end the end of the requested hold; `null` ends it now
 * @throws MusterdError `usage` for an end in the past, or a user who is not in the team
 */
export async function askHolds(
  tx: Transaction,
  teamId: Id,
  userId: Id,
  {
    fields,
    end,
    why,
  }: { readonly fields: readonly Field[]; readonly end: TimeFromNow | null; readonly why: string },
): Promise<RequestedHolds> {
  const moment = end !== null && 'moment' in end ? end.moment : null;
  const seconds = end !== null && 'seconds' in end ? end.seconds : null;
  const { rows: times } = await sql<{ until: Date | null; isOver: boolean }>`
    select e.until, e.until <= clock_timestamp() as "isOver"
    from (select coalesce(${moment}::timestamptz, clock_timestamp() + make_interval(secs => ${seconds}::float8)) as until) e`.execute(
    tx,
  );
  const until = times[0]?.until ?? null;
  if (times[0]?.isOver === true)
    throw new MusterdError('usage', `The end of the hold is in the past: ${until?.toISOString()}`);
  const { rows } = await sql<{ field: string; reason: HoldReason | null }>`
    select field, held_before as reason
    from sync.hold(${teamId}, ${userId}, ${until}::timestamptz, ${why}, ${fields.map(columnOf)}::text[])`
    .execute(tx)
    .catch((error: unknown) => {
      throw describeRefusal(error, ...unknownStates);
    });
  const before = rows.flatMap(({ field, reason }) => (reason === null ? [] : [{ field, reason }]));
  return { held: rows.map(({ field }) => field), before, until };
}
