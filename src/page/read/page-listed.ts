/** The rows of a listing for the status page. */
import { sql } from 'kysely';
import { idArray } from '../../mirror/db/by-key.ts';
import { contains } from '../../mirror/users/find-user.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { Id } from '../../model/id.ts';
import { type ListedResource, shownColumnsOf } from '../../model/listed-resource.ts';
import { type ListedRead, readMonths } from './page-counts.ts';
import type { PageReader } from './page-reader.ts';

export interface ListedFilter {
  /** A part of a name. */
  readonly q: string;
  readonly hasGone: boolean;
  readonly sort: 'name' | 'first' | 'id';
  readonly isDown: boolean;
  /** Number of rows before this page. */
  readonly before: number;
  readonly limit: number;
}

/** With the columns that the reports show. */
export interface RowOnPage {
  readonly team_id: Id;
  readonly id: Id;
  readonly first_seen_at: Date;
  readonly gone_at: Date | null;
  readonly [column: string]: unknown;
}

export interface ListedRowsRead extends ListedRead {
  readonly rows: readonly RowOnPage[];
  readonly found: number;
  readonly gone: number;
}

/** There are fewer rows than users, so pages use an offset, and each query sorts again. */
export async function readListedRows(
  reader: PageReader,
  resource: ListedResource,
  filter: ListedFilter,
): Promise<ListedRowsRead> {
  const { db, teamIds } = reader;
  const { q, hasGone, sort, isDown, before, limit } = filter;
  const columns = shownColumnsOf(resource);
  const [name = 'id'] = columns;
  const table = sql.table(`mirror.${resource.name}`);
  const key = { name: sql`lower(${sql.ref(name)})`, first: sql`first_seen_at`, id: sql`id` }[sort];
  const way = isDown ? sql`desc` : sql`asc`;
  const ofTeams = sql`team_id = any (${idArray(teamIds)})`;
  const wanted = sql`${ofTeams} and gone_at is ${hasGone ? sql`not null` : sql`null`} and ${contains(sql.ref(name), readUserQuery(q))}`;
  const { rows } = await sql<RowOnPage>`
    select team_id, id, ${sql.join(columns.map((column) => sql.ref(column)))}, first_seen_at, gone_at from ${table} where ${wanted}
    order by ${key} ${way} nulls last, id ${way}, team_id limit ${limit} offset ${before}`.execute(db);
  const counted = await sql<{ found: number; gone: number }>`
    select (select count(*)::int from ${table} where ${wanted}) as found,
      (select count(*)::int from ${table} where ${ofTeams} and gone_at is not null) as gone`.execute(db);
  const { found = 0, gone = 0 } = counted.rows[0] ?? {};
  return { rows, found, gone, ...(await readMonths(reader, teamIds, resource.name)) };
}
