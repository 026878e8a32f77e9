/** Held fields: the list, and holds that a person asks for. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import { columnOf, type Field } from '../../model/fields.ts';
import type { HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import type { HoldReason } from '../../model/user-plan.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { isDecidable } from './waiting-fields.ts';
import { heldBefore, isAskedFor, isLetPass, valuesToHold } from './holds.ts';

/** A row of `report.held`. */
export interface HeldRow {
  /** `null` stands for a request, or for the field of all users. */
  readonly user_id: Id;
  readonly name: string | null;
  readonly field: string;
  readonly state: 'held' | 'rejected';
  readonly reason: HeldReason;
  readonly base_value: unknown;
  readonly mirror_value: unknown;
  readonly service_value: unknown;
  /** Both values when the hold began. */
  readonly mirror_value_then: unknown;
  readonly service_value_then: unknown;
  readonly detail: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly run_id: bigint | null;
  /** The edit that is held, if there is one. */
  readonly edit_id: Id | null;
  /** What one person did and one run held; `null` if no edit is held, or until the run ends that holds it. */
  readonly batch: string | null;
  readonly edited_at: Date | null;
  readonly edited_by: string | null;
  /** When, by whom and why it was rejected. */
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decided_why: string | null;
  /** If a person asked for the hold: who that was, and why the field was held before. */
  readonly asked_by: string | null;
  readonly held_before: HoldReason | null;
}

/** Reads the held fields of a team or of one user, or those of a batch of which a side can be chosen, also rejected ones; the oldest first. */
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
  /** The fields that are held until the end. An existing hold of this kind gets the new end and reason. */
  readonly held: readonly string[];
  /** The fields among them that were held for another reason, and will be again. */
  readonly before: readonly { readonly field: string; readonly reason: HoldReason }[];
  readonly until: Date;
}

/** @throws MusterdError `usage` for an end in the past */
async function readEnd(tx: Transaction, end: TimeFromNow): Promise<Date> {
  const moment = 'moment' in end ? end.moment : null;
  const seconds = 'seconds' in end ? end.seconds : null;
  const { rows } = await sql<{ until: Date; ahead: boolean }>`
    select e.until, e.until > clock_timestamp() as ahead
    from (select coalesce(${moment}::timestamptz, clock_timestamp() + make_interval(secs => ${seconds}::float8)) as until) e`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('select of one row returned none');
  if (!row.ahead)
    throw new MusterdError('usage', `The hold would have ended already, at ${row.until.toISOString()}`);
  return row.until;
}

/**
 * Holds fields of one user with the current values, or with those of an existing hold. A decision that let an edit pass is
 * taken back by that: the edit waits undecided again afterwards.
 */
export async function askHolds(
  tx: Transaction,
  teamId: Id,
  userId: Id,
  wanted: { readonly fields: readonly Field[]; readonly end: TimeFromNow; readonly why: string },
): Promise<RequestedHolds> {
  const until = await readEnd(tx, wanted.end);
  const columns = wanted.fields.map(columnOf);
  const { rows } = await sql<{ field: string; reason: HoldReason | null }>`
    insert into sync.held_fields as h
      (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, until, asked_by, asked_why)
    select ${teamId}, ${userId}, f.field, 'asked', f.base_value, f.mirror_value, f.service_value, f.service_value,
      ${until}, sync.decider(), ${wanted.why}
    from (select ${userId}::bigint as id) i
    left join mirror.users u on u.team_id = ${teamId} and u.id = i.id
    left join sync.user_base b on b.team_id = ${teamId} and b.id = i.id
    cross join lateral ${valuesToHold} as f (field, base_value, mirror_value, service_value)
    where f.field = any (${columns}::text[])
    on conflict (team_id, user_id, field) do update set until = excluded.until, asked_by = excluded.asked_by,
      asked_why = excluded.asked_why, decision = case when not ${isLetPass} then h.decision end,
      detail = case when not ${isLetPass} then h.detail else 'the decision about it was taken back' end,
      reason = case when ${isLetPass} and h.reason = 'unsupported' then 'limit' else h.reason end
    returning h.field, ${heldBefore} as reason`.execute(tx);
  const before = rows.flatMap(({ field, reason }) => (reason === null ? [] : [{ field, reason }]));
  return { held: rows.map(({ field }) => field), before, until };
}

/** Ends holds that a person asked for, not others. What held a field before holds it again. @returns the fields */
export async function endAskedHolds(
  tx: Transaction,
  teamId: Id,
  userId: Id,
  fields: readonly Field[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ field: string }>`
    with mine as (
      select h.field, h.reason = 'asked' as is_alone from sync.held_fields h
      where team_id = ${teamId} and user_id = ${userId} and (reason = 'asked' or ${isAskedFor})
        and field = any (${fields.map(columnOf)}::text[])
      for update
    ),
    again as (
      update sync.held_fields h set until = null
      from mine where h.team_id = ${teamId} and h.user_id = ${userId} and h.field = mine.field and not mine.is_alone
    ),
    ended as (
      delete from sync.held_fields h using mine
      where h.team_id = ${teamId} and h.user_id = ${userId} and h.field = mine.field and mine.is_alone
    )
    select field from mine order by field`.execute(tx);
  return rows.map(({ field }) => field);
}
