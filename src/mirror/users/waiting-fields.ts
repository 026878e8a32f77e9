/** Conditions on a row h of `report.held`: whether a side can be chosen, whether it waits for a person, whether in a batch. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';

/** Whether a person can choose a side, which they cannot while it is held on request or its user is gone. */
export const isDecidable = sql`(h.reason <> 'asked' and not exists (
  select from mirror.users g where g.team_id = h.team_id and g.id = h.user_id and g.gone_at is not null))`;

/** Whether the field waits for a person, which it does not either if it was rejected. */
export const waitsForPerson = sql`(h.state = 'held' and ${isDecidable})`;

export const inBatch = sql`(h.batch is not null and h.reason in ('limit', 'review'))`;

/** The edits of all rows of a batch that a page shows; `null` for a row without one. */
export async function readShownEdits(
  db: Queryable,
  teamId: Id,
  batch: string,
): Promise<readonly (Id | null)[]> {
  const { rows } = await sql<{ editId: Id | null }>`
    select h.edit_id as "editId" from report.held h
    where h.team_id = ${teamId} and h.batch = lower(${batch}) and ${waitsForPerson} and ${inBatch}`.execute(
    db,
  );
  return rows.map(({ editId }) => editId);
}
