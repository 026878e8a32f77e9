/**
 * Subqueries for the one row with a key, for `left join lateral`. `offset 0` forces a lookup by key: until a table is
 * analysed, Postgres would expect a handful of rows per team and plan a quadratic nested loop.
 */
import { type RawBuilder, sql } from 'kysely';
import type { MirroredResource } from '../../model/absence.ts';
import type { Id } from '../../model/id.ts';

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

/** All ids as one text parameter, because pg's own conversion of an array is many times slower. */
export function idArray(ids: readonly Id[]): RawBuilder<readonly Id[]> {
  return sql`${`{${ids.join(',')}}`}::bigint[]`;
}

/** For `where('id', '=', anyOf(ids))`. The list may be empty. */
export function anyOf(ids: readonly Id[]): RawBuilder<Id> {
  return sql`any (${idArray(ids)})`;
}
