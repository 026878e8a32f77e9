/** Reads the waiting changes that are on record. They replace a plan for a login that cannot read the service. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { PlannedChange } from '../../model/user-changes.ts';
import type { Queryable } from '../db/database.ts';
import { heldNow, waitsInBatch } from './holds.ts';

/** The edits that the service lacks, and the held fields, with the service's values as a run last saw them. */
export async function readKnownChanges(db: Queryable, teamId: Id): Promise<readonly PlannedChange[]> {
  const { rows } = await sql<PlannedChange>`
    select coalesce(p.user_id, h.user_id) as user_id, coalesce(p.name, h.name) as name, field,
      case when h.field is null then 'push' else 'hold' end as change, coalesce(p.base_value, h.base_value) as base,
      coalesce(p.mirror_value, h.mirror_value) as mirror, case when h.field is null then p.base_value else h.service_value end as service,
      coalesce(h.state, p.state) as state, case when h.state <> 'rejected' then h.reason end as reason, coalesce(h.detail, p.detail) as detail, h.batch,
      coalesce(p.edited_by, h.edited_by) as edited_by, coalesce(p.edited_at, h.edited_at) as edited_at
    from (select * from report.pending where team_id = ${teamId} and detail is distinct from 'the user has left the team') p
    full join (select * from report.held where team_id = ${teamId}) h using (user_id, field)
    order by 1, 3`.execute(db);
  return rows;
}

/** True if a limit on a whole run holds a batch. */
export async function holdsBatch(db: Queryable, teamId: Id): Promise<boolean> {
  const { rows } = await sql`
    select from ${heldNow} h where h.team_id = ${teamId} and h.reason = 'limit' and ${waitsInBatch} limit 1`.execute(
    db,
  );
  return rows.length > 0;
}
