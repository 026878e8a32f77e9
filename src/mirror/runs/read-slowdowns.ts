/** What the last runs found that makes each run read everything. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { Slowdowns } from '../../model/slowdowns.ts';
import type { Queryable } from '../db/database.ts';

export async function readSlowdowns(db: Queryable, teamId: Id): Promise<Slowdowns> {
  const { rows: unresolved } = await sql<{ id: Id }>`
    select id from mirror.users where team_id = ${teamId} and not resolved and gone_at is null order by id`.execute(
    db,
  );
  const { rows } = await sql<Slowdowns['rows'][number]>`
    select resource, id, reason from sync.rejected_rows where team_id = ${teamId} order by resource, id`.execute(
    db,
  );
  return { unresolved: unresolved.map(({ id }) => id), rows };
}
