/** Writes held fields: new holds, the service's current value, and ends of holds. */
import { type RawBuilder, sql } from 'kysely';
import { columnOf, type Field, fieldOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { type DecidedUser, decisionsOf, endedHolds } from '../../model/user-plan.ts';
import type { HoldOfUser } from '../../model/waiting.ts';
import { anyOf } from '../db/by-key.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { jsonOf, rowPerField } from '../db/field-sql.ts';
import { holdsInLedger, type RunOrPerson, writeLedger } from './ledger.ts';

/** True if a person approved or resolved the held field h, and no push has used the decision yet. */
const isApproved = sql`coalesce(h.decision = 'approved', false)`;

/** True if a push has used up the person's decision about the field, because a decision counts for one push. */
export const isSpent = sql`coalesce(h.decision = 'spent', false)`;

/** True if no person has to act: a person approved or resolved the field, and it waits to be sent or is being sent. */
export const isLetPass = sql`(${isApproved} or ${isSpent})`;

/** True if a limit on a whole run or a review holds the field, also under a requested hold, and no person has decided. */
export const isHeldAtGuard = sql`(not h.alone and h.reason in ('limit', 'review') and h.decision is null)`;

/** True if the service has changed the field since, so that a person has to choose a side, as in `report.held`. */
export const hasMoved = sql`(${isHeldAtGuard} and h.shown_value is distinct from h.service_value)`;

const reasonNow = sql`case when ${hasMoved} then 'conflict' else h.reason end`;
export const heldBecause = sql`sync.held_because(${reasonNow}, h.decision, h.until)`;

/** The state of a held field, as in `report.held`. */
export const heldState = sql`case ${heldBecause} when 'rejected' then 'rejected' else 'held' end`;
export const heldReason = sql`sync.held_because(${reasonNow}, null, h.until)`;

/** True if the field f.key of user s.id is held, and no decision lets the edit f.edit pass. */
export const isHeldBack = (teamId: Id) => sql`
  exists (
    select from sync.held_fields h
    where h.team_id = ${teamId} and h.user_id = s.id and h.field = f.key
      and not (${isApproved} and h.edit_id is not distinct from f.edit)
  )`;

/** The rows (field, base_value, mirror_value, service_value) that a hold of each field stores, from mirror u and base b. */
export const valuesToHold = rowPerField((field) => {
  const base = jsonOf(field, 'b');
  return [base, jsonOf(field, 'u'), field === 'name' ? sql`to_jsonb(b.name)` : base];
});

/** True if a person asked for the hold and its end is in the future. Until this end, no run ends or replaces the hold. */
export const isAskedFor = sql`coalesce(h.until > clock_timestamp(), false)`;

/** True if a new hold does not replace a rejected hold: a rejection lasts as long as its edit. */
const isRejected = sql`h.decision = 'rejected' and excluded.decision is null and h.edit_id is not distinct from excluded.edit_id`;

/** True if a person decided about the field during this run. The run has not read this decision, but the next run will. */
export const isDecidedSince = (runId: bigint | null) => sql`exists (
  select from sync.runs r
  join sync.changes c on c.team_id = h.team_id and c.user_id = h.user_id and c.decision_id is not null
    and c.closed_at > r.started_at and c.run_id is distinct from r.run_id and (c.edits ->> h.field)::bigint = h.edit_id
  where r.run_id = ${runId}::bigint)`;

/** True if the old hold is over: a decision let its edit pass, the new hold has another edit, or the user came back. */
const isDone = sql`
  (excluded.reason = 'returned' or ${isLetPass} or h.edit_id is distinct from excluded.edit_id)`;

/** True if a limit on a whole run or a review still holds the field, so that a limit on single fields changes nothing. */
const staysStopped = sql`(excluded.alone and ${isHeldAtGuard} and not ${isDone})`;

/**
 * Locks the holds of these users.
 * @returns users with a hold that another transaction has locked to decide about it: their holds must not be changed now
 */
export async function lockHolds(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<ReadonlySet<Id>> {
  const ofThese = sql`team_id = ${teamId} and user_id = ${anyOf(ids)}`;
  const { rows } = await sql<{ user_id: Id }>`
    with mine as materialized (select user_id, field from sync.held_fields where ${ofThese} for update skip locked)
    select user_id from (
      select user_id, field from sync.held_fields where ${ofThese} except all select user_id, field from mine) b`.execute(
    tx,
  );
  return new Set(rows.map(({ user_id }) => user_id));
}

/** Holds these fields, and records the holds in the ledger. */
export async function writeHolds(
  tx: Transaction,
  run: RunOrPerson,
  held: readonly HoldOfUser[],
  after: 'plan' | 'push' = 'plan',
): Promise<void> {
  if (held.length === 0) return;
  const { teamId, runId } = run;
  await writeLedger(tx, run, holdsInLedger(held));
  const rows = held.map(({ id, hold }) => ({
    user_id: id,
    field: columnOf(hold.field),
    reason: hold.reason === 'rejected' ? 'limit' : hold.reason,
    decision: hold.reason === 'rejected' ? hold.reason : null,
    base_value: hold.base,
    mirror_value: hold.mirror,
    service_value: hold.service,
    detail: hold.detail,
    alone: hold.isAlone === true,
  }));
  await sql`
    insert into sync.held_fields as h
      (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, detail, run_id,
       alone, decision)
    select ${teamId}, s.user_id, s.field,
      case when e.edit_id is null and s.mirror_value is distinct from s.base_value
        then sync.find_edit(${teamId}, s.user_id, s.field) else e.edit_id end,
      s.reason, s.base_value, s.mirror_value, s.service_value, s.service_value, s.detail,
      ${runId}::bigint, s.alone, s.decision
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (user_id bigint, field text, reason text, decision text, base_value jsonb,
      mirror_value jsonb, service_value jsonb, detail text, alone boolean)
    left join lateral (
      select l.edit_id from sync.edits l
      where l.team_id = ${teamId} and l.user_id = s.user_id and l.field = s.field and l.ended_at is null
        and l.new_value is not distinct from s.mirror_value offset 0
    ) e on true
    on conflict (team_id, user_id, field) do update set edit_id = excluded.edit_id,
      reason = case when excluded.decision is null and not ${staysStopped} then excluded.reason else h.reason end, base_value = excluded.base_value,
      mirror_value = excluded.mirror_value, service_value = excluded.service_value,
      shown_value = excluded.shown_value, detail = case when ${staysStopped} then h.detail else excluded.detail end,
      since = clock_timestamp(), until = null, run_id = excluded.run_id,
      alone = excluded.alone and not ${staysStopped}, batch = null,
      decision = excluded.decision
      where not ${isAskedFor} and not coalesce(${isRejected}, false) and ${after === 'push' ? sql`true` : sql`not ${isDecidedSince(runId)}`}`.execute(
    tx,
  );
}

/** Records the service's new value of fields that stay held. Approvals end, because they were given for the old value. */
export async function noteShown(
  tx: Transaction,
  { teamId, runId }: RunOrPerson,
  users: readonly DecidedUser[],
): Promise<void> {
  const rows = users.flatMap((user) =>
    decisionsOf(user, 'held')
      .filter(([, { shown }]) => shown !== undefined)
      .map(([field, { shown }]) => ({ user_id: user.id, field: columnOf(field), shown_value: shown })),
  );
  if (rows.length === 0) return;
  await sql`
    update sync.held_fields h set shown_value = s.shown_value, decision = nullif(h.decision, 'approved')
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (user_id bigint, field text, shown_value jsonb)
    where h.team_id = ${teamId} and h.user_id = s.user_id and h.field = s.field
      and h.shown_value is distinct from s.shown_value and not ${isDecidedSince(runId)}`.execute(tx);
}

export async function endHolds(
  tx: Transaction,
  { teamId, runId }: RunOrPerson,
  users: readonly DecidedUser[],
): Promise<void> {
  const ended = users.flatMap((user) =>
    endedHolds(user).map((field) => ({ user_id: user.id, field: columnOf(field) })),
  );
  if (ended.length === 0) return;
  await sql`
    delete from sync.held_fields h using jsonb_to_recordset(${toJson(ended)}::jsonb) as s (user_id bigint, field text)
    where h.team_id = ${teamId} and h.user_id = s.user_id and h.field = s.field and not ${isAskedFor}
      and not ${isDecidedSince(runId)}`.execute(tx);
}

/** Marks the decisions about the held fields h that the open pushes c send as used up. */
export const spendDecisions = (pushes: RawBuilder<unknown>) => sql`
  update sync.held_fields h set decision = 'spent' from ${pushes}
  where h.team_id = c.team_id and h.user_id = c.user_id and ${isApproved} and h.edit_id = (c.edits ->> h.field)::bigint`;

/**
 * Makes decisions that these pushes have used up valid again: for fields that were not sent, stayed unanswered or were
 * missing in the answer. Such a field can be sent again under the same decision.
 */
export async function giveDecisionsBack(tx: Transaction, changeIds: readonly Id[]): Promise<void> {
  await sql`
    update sync.held_fields h set decision = 'approved' from sync.changes c
    where c.change_id = any (${changeIds}::bigint[]) and c.team_id = h.team_id and c.user_id = h.user_id and ${isSpent}
      and h.edit_id = (c.edits ->> h.field)::bigint and c.outcome ->> h.field in ('unsent', 'unanswered', 'missing')`.execute(
    tx,
  );
}

/**
 * Ends the holds of edits that have reached the service, with their decisions, even if the field was edited again since.
 * @param results a query with `s.outcome` for the push `s.change_id`
 */
export const endArrived = (teamId: Id, results: RawBuilder<unknown>) => sql`
  delete from sync.held_fields h using ${results}, sync.changes c
  where h.team_id = ${teamId} and h.user_id = s.id and s.outcome ->> h.field = 'confirmed' and not ${isAskedFor}
    and c.change_id = s.change_id and h.edit_id = (c.edits ->> h.field)::bigint`;

/** Held fields of users in the team. A field that was edited again counts only while a requested hold lasts. */
export const heldNow = sql`(
  select h.* from sync.held_fields h
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  left join lateral (
    select l.edit_id from sync.edits l
    where l.team_id = h.team_id and l.user_id = h.user_id and l.field = h.field and l.ended_at is null offset 0
  ) e on true
  where u.gone_at is null and (e.edit_id is null or e.edit_id = h.edit_id or ${isAskedFor}))`;

/** True if a row h of `heldNow` waits for a person. */
export const waits = sql`(h.decision is null and ${heldBecause} <> 'asked')`;

/** True if the row waits for a person to approve or reject its batch. */
export const waitsInBatch = sql`(${waits} and ${isHeldAtGuard} and not ${hasMoved})`;

/** Reads the fields that wait for a person one by one, not in a batch. */
export async function readWaitingFields(
  db: Queryable,
  teamId: Id,
): Promise<readonly { readonly userId: Id; readonly field: Field }[]> {
  const { rows } = await sql<{ user_id: Id; field: string }>`
    select h.user_id, h.field from ${heldNow} h where h.team_id = ${teamId} and ${waits} and not ${waitsInBatch}`.execute(
    db,
  );
  return rows.map(({ user_id, field }) => ({ userId: user_id, field: fieldOf(field) }));
}

/** How many single fields, and how many users in batches, wait for a person. */
export interface Waiting {
  readonly held: number;
  readonly inBatches: number;
}

/** Counts the fields and users of `Waiting`. Leaves out requested holds and rejected fields. */
export const waitingOf = (teamId: Id) => sql<Waiting>`
    select count(*) filter (where ${waits} and not ${waitsInBatch})::int as held,
      (count(distinct h.user_id) filter (where ${waitsInBatch}))::int as "inBatches"
    from ${heldNow} h where h.team_id = ${teamId}`;
