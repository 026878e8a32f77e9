/** Holds requests, writes them down before they are sent, and closes them with their outcome. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { OpenRequest, RequestState, RequestToHold } from '../../model/requests.ts';
import type { Transaction } from '../db/database.ts';
import type { RunOf } from '../users/users-write.ts';

/** Sets the state of the row of a message or a read conversation. The row of a tag has no state. */
export async function writeState(
  tx: Transaction,
  { teamId }: RunOf,
  { kind, localId }: Pick<RequestState, 'kind' | 'localId'>,
  state: string,
  detail: string | null,
): Promise<void> {
  if (kind === 'tag') return;
  const table = kind === 'message' ? sql`mirror.scheduled_messages` : sql`mirror.conversation_reads`;
  await sql`
    update ${table} set state = ${state}, detail = ${detail} where team_id = ${teamId} and local_id = ${localId}`.execute(
    tx,
  );
}

/** Ends the present edit, if it is this one or asks for the same, with its hold and its decision. */
export async function endEdit(
  tx: Transaction,
  { teamId }: RunOf,
  localId: string,
  how: 'agreed' | 'overruled' | 'withdrawn',
  of?: OpenRequest,
): Promise<void> {
  const isMeant =
    of === undefined
      ? sql`true`
      : sql`(e.edit_id = ${of.edit} or e.new_value is not distinct from ${toJson(of.sent)}::jsonb and ${of.sent !== null})`;
  await sql`
    with ended as (
      update sync.edits e set ended_at = clock_timestamp(), ended_how = ${how}
      where e.team_id = ${teamId} and e.local_id = ${localId} and e.ended_at is null and ${isMeant}
      returning e.edit_id
    )
    delete from sync.held_fields h using ended e where h.team_id = ${teamId} and h.local_id = ${localId}`.execute(
    tx,
  );
}

const waitingWords: Partial<Record<RequestToHold['reason'], string>> = {
  review: 'it waits until somebody who did not write it approves it',
};

/** Holds an edit that still lasts, unless somebody has decided about it meanwhile. */
export async function holdRequest(
  tx: Transaction,
  run: RunOf,
  { request, reason, detail, batch }: RequestToHold,
): Promise<void> {
  const { rows } = await sql`
    insert into sync.held_fields as h (team_id, local_id, field, edit_id, reason, base_value, mirror_value, service_value,
      shown_value, detail, run_id, batch)
    select e.team_id, e.local_id, e.field, e.edit_id, ${reason}, r.base, r.wanted, r.base, r.base, ${detail}, ${run.runId}::bigint, ${batch}
    from sync.edits e
    join sync.requests r on r.team_id = e.team_id and r.local_id = e.local_id
    where e.team_id = ${run.teamId} and e.local_id = ${request.localId} and e.ended_at is null and e.edit_id = ${request.edit}
    on conflict (team_id, user_id, field, local_id) do update set edit_id = excluded.edit_id, reason = excluded.reason,
      base_value = excluded.base_value, mirror_value = excluded.mirror_value, service_value = excluded.service_value,
      shown_value = excluded.shown_value, detail = excluded.detail, run_id = excluded.run_id, batch = excluded.batch, decision = null,
      since = clock_timestamp()
      where h.decision is not distinct from ${request.hold?.decision ?? null}
    returning 1`.execute(tx);
  if (rows.length === 0) return;
  const state = reason === 'refused' ? 'refused' : 'held';
  await writeState(tx, run, request, state, detail === '' ? (waitingWords[reason] ?? null) : detail);
}

/** Gives a message the values of the service back, and ends it. */
export async function endMessage(
  tx: Transaction,
  run: RunOf,
  request: Pick<RequestState, 'kind' | 'localId' | 'id'>,
  state: 'past' | 'cancelled',
  detail: string,
): Promise<void> {
  await endEdit(tx, run, request.localId, 'overruled');
  if (request.id !== null)
    await sql`select sync.withdraw_request(${run.teamId}, ${request.localId}::uuid, 'message')`.execute(tx);
  await writeState(tx, run, request, state, detail);
}

export const giveUpRequest = (
  tx: Transaction,
  run: RunOf,
  request: RequestState,
  detail: string,
): Promise<void> => endMessage(tx, run, request, 'past', detail);

export async function passTime(tx: Transaction, teamId: Id): Promise<void> {
  await sql`
    update mirror.scheduled_messages set state = 'past', detail = 'its time has passed'
    where team_id = ${teamId} and state = 'scheduled' and execute_at <= clock_timestamp()`.execute(tx);
}

/** Locks the present edit and its hold, without rows that other transactions are changing. */
const lockedEdit = (teamId: Id, localId: string) => sql`
  edit as materialized (
    select * from sync.edits where team_id = ${teamId} and local_id = ${localId} and ended_at is null for update skip locked
  ),
  hold as materialized (
    select * from sync.held_fields where team_id = ${teamId} and local_id = ${localId} for update skip locked
  ),
  held as (select count(*) as rows from sync.held_fields where team_id = ${teamId} and local_id = ${localId})`;

/**
 * Writes down what is about to leave. Only the edit on record leaves, because that is what was approved: a row that
 * was changed past the triggers waits until somebody edits it.
 * @returns `null` if somebody has edited or decided it meanwhile, or is about to
 */
export async function openRequest(
  tx: Transaction,
  { teamId, runId }: RunOf,
  { localId, kind, wanted, base, edit }: RequestState,
): Promise<OpenRequest | null> {
  const values = (value: unknown) => sql`${toJson({ [kind]: value })}::jsonb`;
  const { rows } = await sql<{ change_id: Id }>`
    with ${lockedEdit(teamId, localId)},
    opened as (
      insert into sync.changes (team_id, local_id, run_id, kind, state, base, old, new, approved, edits, edited_by)
      select e.team_id, e.local_id, ${runId}, 'push', 'open', ${values(base)}, ${values(base)}, ${values(wanted)},
        exists (select from hold h where h.decision = 'approved'), jsonb_build_object(e.field, e.edit_id),
        jsonb_build_object(e.field, sync.named_editor(e.edited_by, e.actor))
      from edit e cross join held
      where e.edit_id = ${edit} and e.new_value is not distinct from ${wanted === null ? null : toJson(wanted)}::jsonb
        and held.rows = (select count(*) from hold h where h.edit_id = e.edit_id and h.decision = 'approved')
      on conflict (team_id, local_id) where state = 'open' and local_id is not null do nothing
      returning change_id
    ),
    spent as (
      update sync.held_fields h set decision = 'spent' from opened o
      where h.team_id = ${teamId} and h.local_id = ${localId} and h.decision = 'approved'
    )
    select change_id from opened`.execute(tx);
  const [row] = rows;
  return row === undefined || edit === null
    ? null
    : { changeId: row.change_id, sent: wanted, edit, hasLeft: false, ageMs: 0 };
}

/** Records when it leaves. @returns false if the edit is over or was rejected, or somebody is about to change that */
export async function markRequestSent(
  tx: Transaction,
  teamId: Id,
  localId: string,
  { changeId, edit }: OpenRequest,
): Promise<boolean> {
  const { rows } = await sql`
    with ${lockedEdit(teamId, localId)}
    update sync.changes c set sent_at = clock_timestamp() from edit e cross join held
    where c.change_id = ${changeId} and c.state = 'open' and e.edit_id = ${edit}
      and held.rows = (select count(*) from hold h where h.edit_id = e.edit_id and h.decision = 'spent')
    returning 1`.execute(tx);
  return rows.length > 0;
}

/** @returns false if a person has resolved it meanwhile */
export async function markSentAgain(tx: Transaction, { changeId }: OpenRequest): Promise<boolean> {
  const { rows } = await sql`
    update sync.changes set sent_at = clock_timestamp() where change_id = ${changeId} and state = 'open' returning 1`.execute(
    tx,
  );
  return rows.length > 0;
}
