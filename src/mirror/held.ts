/** Held fields: the list, and holds that a person asks for. */
import { sql } from 'kysely';
import { MusterdError } from '../errors.ts';
import type { HoldReason } from '../model/user-plan.ts';
import type { Id } from '../model/id.ts';
import type { Field } from '../model/user.ts';
import type { Queryable, Transaction } from './database.ts';
import { heldBecause, isLetPass, valuesToHold } from './holds.ts';
import { sqlField } from './users-read.ts';

/** A row of `report.held`. */
export interface HeldRow {
  /** `null`: the field of all users. */
  readonly user_id: Id | null;
  readonly name: string | null;
  readonly field: string;
  readonly reason: HoldReason;
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
  /** The edit that is held; `null`: none. */
  readonly edit_id: Id | null;
  /** The hash for "musterd approve"; `null`: the field is not in a batch. */
  readonly batch: string | null;
  /** When, by whom and why it was rejected. */
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decided_why: string | null;
}

/** All of a team or of one user, the oldest first. */
export async function readHeldFields(
  db: Queryable,
  teamId: Id,
  userId: Id | null,
): Promise<readonly HeldRow[]> {
  const { rows } = await sql<HeldRow>`
    select user_id, name, field, reason, base_value, mirror_value, service_value, detail, since, until, run_id,
           mirror_value_then, service_value_then, edit_id, batch, decided_at, decided_by, decided_why
    from report.held
    where team_id = ${teamId} and (${userId}::bigint is null or user_id = ${userId})
    order by since, user_id, field`.execute(db);
  return rows;
}

/** A time, or seconds from now by the database's clock. */
export type HoldEnd = { readonly moment: string } | { readonly seconds: number };

export interface AskedHolds {
  /** Held until then; an existing hold of this kind gets the new end and reason. */
  readonly held: readonly string[];
  /** Already held for another reason, and left unchanged. */
  readonly left: readonly { readonly field: string; readonly reason: HoldReason }[];
  readonly until: Date;
}

/** @throws MusterdError `usage` for an end in the past */
async function readEnd(tx: Transaction, end: HoldEnd): Promise<Date> {
  const moment = 'moment' in end ? end.moment : null;
  const seconds = 'seconds' in end ? end.seconds : null;
  const { rows } = await sql<{ until: Date; ahead: boolean }>`
    select e.until, e.until > clock_timestamp() as ahead
    from (select coalesce(${moment}::timestamptz, clock_timestamp() + make_interval(secs => ${seconds}::float8)) as until) e`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('select of one row returned none');
  if (!row.ahead) throw new MusterdError('usage', `--until ${row.until.toISOString()} has passed`);
  return row.until;
}

/** Holds fields of one user with the current values of mirror and base. */
export async function askHolds(
  tx: Transaction,
  teamId: Id,
  userId: Id,
  wanted: { readonly fields: readonly Field[]; readonly end: HoldEnd; readonly why: string },
): Promise<AskedHolds> {
  const until = await readEnd(tx, wanted.end);
  const columns = wanted.fields.map(sqlField);
  const { rows } = await sql<{ field: string }>`
    insert into sync.held_fields as h
      (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, until)
    select ${teamId}, ${userId}, f.field, 'asked', f.base_value, f.mirror_value, f.service_value, f.service_value,
      ${wanted.why}, ${until}
    from (select ${userId}::bigint as id) i
    left join mirror.users u on u.team_id = ${teamId} and u.id = i.id
    left join sync.user_base b on b.team_id = ${teamId} and b.id = i.id
    cross join lateral ${valuesToHold} as f (field, base_value, mirror_value, service_value)
    where f.field = any (${columns}::text[])
    on conflict (team_id, user_id, field) do update set detail = excluded.detail, until = excluded.until, decision = null,
      reason = case when h.batch is null then 'asked' when h.reason = 'review' then h.reason else 'limit' end
      where h.reason = 'asked' or ${isLetPass} or h.batch is not null and h.reason in ('limit', 'review') and h.decision is null
    returning field`.execute(tx);
  const others = await sql<AskedHolds['left'][number]>`
    select field, ${heldBecause} as reason from sync.held_fields h
    where team_id = ${teamId} and user_id = ${userId} and field = any (${columns}::text[]) and ${heldBecause} <> 'asked'
    order by field`.execute(tx);
  return { held: rows.map(({ field }) => field), left: others.rows, until };
}

/** Ends holds that a person asked for, not others. A field that was in a batch waits in it again. @returns the fields */
export async function endAskedHolds(
  tx: Transaction,
  teamId: Id,
  userId: Id,
  fields: readonly Field[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ field: string }>`
    with mine as (
      select h.field, h.batch from sync.held_fields h
      where team_id = ${teamId} and user_id = ${userId} and until is not null and field = any (${fields.map(sqlField)}::text[])
      for update
    ),
    waits as (
      update sync.held_fields h set until = null, detail = 'was held on request for a while'
      from mine where h.team_id = ${teamId} and h.user_id = ${userId} and h.field = mine.field and mine.batch is not null
    ),
    ended as (
      delete from sync.held_fields h using mine
      where h.team_id = ${teamId} and h.user_id = ${userId} and h.field = mine.field and mine.batch is null
    )
    select field from mine order by field`.execute(tx);
  return rows.map(({ field }) => field);
}
