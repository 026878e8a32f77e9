/**
 * Writes what became of a request, or what the service shows of a message: to its row, its edit, and the decision
 * about it.
 */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { RequestOutcome, AnsweredRequest, RequestState, ShownMessage } from '../../model/requests.ts';
import type { Transaction } from '../db/database.ts';
import type { RunOf } from '../users/users-write.ts';
import { endEdit, endMessage, holdRequest, writeState } from './requests-write.ts';

/** A tag that exists by now has one row: if the listing already knows it, that row takes over our own id. */
async function takeTag(tx: Transaction, { teamId }: RunOf, localId: string, id: Id): Promise<void> {
  const { rows } = await sql`select from mirror.tags where team_id = ${teamId} and id = ${id}`.execute(tx);
  if (rows.length === 0) {
    await sql`
      update mirror.tags set id = ${id}, first_seen_at = clock_timestamp()
      where team_id = ${teamId} and local_id = ${localId} and id is null`.execute(tx);
    return;
  }
  await sql`delete from mirror.tags where team_id = ${teamId} and local_id = ${localId} and id is null`.execute(
    tx,
  );
  await sql`
    update mirror.tags set local_id = ${localId}
    where team_id = ${teamId} and id = ${id}
      and not exists (select from sync.changes c where c.team_id = ${teamId} and c.local_id = tags.local_id)`.execute(
    tx,
  );
}

async function applyConfirmed(
  tx: Transaction,
  run: RunOf,
  { request, open }: AnsweredRequest,
  { id, answer }: Extract<RequestOutcome, { kind: 'confirmed' }>,
): Promise<void> {
  const { kind, localId } = request;
  if (kind === 'tag' && id !== null) {
    await takeTag(tx, run, localId, id);
    await sql`update sync.changes set new = jsonb_set(new, '{tag,id}', to_jsonb(${id}::bigint)) where change_id = ${open.changeId}`.execute(
      tx,
    );
  }
  if (kind === 'conversation_read')
    await sql`
      update mirror.conversation_reads set state = 'sent', detail = null, answer = ${answer}, sent_at = clock_timestamp()
      where team_id = ${run.teamId} and local_id = ${localId}`.execute(tx);
  if (kind === 'message' && open.sent === null)
    await writeState(tx, run, request, 'cancelled', 'it was cancelled in time: nobody gets it');
  if (kind === 'message' && open.sent !== null)
    await sql`
      update mirror.scheduled_messages m set id = coalesce(m.id, ${id}), base = ${toJson(open.sent)}::jsonb, detail = null,
        state = case when sync.wanted('message', to_jsonb(m)) is not distinct from ${toJson(open.sent)}::jsonb then 'scheduled' else 'waiting' end
      where m.team_id = ${run.teamId} and m.local_id = ${localId}`.execute(tx);
  await endEdit(tx, run, localId, 'agreed', open);
}

/** The consequences of an outcome for the row, its edit, and the decision about it. */
async function applyOutcome(tx: Transaction, run: RunOf, result: AnsweredRequest): Promise<void> {
  const { request, open, outcome } = result;
  switch (outcome.kind) {
    case 'confirmed':
      return await applyConfirmed(tx, run, result, outcome);
    case 'refused':
      return await holdRequest(tx, run, {
        request: { ...request, edit: open.edit, hold: await readHold(tx, run, request) },
        reason: 'refused',
        detail: outcome.detail,
        batch: null,
      });
    case 'late':
      return await endMessage(tx, run, request, 'past', outcome.detail);
    case 'gone':
      return await endMessage(tx, run, request, 'cancelled', outcome.detail);
    case 'conflict':
      return await applyMoved(tx, run, request.localId, { shown: outcome.shown, raw: {} });
    case 'unknown':
      if (outcome.isForGood) await writeState(tx, run, request, 'unknown', outcome.detail);
      return;
    case 'unanswered':
      if (request.kind === 'conversation_read') {
        await endEdit(tx, run, request.localId, 'overruled', open);
        return await writeState(tx, run, request, 'unknown', 'no answer came, and it is not sent again');
      }
      return await giveBack(tx, run, request);
    case 'unsent':
      return await giveBack(tx, run, request);
    default:
      return outcome satisfies never;
  }
}

async function readHold(
  tx: Transaction,
  { teamId }: RunOf,
  { localId }: RequestState,
): Promise<RequestState['hold']> {
  const { rows } = await sql<NonNullable<RequestState['hold']>>`
    select reason, decision, base_value as base from sync.held_fields where team_id = ${teamId} and local_id = ${localId}`.execute(
    tx,
  );
  return rows[0] ?? null;
}

/** It may be sent again, under the same decision. A message that was to be cancelled and never left is over. */
async function giveBack(tx: Transaction, run: RunOf, request: RequestState): Promise<void> {
  await sql`
    update sync.held_fields set decision = 'approved'
    where team_id = ${run.teamId} and local_id = ${request.localId} and decision = 'spent'`.execute(tx);
  if (request.kind !== 'message' || request.id !== null) return;
  const { rows } = await sql`
    update mirror.scheduled_messages set state = 'cancelled', detail = 'it was taken back before it was sent'
    where team_id = ${run.teamId} and local_id = ${request.localId} and cancels returning 1`.execute(tx);
  if (rows.length > 0) await endEdit(tx, run, request.localId, 'withdrawn');
}

/** Whether the time of a message has come, by what the service had of it or may have received. */
async function isOver(
  tx: Transaction,
  { teamId }: RunOf,
  { request, open }: AnsweredRequest,
): Promise<boolean> {
  const { rows } = await sql`
    select from mirror.scheduled_messages m
    where m.team_id = ${teamId} and m.local_id = ${request.localId} and clock_timestamp() >=
      least((m.base ->> 'execute_at')::timestamptz, (${toJson(open.sent)}::jsonb ->> 'execute_at')::timestamptz)`.execute(
    tx,
  );
  return rows.length > 0;
}

/** Only before its time has come is it certain that nobody gets the message. */
async function judgedByTime(tx: Transaction, run: RunOf, result: AnsweredRequest): Promise<AnsweredRequest> {
  const { request, open, outcome } = result;
  const isGone =
    request.kind === 'message' &&
    (outcome.kind === 'gone' || (outcome.kind === 'confirmed' && open.sent === null));
  return isGone && (await isOver(tx, run, result))
    ? { ...result, outcome: { kind: 'late', detail: 'its time came meanwhile: people may have received it' } }
    : result;
}

/** If a person has resolved it meanwhile, only an answer of the service tells anything new. */
export async function applyRequestResult(
  tx: Transaction,
  run: RunOf,
  answered: AnsweredRequest,
): Promise<void> {
  const result = await judgedByTime(tx, run, answered);
  const { request, open, outcome, requestId } = result;
  const isOpen = outcome.kind === 'unknown';
  const word =
    outcome.kind === 'late' || outcome.kind === 'gone'
      ? 'ineffective'
      : outcome.kind === 'conflict'
        ? 'changed'
        : outcome.kind;
  const { rows } = await sql`
    update sync.changes set outcome = ${toJson({ [request.kind]: word })}::jsonb, request_id = coalesce(${requestId}, request_id),
      state = ${isOpen ? 'open' : 'closed'}, closed_at = ${isOpen ? sql`null` : sql`clock_timestamp()`}
    where change_id = ${open.changeId} and (state = 'open' or ${outcome.kind === 'confirmed'}) returning 1`.execute(
    tx,
  );
  if (rows.length > 0) await applyOutcome(tx, run, result);
}

/** Takes over what the service has of a message. An edit that waits is then in conflict with it. */
async function applyMoved(
  tx: Transaction,
  run: RunOf,
  localId: string,
  { shown, raw }: ShownMessage,
): Promise<void> {
  const { teamId, runId } = run;
  await sql`
    with moved as (
      update mirror.scheduled_messages m set base = m.base || ${toJson(shown)}::jsonb, read_at = clock_timestamp(), raw = ${toJson(raw)}::jsonb
      from mirror.scheduled_messages o
      where m.team_id = ${teamId} and m.local_id = ${localId} and o.team_id = m.team_id and o.local_id = m.local_id
      returning o.base as was, m.base as has, m.team_id, m.local_id
    ),
    noted as (
      insert into sync.changes (team_id, local_id, run_id, kind, base, old, new, closed_at)
      select team_id, local_id, ${runId}, 'pull', jsonb_build_object('message', was), jsonb_build_object('message', was),
        jsonb_build_object('message', has), clock_timestamp()
      from moved
    )
    insert into sync.held_fields as h (team_id, local_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, detail, run_id)
    select e.team_id, e.local_id, 'message', e.edit_id, 'conflict', m.was, e.new_value, m.has, m.has, '', ${runId}
    from moved m join sync.edits e on e.team_id = m.team_id and e.local_id = m.local_id and e.ended_at is null
    where e.new_value is not null
    on conflict (team_id, user_id, field, local_id) do update set reason = excluded.reason, base_value = excluded.base_value,
      service_value = excluded.service_value, shown_value = excluded.shown_value, decision = null`.execute(
    tx,
  );
  const { rows } = await sql`
    select from sync.edits where team_id = ${teamId} and local_id = ${localId} and ended_at is null`.execute(
    tx,
  );
  if (rows.length === 0)
    await sql`select sync.withdraw_request(${teamId}, ${localId}::uuid, 'message')`.execute(tx);
}

/** Takes over what the service shows of a message of which nothing is being sent; `null` if it no longer has it. */
export async function applyShown(
  tx: Transaction,
  run: RunOf,
  localId: string,
  found: ShownMessage | null,
): Promise<void> {
  const { teamId } = run;
  const { rows } = await sql<{ id: Id; is_over: boolean; is_moved: boolean }>`
    select id, (base ->> 'execute_at')::timestamptz <= clock_timestamp() as is_over,
      not base @> ${toJson(found?.shown ?? {})}::jsonb as is_moved
    from mirror.scheduled_messages
    where team_id = ${teamId} and local_id = ${localId} and id is not null and state not in ('past', 'cancelled')
    for update`.execute(tx);
  const [row] = rows;
  if (row === undefined) return;
  const message = { kind: 'message', localId, id: row.id } as const;
  if (found === null)
    return row.is_over
      ? await endMessage(tx, run, message, 'past', 'its time has passed')
      : await endMessage(tx, run, message, 'cancelled', 'somebody has cancelled it on the service');
  if (row.is_moved) return await applyMoved(tx, run, localId, found);
  await sql`
    update mirror.scheduled_messages set read_at = clock_timestamp(), raw = ${toJson(found.raw)}::jsonb
    where team_id = ${teamId} and local_id = ${localId}`.execute(tx);
}
