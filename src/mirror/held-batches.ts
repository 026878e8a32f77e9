/** Batches of held fields that the guard stopped, and people's decisions about them. */
import { sql } from 'kysely';
import { MusterdError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { Hold } from '../model/user-plan.ts';
import type { HeldBatch, GuardHistory, Stopped } from '../model/waiting.ts';
import type { Queryable, Transaction } from './database.ts';
import { sqlState } from './database-errors.ts';
import { isLetPass, isInBatch, writeHolds } from './holds.ts';
import { fieldOfSql, type HoldRow, sqlField, toHold } from './users-read.ts';
import { holdsInLedger, type RunOf, writeLedger } from './users-write.ts';

/** How long a batch waits before people are told of it again. */
const patience = sql`interval '24 hours'`;

/** A push counts for the day if at least one of its fields left. */
const pushedToday = (teamId: Id) => sql`
  select distinct user_id from sync.changes c
  where team_id = ${teamId} and kind = 'push' and not approved and opened_at > statement_timestamp() - interval '24 hours'
    and (state = 'open' or exists (select from jsonb_each_text(c.outcome) f where f.value <> 'unsent'))`;

/** All fields that wait in batches, of users that are not gone, and the decisions about fields that many users lack. */
export async function readGuardHistory(db: Queryable, teamId: Id): Promise<GuardHistory> {
  const { rows: all } = await sql<{
    pushed: readonly Id[];
    held: readonly (HoldRow & {
      user_id: Id | number | null;
      name: string;
      is_accepted: boolean;
      is_old: boolean;
    })[];
  }>`
    with held as (
      select h.user_id, h.field, h.edit_id, h.reason, h.base_value, h.mirror_value, h.service_value, h.shown_value, h.detail, h.batch, h.held_before, h.detail_before,
        coalesce(u.name, '') as name, ${isLetPass} as is_accepted, h.told_at <= statement_timestamp() - ${patience} as is_old, h.since
      from sync.held_fields h
      left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
      where h.team_id = ${teamId} and u.gone_at is null and (h.user_id is null or ${isInBatch})
    )
    select array(${pushedToday(teamId)}) as pushed,
      (select coalesce(jsonb_agg(to_jsonb(held) order by since, user_id, field), '[]') from held) as held`.execute(
    db,
  );
  const { pushed = [], held: rows = [] } = all[0] ?? {};
  const ofAll = rows.filter(({ user_id }) => user_id === null);
  return {
    pushedToday: new Set(pushed),
    waiting: rows.flatMap((row) =>
      row.user_id === null ? [] : [{ userId: BigInt(row.user_id), name: row.name, hold: toHold(row) }],
    ),
    isOld: rows.some((row) => row.is_old && !row.is_accepted && toHold(row).reason !== 'review'),
    lacking: ofAll.filter(({ is_accepted }) => !is_accepted).map(toHold),
    accepted: ofAll.filter(({ is_accepted }) => is_accepted).map(({ field }) => fieldOfSql(field)),
  };
}

/** Stores what a run stopped, all or nothing, so that no part of a batch can be sent as a few more edits. */
export async function writeStopped(
  tx: Transaction,
  run: RunOf,
  { holds, lacking, ended, isNews }: Stopped,
): Promise<void> {
  await writeHolds(tx, run, [...holds, ...lacking.map((hold) => ({ id: null, hold }))]);
  const byUser = Map.groupBy(holds, ({ id }) => id);
  await writeLedger(
    tx,
    run,
    [...byUser].flatMap(([id, of]) =>
      holdsInLedger(
        id,
        of.map(({ hold }) => hold),
      ),
    ),
  );
  if (ended.length > 0)
    await sql`
      delete from sync.held_fields
      where team_id = ${run.teamId} and user_id is null and field = any (${ended.map(sqlField)}::text[])`.execute(
      tx,
    );
  if (isNews)
    await sql`
      update sync.held_fields set told_at = clock_timestamp() where team_id = ${run.teamId} and batch is not null`.execute(
      tx,
    );
}

/** The waiting batches, the oldest first. */
export async function readBatches(db: Queryable, teamId: Id): Promise<readonly HeldBatch[]> {
  const { rows } = await sql<Omit<HeldBatch, 'lacking'> & { lacking: readonly string[] }>`
    select h.batch as hash, min(h.since) as since, count(distinct h.user_id)::int as users,
      array_agg(distinct h.detail) as reasons,
      coalesce(array_agg(h.field) filter (where h.user_id is null), '{}') as lacking
    from sync.held_fields h
    left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
    where h.team_id = ${teamId} and u.gone_at is null and ${isInBatch}
    group by h.batch order by min(h.since), h.batch`.execute(db);
  return rows.map((row) => ({ ...row, lacking: row.lacking.map(fieldOfSql) }));
}

/** A field under the name of a batch, decided or not. */
export interface BatchField {
  /** `null`: the field of all users. */
  readonly userId: Id | null;
  readonly field: string;
  /** `null`: none. */
  readonly edit: Id | null;
}

/** All that bears the name of this batch: also what a person let pass, as long as it has not arrived. */
export async function readBatchFields(
  db: Queryable,
  teamId: Id,
  batch: string,
): Promise<readonly BatchField[]> {
  const { rows } = await sql<BatchField>`
    select user_id as "userId", field, edit_id as edit from sync.held_fields
    where team_id = ${teamId} and batch = ${batch} order by user_id, field`.execute(db);
  return rows;
}

/** The result for one field that a person named. */
export interface DecidedField {
  /** `null`: the field of all users. */
  readonly user_id: Id | null;
  readonly field: string;
  /** `moved`: it changed since. `on its way`: it is being sent. `asked`, `held`: something else holds it. `left`: there is nothing to reject. */
  readonly outcome: 'approved' | 'rejected' | 'moved' | 'on its way' | 'gone' | 'asked' | 'held' | 'left';
  /** The number of the decision; `null`: there is none on record. */
  readonly decision_id: bigint | null;
}

export interface Choice {
  readonly batch: string;
  /** `null`: all users. */
  readonly only: readonly Id[] | null;
  /** `null`: all edits of these users. */
  readonly edits: readonly Id[] | null;
  readonly why: string;
}

/** The SQLSTATE for an unknown batch or user. */
export function describeRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !['P0002', '22023'].includes(sqlState(error) ?? '')) return error;
  const hint = 'hint' in error && typeof error.hint === 'string' ? { hint: error.hint } : {};
  return new MusterdError('usage', error.message, { ...hint, cause: error });
}

/** Approves the fields of a batch as they are. @throws MusterdError `usage` for users that are not in it */
export async function approveBatch(
  tx: Transaction,
  teamId: Id,
  { batch, only, edits, why }: Choice,
): Promise<readonly DecidedField[]> {
  const approve = sql<DecidedField>`
    select user_id, field, outcome, decision_id from sync.approve(${batch}, ${only}::bigint[], ${why}, ${teamId}, ${edits}::bigint[])`;
  return (
    await approve.execute(tx).catch((error: unknown) => {
      throw describeRefusal(error);
    })
  ).rows;
}

/** Rejects them. @param revert also resets the mirror to the base */
export async function rejectBatch(
  tx: Transaction,
  teamId: Id,
  { batch, only, edits, why, revert }: Choice & { readonly revert: boolean },
): Promise<readonly DecidedField[]> {
  const reject = sql<DecidedField>`
    select user_id, field, outcome, decision_id from sync.reject(${batch}, ${only}::bigint[], ${why}, ${revert}, ${teamId}, ${edits}::bigint[])`;
  return (
    await reject.execute(tx).catch((error: unknown) => {
      throw describeRefusal(error);
    })
  ).rows;
}

/**
 * Stores a person's decision about one field; if its edit may pass limits, with what was seen of both sides.
 * @returns its number
 */
export async function writeResolution(
  tx: Transaction,
  { teamId, runId }: RunOf,
  {
    id,
    hold,
    decision,
    isAnother,
    why,
    number,
  }: {
    readonly id: Id;
    readonly hold: Hold;
    readonly decision: Hold['decision'];
    /** The mirror's value is neither side's: the person has edited the field. */
    readonly isAnother: boolean;
    readonly why: string;
    /** Of the decision that it is part of; `null`: of one that begins with it. */
    readonly number: bigint | null;
  },
): Promise<bigint | null> {
  const { field, edit, reason, base, mirror, service, detail, batch } = hold;
  const row = toJson([{ base, mirror, service }]);
  const values = sql`jsonb_to_recordset(${row}::jsonb) as s (base jsonb, mirror jsonb, service jsonb)`;
  const column = sqlField(field);
  const { rows } = await sql<Pick<DecidedField, 'decision_id'>>`
    insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role,
      decided_why, decision_id)
    select ${teamId}, ${id}, ${runId}, 'resolve', jsonb_build_object(${column}::text, s.base),
      jsonb_build_object(${column}::text, s.service), jsonb_build_object(${column}::text, s.mirror),
      jsonb_strip_nulls(jsonb_build_object(${column}::text, coalesce(sync.find_edit(${teamId}, ${id}, ${column}), ${edit ?? null}))),
      ${isAnother ? sql`jsonb_build_object(${column}::text, 'edited')` : sql`'{}'`},
      clock_timestamp(), sync.decider(), session_user, ${why}, coalesce(${number}::bigint, sync.new_decision())
    from ${values} returning decision_id`.execute(tx);
  const written = rows[0]?.decision_id ?? null;
  if (decision === undefined) return written;
  await sql`
    insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value,
      shown_value, detail, batch, decision, decided_at, decided_by, decided_why)
    select ${teamId}, ${id}, ${column}, sync.find_edit(${teamId}, ${id}, ${column}), ${reason}, s.base, s.mirror, s.service,
      s.service, ${detail}, ${batch ?? null}, ${decision}, clock_timestamp(), sync.decider(), ${why}
    from ${values}`.execute(tx);
  return written;
}
