/**
 * The one row with a key, for `left join lateral`. Before a table is analysed Postgres takes a team for a handful
 * of rows, and compares each row of one side with each of the other; `offset 0` keeps it to a look at the key.
 */
import { type RawBuilder, sql } from 'kysely';
import type { MirroredResource } from '../model/absence.ts';
import type { Id } from '../model/id.ts';

export function byKey(table: string, teamId: Id, id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select * from ${sql.table(table)} where team_id = ${teamId} and id = ${id} offset 0)`;
}

export function absenceByKey(
  resource: MirroredResource,
  teamId: Id,
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    (select * from sync.absences where team_id = ${teamId} and resource = ${resource} and id = ${id} offset 0)`;
}

/** One parameter, however many there are. pg's own way to an array takes many times as long. */
export function idArray(ids: readonly Id[]): RawBuilder<readonly Id[]> {
  return sql`${`{${ids.join(',')}}`}::bigint[]`;
}

/** For `where('id', '=', anyOf(ids))`: none is allowed too. */
export function anyOf(ids: readonly Id[]): RawBuilder<Id> {
  return sql`any (${idArray(ids)})`;
}
