/** Reads the edits that last: who made them, and which of them the person who decides has made. */
import { sql } from 'kysely';
import { fieldOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { EditedField } from '../../model/waiting.ts';
import { idArray } from '../db/by-key.ts';
import type { Queryable, Transaction } from '../db/database.ts';

export async function readLastEdits(
  db: Queryable,
  teamId: Id,
  ids: readonly Id[],
): Promise<readonly EditedField[]> {
  const { rows } = await sql<Omit<EditedField, 'field'> & { readonly field: string }>`
    select user_id as "userId", field, xid::text as transaction, edited_at as "editedAt",
      sync.named_editor(edited_by, actor) as "editedBy"
    from sync.edits where team_id = ${teamId} and user_id = any (${idArray(ids)}) and ended_at is null
    order by user_id, field`.execute(db);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}

/** The fields of these users that the person who decides in this transaction has edited, or may have. */
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
