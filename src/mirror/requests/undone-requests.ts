/** Finds which requests a run sent, or a decision let pass, and how these can be taken back. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { RequestKind, Wanted } from '../../model/requests.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { cancelMessage, updateMessage } from './asked-requests.ts';

export interface UndoneRequest {
  readonly local_id: string;
  readonly field: RequestKind;
  /**
   * `undecided`: it waits for a decision again. `cancel`: a message that was scheduled is cancelled. `back`: a message
   * that was replaced is what it was before. `left`: there is nothing to be done, and `reason` says why.
   */
  readonly undo: 'undecided' | 'cancel' | 'back' | 'left';
  readonly reason: string | null;
  readonly before: Wanted | null;
}

interface UndoneBy {
  readonly kind: 'run' | 'decision';
  readonly number: bigint;
}

/** Waits for whoever is editing one of these messages, so that what is read of them afterwards stays so. */
export async function lockUndoneMessages(
  tx: Transaction,
  team: string,
  { kind, number }: UndoneBy,
): Promise<void> {
  const isMeant = kind === 'decision' ? sql`c.decision_id = ${number}` : sql`c.run_id = ${number}`;
  await sql`
    select from sync.teams t join mirror.scheduled_messages m on m.team_id = t.team_id
    where t.team = ${team} and m.local_id in (
      select c.local_id from sync.changes c where c.team_id = t.team_id and ${isMeant})
    order by m.local_id for update of m`.execute(tx);
}

export async function readUndoneRequests(
  db: Queryable,
  teamId: Id,
  { kind, number }: UndoneBy,
): Promise<readonly UndoneRequest[]> {
  const ofTarget =
    kind === 'decision'
      ? sql`c.decision_id = ${number} and c.kind <> 'undo'`
      : sql`c.run_id = ${number} and c.kind = 'push' and c.outcome ->> f.field = 'confirmed'`;
  const { rows } = await sql<UndoneRequest>`
    select u.local_id, u.field, u.before, case when l.reason is not null then 'left' when u.is_undecided then 'undecided'
      when u.before is null then 'cancel' else 'back' end as undo, l.reason
    from (
      select distinct on (c.local_id) c.local_id, f.field, nullif(coalesce(c.base -> f.field, c.old -> f.field), 'null') as before,
        nullif(c.new -> f.field, 'null') as after, h.decision in ('approved', 'rejected') and ${kind === 'decision'} as is_undecided,
        h.decision = 'spent' as is_sent, exists (
          select from sync.changes p where p.team_id = c.team_id and p.local_id = c.local_id and p.kind = 'push'
            and p.edits -> f.field = c.edits -> f.field and p.outcome ->> f.field = 'confirmed') as has_arrived
      from sync.changes c
      cross join lateral jsonb_object_keys(c.new) f (field)
      left join sync.held_fields h on h.team_id = c.team_id and h.local_id = c.local_id and h.edit_id = (c.edits ->> f.field)::bigint
      where c.team_id = ${teamId} and c.local_id is not null and ${ofTarget}
      order by c.local_id, c.change_id desc
    ) u
    left join mirror.scheduled_messages m on m.team_id = ${teamId} and m.local_id = u.local_id
    cross join lateral (select case
      when u.is_undecided then null
      when u.is_sent then 'being sent, or of unknown outcome: if it does not arrive, it waits undecided'
      when not u.has_arrived then 'it was taken back or edited since'
      when u.field = 'tag' then 'the service gives no way to delete a tag'
      when u.field = 'conversation_read' then 'the service gives no way to mark a conversation as unread'
      when u.after is null then 'a cancelled message does not come back: ask for another one'
      when m.state is null or m.state in ('past', 'cancelled') then 'it is ' || coalesce(m.state, 'no longer here')
      when m.base is distinct from u.after or sync.wanted('message', to_jsonb(m)) is distinct from u.after then 'it was edited since'
      when (u.before ->> 'execute_at')::timestamptz < clock_timestamp() + interval '1 hour' then 'its earlier time has come'
    end as reason) l
    order by u.local_id`.execute(db);
  return rows;
}

/** Cancels these messages and sets the others back, as edits that the next run sends. */
export async function takeRequestsBack(
  tx: Transaction,
  teamId: Id,
  requests: readonly UndoneRequest[],
): Promise<void> {
  // The triggers judge and record it like the edit of anybody.
  await sql`select set_config('musterd.writing', 'off', true)`.execute(tx);
  for (const { local_id: localId, undo, before } of requests) {
    if (undo === 'cancel') await cancelMessage(tx, teamId, localId);
    if (undo === 'back') await updateMessage(tx, teamId, localId, { ...noMessage, ...before });
  }
  await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
}

const noMessage = Object.fromEntries(
  [
    'user_id',
    'text',
    'template_id',
    'attachments',
    'gallery',
    'is_email',
    'conversation_id',
    'list_id',
    'phone_number',
    'targets',
  ].map((column) => [column, null]),
);
