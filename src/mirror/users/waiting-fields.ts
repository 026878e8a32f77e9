/** Conditions on a row h of `report.held`: a person can choose a side, it waits for a person. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';

/** True if a person can choose a side: the field is not held on request, and its user is not gone. */
export const isDecidable = sql`(h.reason <> 'asked' and not exists (
  select from mirror.users g where g.team_id = h.team_id and g.id = h.user_id and g.gone_at is not null))`;

/** True if the field waits for a person: a side can be chosen, and the edit was not rejected. */
export const waitsForPerson = sql`(h.state = 'held' and ${isDecidable})`;

/** Reads the edit of each field that the page shows for a batch; `null` for a field without an edit. */
export async function readShownEdits(
  db: Queryable,
  teamId: Id,
  batch: string,
): Promise<readonly (Id | null)[]> {
  const { rows } = await sql<{ editId: Id | null }>`
    select h.edit_id as "editId" from report.held h
    where h.team_id = ${teamId} and h.batch = lower(${batch}) and ${waitsForPerson} and h.reason in ('limit', 'review')`.execute(
    db,
  );
  return rows.map(({ editId }) => editId);
}
