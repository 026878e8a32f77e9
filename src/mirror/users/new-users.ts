/** Writes users who are not in the mirror yet, in one statement. Mirror and base both get the service's values. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { UserWrite } from '../../model/user-plan.ts';
import { columnNames, objectOf, stagedColumns, stagedValues, valuesOf } from '../db/field-sql.ts';
import type { Transaction } from '../db/database.ts';
import { type StageShape, toJsonField } from '../db/spool.ts';
import { type SpoolOf, stage } from '../db/stage.ts';
import { stagedTimes, timesOf } from '../db/timestamp.ts';
import type { RunOf } from './users-write.ts';

/** The columns to stage for a new user. Mirror and base get the same values, so each value is staged once. */
export const newShape: StageShape<UserWrite> = {
  name: 'new_users',
  columns: [
    ['id', 'bigint'],
    ['name', 'text'],
    ...stagedColumns(),
    ['role', 'text'],
    ...stagedTimes,
    ['raw', 'jsonb'],
  ],
  values: ({ id, base, observed: { role, details } }) => [
    id,
    base.joined,
    ...stagedValues(base),
    role,
    ...timesOf(details),
    details === null ? '{}' : toJsonField(details.raw),
  ],
};

/** Writes mirror, base and ledger of these users. @returns the users who exist already, and were left out */
export async function takeUsers(
  tx: Transaction,
  { teamId, runId }: RunOf,
  spool: SpoolOf,
): Promise<ReadonlySet<Id>> {
  // Existing users are searched only between the lowest and the highest new id. A first load then reads no rows.
  const there = (table: string) => sql`
    select t.id from ${sql.table(table)} t where t.team_id = ${teamId}
      and t.id between (select min(s.id) from given s) and (select max(s.id) from given s)`;
  const { rows } = await sql<{ id: Id }>`
    with given as materialized (select * from ${await stage(tx, spool)}),
    late as materialized (
      select id from given intersect (${there('mirror.users')} union all ${there('sync.user_base')})
    ),
    fresh as materialized (select * from given where id not in (select id from late)),
    mirrored as (
      insert into mirror.users (team_id, id, name, ${columnNames}, role, resolved,
        created_at, updated_at, user_created_at, user_updated_at, raw)
      select ${teamId}, s.id, s.name, ${valuesOf('s')}, s.role, true,
        s.created_at, s.updated_at, s.user_created_at, s.user_updated_at, s.raw
      from fresh s
    ),
    agreed as (
      insert into sync.user_base (team_id, id, name, ${columnNames})
      select ${teamId}, s.id, s.name, ${valuesOf('s')} from fresh s
    ),
    noted as (
      insert into sync.changes (team_id, user_id, run_id, kind, new, closed_at)
      select ${teamId}, s.id, ${runId}, 'adopt', ${objectOf('s')}, clock_timestamp()
      from fresh s
    )
    select id from late`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}
