/** Batches of held fields that the guard stopped, and people's decisions about them. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { GuardHistory, HeldBatch, StoppedPushes } from '../../model/waiting.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { describeRefusal, unknownStates } from '../db/database-errors.ts';
import { writeLearned } from '../team/learned.ts';
import type { EditAnswer } from './decide-edits.ts';
import {
  hasMoved,
  heldNow,
  isAskedFor,
  isHeldAtGuard,
  lockHolds,
  waits,
  waitsInBatch,
  writeHolds,
} from './holds.ts';
import { type HoldRow, toHold } from './users-read.ts';
import type { RunOf } from './users-write.ts';

/** The topic of `sync.learned` with the time when people were last notified that the guard stopped pushes. */
const toldTopic = 'refusal told';

/** True if people were last notified a day ago, so that they are notified of waiting batches again. */
const isToldLongAgo = (teamId: Id) => sql`exists (
  select from sync.learned l join sync.teams t on t.team = l.team
  where t.team_id = ${teamId} and l.topic = ${toldTopic} and l.learned_at <= statement_timestamp() - interval '24 hours')`;

/** Users pushed to in the last 24 hours without an approval. A push counts if at least one of its fields was sent. */
const pushedToday = (teamId: Id) => sql`
  select distinct user_id from sync.changes c
  where team_id = ${teamId} and user_id is not null and kind = 'push' and not approved and opened_at > statement_timestamp() - interval '24 hours'
    and (state = 'open' or exists (select from jsonb_each_text(c.outcome) f where f.value <> 'unsent'))`;

/** Holds for values that were confirmed 3 times in 24 h, and changed back by a pull to the same old value each time. */
const undoneToday = (teamId: Id) => sql`
  select d.user_id, d.field, null as edit_id, null as batch, 'conflict' as reason, d.base_value, d.mirror_value,
    null as service_value, null as shown_value,
    format('changed back 3 times since %s: the service puts back what %s edits', d.since, coalesce((
      select string_agg(distinct sync.named_editor(e.edited_by, e.actor), ', ') from sync.edits e
      where e.team_id = ${teamId} and e.edit_id = any (d.edits)), 'somebody')) as detail
  from (
    select c.user_id, f.key as field, c.old -> f.key as base_value, f.value as mirror_value, array_agg((c.edits ->> f.key)::bigint) as edits,
      to_char(min(c.opened_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from sync.changes c
    cross join lateral jsonb_each(c.new) f
    where c.team_id = ${teamId} and c.user_id is not null and c.kind = 'push' and c.opened_at > statement_timestamp() - interval '24 hours'
      and c.outcome ->> f.key = 'confirmed'
    group by c.user_id, f.key, c.old -> f.key, f.value having count(*) >= 3
  ) d
  where (
    select count(*) from sync.changes p
    where p.team_id = ${teamId} and p.user_id = d.user_id and p.kind = 'pull' and p.opened_at > statement_timestamp() - interval '24 hours'
      and p.new -> d.field = d.base_value and p.old -> d.field = d.mirror_value
  ) >= 3`;

/** Reads for the guard: the pushes of the last day, repeatedly undone values, and all fields that wait in batches. */
export async function readGuardHistory(db: Queryable, teamId: Id): Promise<GuardHistory> {
  const { rows: all } = await sql<{
    population: number;
    pushed: readonly Id[];
    held: readonly (HoldRow & { user_id: Id | number; name: string })[];
    undone: readonly (HoldRow & { user_id: Id | number })[];
    is_old: boolean;
  }>`
    with held as (
      select h.user_id, h.field, h.edit_id, h.reason, h.base_value, h.mirror_value, h.service_value, h.shown_value, h.detail, h.batch,
        h.alone, coalesce(u.name, '') as name, h.since
      from sync.held_fields h
      left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
      where h.team_id = ${teamId} and u.gone_at is null and ${isHeldAtGuard} and not ${isAskedFor}
    )
    select (select count(*)::int from mirror.users where team_id = ${teamId} and gone_at is null) as population,
      array(${pushedToday(teamId)}) as pushed, ${isToldLongAgo(teamId)} as is_old,
      (select coalesce(jsonb_agg(to_jsonb(u)), '[]') from (${undoneToday(teamId)}) u) as undone,
      (select coalesce(jsonb_agg(to_jsonb(held) order by since, user_id, field), '[]') from held) as held`.execute(
    db,
  );
  const { population = 0, pushed = [], held: rows = [], undone = [], is_old: isOld = false } = all[0] ?? {};
  return {
    population,
    pushedToday: new Set(pushed),
    undone: undone.map((row) => ({ id: BigInt(row.user_id), hold: toHold(row) })),
    waiting: rows.map((row) => ({ userId: BigInt(row.user_id), name: row.name, hold: toHold(row) })),
    isOld: isOld && rows.some(({ reason }) => reason !== 'review'),
  };
}

/** Stores all fields that a run stopped in one write. Otherwise a part of a batch could later pass as a small change. */
export async function writeStopped(
  tx: Transaction,
  run: RunOf,
  { holds: all, isNews }: StoppedPushes,
): Promise<void> {
  const busy = await lockHolds(
    tx,
    run.teamId,
    all.map(({ id }) => id),
  );
  // While a person decides about a user's field, the holds of that user are not changed.
  await writeHolds(
    tx,
    run,
    all.filter(({ id }) => !busy.has(id)),
  );
  if (isNews) await writeLearned(tx, run.teamId, [{ topic: toldTopic, value: {} }]);
}

/** The batches that wait for a person, the oldest first. */
export async function readBatches(db: Queryable, teamId: Id): Promise<readonly HeldBatch[]> {
  const { rows } = await sql<HeldBatch>`
    select h.batch as hash, min(h.since) as since, count(distinct h.user_id)::int as users,
      bool_or(h.reason in ('limit', 'review')) as "isApproved", bool_or(${waitsInBatch}) as "isStopped",
      coalesce(array_agg(distinct h.detail) filter (where h.detail <> ''), '{}') as reasons
    from ${heldNow} h
    where h.team_id = ${teamId} and h.batch is not null and ${waits} and not ${hasMoved}
    group by h.batch order by min(h.since), h.batch`.execute(db);
  return rows;
}

/** A field of a batch. A person may have decided about it already. */
export interface BatchField {
  readonly userId: Id;
  readonly field: string;
  /** The held edit; `null` if the field has no edit on record. */
  readonly edit: Id | null;
}

/** Reads all fields of a batch that are not rejected, also approved fields that have not reached the service yet. */
export async function readBatchFields(
  db: Queryable,
  teamId: Id,
  batch: string,
): Promise<readonly BatchField[]> {
  const { rows } = await sql<BatchField>`
    select user_id as "userId", field, edit_id as edit from sync.held_fields
    where team_id = ${teamId} and batch = ${batch} and coalesce(decision <> 'rejected', true) order by user_id, field`.execute(
    db,
  );
  return rows;
}

/** The effect of a decision on one field. */
export interface DecidedField {
  readonly user_id: Id;
  readonly field: string;
  readonly outcome: EditAnswer;
  /** The number of the decision; `null` if none is on record. */
  readonly decision_id: bigint | null;
}

export interface Choice {
  readonly batch: string;
  /** `null` stands for all users. */
  readonly only: readonly Id[] | null;
  /** `null` stands for all edits of these users. */
  readonly edits: readonly Id[] | null;
  readonly why: string;
}

/** Takes back the waiting edits that the acting person made, or only the person's edits in a batch. */
export async function withdrawOwn(
  tx: Transaction,
  batch: string | null,
  why: string,
): Promise<readonly DecidedField[]> {
  const { rows } = await sql<DecidedField>`
    select user_id, field, outcome, decision_id from sync.withdraw(${batch}, ${why})`.execute(tx);
  return rows;
}

/** The decision of a person about a batch. `withdraw` rejects it and sets the mirror back to the base. */
export type BatchVerb = 'approve' | 'reject' | 'withdraw';

/** Decides about the fields that a batch has now. @throws MusterdError `usage` for users that are not in the batch */
export async function decideBatch(
  tx: Transaction,
  teamId: Id,
  verb: BatchVerb,
  { batch, only, edits, why }: Choice,
): Promise<readonly DecidedField[]> {
  const args = sql`${batch}, ${why}, only_users => ${only}::bigint[], team => ${teamId}, only_edits => ${edits}::bigint[]`;
  const call =
    verb === 'approve'
      ? sql`sync.approve(${args})`
      : sql`sync.reject(${args}, revert => ${verb === 'withdraw'})`;
  const decided = sql<DecidedField>`select user_id, field, outcome, decision_id from ${call}`;
  return (
    await decided.execute(tx).catch((error: unknown) => {
      throw describeRefusal(error, ...unknownStates);
    })
  ).rows;
}
