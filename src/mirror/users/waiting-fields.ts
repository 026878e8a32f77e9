/** Which held fields wait for a person, and in which batch, of `h`, a row of `report.held`. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';

/** Fields that wait for a person, without asked and rejected ones. */
export const waitsForPerson = sql`(h.reason not in ('asked', 'rejected') and not exists (
  select from mirror.users g where g.team_id = h.team_id and g.id = h.user_id and g.gone_at is not null))`;

/** Whether it waits in a batch. */
export const inBatch = sql`(h.batch is not null and h.reason in ('limit', 'review'))`;

/** The edits of all rows that a page shows of a batch; `null` for a row that has none. */
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
