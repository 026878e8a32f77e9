/** The record of applied plan files. */
import { sql } from 'kysely';
import { fieldOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';

/** When and by whom a plan was applied. */
export interface PlanUse {
  readonly at: Date;
  readonly by: string;
}

/** The key that seals plans of this team. Before the first run there is none, and nothing to send either. */
export async function readPlanKey(db: Queryable, team: string): Promise<string> {
  const row = await db
    .selectFrom('sync.teams')
    .select('plan_key')
    .where('team', '=', team)
    .executeTakeFirst();
  return row?.plan_key ?? '';
}

/** The time by the database's clock, as in `readUse`. */
export async function readDatabaseTime(db: Queryable): Promise<Date> {
  const { rows } = await sql<{ readonly now: Date }>`
    select date_trunc('milliseconds', clock_timestamp()) as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('select of one row returned none');
  return row.now;
}

/** Whether the same plan was applied since it was made, from this file or another one. */
export async function readUse(
  db: Queryable,
  teamId: Id,
  { hash, madeAt }: { readonly hash: string; readonly madeAt: Date },
): Promise<PlanUse | null> {
  const { rows } = await sql<PlanUse>`
    select c.closed_at as at, coalesce(c.decided_by, '') as by from sync.changes c
    where c.team_id = ${teamId} and c.batch = ${hash} and c.kind = 'approve' and c.run_id is not null
      and c.closed_at >= ${madeAt}
    order by c.change_id limit 1`.execute(db);
  return rows[0] ?? null;
}

/** The outcomes of the pushes of this run, by user and field. */
export async function readPushed(db: Queryable, runId: bigint): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ user_id: Id; field: string; outcome: string }>`
    select c.user_id, f.field, case when c.state = 'open' then 'unknown' else f.outcome end as outcome
    from sync.changes c cross join lateral jsonb_each_text(c.outcome) as f (field, outcome)
    where c.run_id = ${runId} and c.kind = 'push' and c.user_id is not null order by c.change_id`.execute(db);
  return new Map(rows.map(({ user_id, field, outcome }) => [`${user_id} ${fieldOf(field)}`, outcome]));
}
