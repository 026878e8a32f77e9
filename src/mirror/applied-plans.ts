/** What became of the file of a plan. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Queryable } from './database.ts';
import { fieldOfSql } from './users-read.ts';

/** When and by whom it was applied. */
export interface Use {
  readonly at: Date;
  readonly by: string;
}

export async function readUse(db: Queryable, teamId: Id, planId: string): Promise<Use | null> {
  const { rows } = await sql<Use>`
    select closed_at as at, coalesce(decided_by, '') as by from sync.changes
    where team_id = ${teamId} and batch = ${planId} and kind = 'approve' order by change_id limit 1`.execute(
    db,
  );
  return rows[0] ?? null;
}

/** What became of the pushes of this run, by user and field. */
export async function readPushed(db: Queryable, runId: bigint): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ user_id: Id; field: string; outcome: string }>`
    select c.user_id, f.field, case when c.state = 'open' then 'unknown' else f.outcome end as outcome
    from sync.changes c cross join lateral jsonb_each_text(c.outcome) as f (field, outcome)
    where c.run_id = ${runId} and c.kind = 'push' order by c.change_id`.execute(db);
  return new Map(rows.map(({ user_id, field, outcome }) => [`${user_id} ${fieldOfSql(field)}`, outcome]));
}
