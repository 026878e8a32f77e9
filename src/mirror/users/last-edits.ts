/** Reads edits that have not ended: who made them, and which of them were made by the person who decides. */
import { type RawBuilder, sql } from 'kysely';
import { columnOf, fieldOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { EditedField, HeldEdit, HoldOfUser } from '../../model/waiting.ts';
import { idArray } from '../db/by-key.ts';
import type { Queryable, Transaction } from '../db/database.ts';

export async function readLastEdits(
  db: Queryable,
  teamId: Id,
  ids: readonly Id[],
): Promise<readonly EditedField[]> {
  const { rows } = await sql<Omit<EditedField, 'field'> & { readonly field: string }>`
    select user_id as "userId", field, edited_at as "editedAt",
      sync.named_editor(edited_by, actor) as "editedBy"
    from sync.edits where team_id = ${teamId} and user_id = any (${idArray(ids)}) and ended_at is null
    order by user_id, field`.execute(db);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}

/**
 * A batch is all edits made by one author and held by one run. Its name is a hash of these edits and of the values of base,
 * mirror and service. Returns the common table expressions `edited` and `named`.
 * @param held a query of team_id, run_id, user_id, field, edit_id, batch (null if not in a batch) and these three values
 */
const named = (held: RawBuilder<unknown>) => sql`
  edited as materialized (
    select s.*, e.edited_by, e.actor, e.edited_at from (${held}) s
    join lateral (select * from sync.edits l where l.edit_id = s.edit_id offset 0) e
      on e.team_id = s.team_id and e.user_id = s.user_id and e.field = s.field
  ),
  named as materialized (
    select run_id, edited_by, actor, substr(encode(sha256(convert_to(jsonb_agg(jsonb_build_array(user_id, field, edit_id,
      extract(epoch from edited_at), base_value, mirror_value, service_value) order by user_id, field)::text, 'UTF8')), 'hex'), 1, 12) as hash
    from edited where batch is null group by run_id, edited_by, actor
  )`;
const isNamed = sql`(n.run_id, n.edited_by, n.actor) is not distinct from (e.run_id, e.edited_by, e.actor)`;

/** At the end of a run, puts the team's held edits without a batch into batches, and records the batches in the ledger. */
export async function nameBatches(tx: Transaction, runId: bigint): Promise<void> {
  await sql`
    with ${named(sql`
      select * from sync.held_fields
      where team_id = (select team_id from sync.runs where run_id = ${runId}) and batch is null and decision is null and edit_id is not null
      for update skip locked`)},
    put as (
      update sync.held_fields h set batch = n.hash from edited e join named n on ${isNamed}
      where h.team_id = e.team_id and h.user_id = e.user_id and h.field = e.field
      returning h.team_id, h.user_id, h.run_id, h.field, h.edit_id, h.batch
    )
    update sync.changes c set edits = jsonb_build_object(p.field, p.edit_id), batch = p.batch
    from put p
    cross join lateral (
      select change_id from sync.changes where team_id = p.team_id and user_id = p.user_id and run_id = p.run_id and kind = 'hold'
        and edits is null and new ? p.field offset 0
    ) n
    where c.change_id = n.change_id`.execute(tx);
}

/** Returns the authors and batches of held edits, and of edits that only a plan holds: the batches they would get. */
export async function readHeldEdits(
  db: Queryable,
  teamId: Id,
  holds: readonly HoldOfUser[],
): Promise<readonly HeldEdit[]> {
  const held = holds.map(({ id, hold }) => ({
    user_id: id,
    field: columnOf(hold.field),
    edit_id: hold.edit,
    batch: hold.batch,
    base_value: hold.base,
    mirror_value: hold.mirror,
    service_value: hold.service,
  }));
  const { rows } = await sql<Omit<HeldEdit, 'field'> & { readonly field: string }>`
    with ${named(sql`
      select ${teamId}::bigint as team_id, null::bigint as run_id, r.user_id, r.field, coalesce(r.edit_id, l.edit_id) as edit_id,
        r.batch, r.base_value, r.mirror_value, r.service_value
      from jsonb_to_recordset(${toJson(held)}::jsonb) as r
        (user_id bigint, field text, edit_id bigint, batch text, base_value jsonb, mirror_value jsonb, service_value jsonb)
      left join sync.edits l on l.team_id = ${teamId} and l.user_id = r.user_id and l.field = r.field and l.ended_at is null
        and l.new_value is not distinct from r.mirror_value`)}
    select e.user_id as "userId", e.field, coalesce(e.batch, n.hash) as batch, e.edited_at as "editedAt",
      sync.named_editor(e.edited_by, e.actor) as "editedBy"
    from edited e left join named n on ${isNamed} order by e.user_id, e.field`.execute(db);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}

/** Reads the fields of these users that the person who decides in this transaction has edited, or may have edited. */
export async function readOwnEdits(
  tx: Transaction,
  teamId: Id,
  ids: readonly Id[],
): Promise<readonly Pick<EditedField, 'userId' | 'field'>[]> {
  const { rows } = await sql<{ readonly userId: Id; readonly field: string }>`
    select user_id as "userId", field from sync.edits
    where team_id = ${teamId} and user_id = any (${idArray(ids)}) and ended_at is null and sync.is_own(authors)
    order by user_id, field`.execute(tx);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}
