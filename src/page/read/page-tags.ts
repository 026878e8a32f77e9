/** Tags for the status page. */
import { sql } from 'kysely';
import { idArray } from '../../mirror/db/by-key.ts';
import type { Row } from '../../mirror/db/database.ts';
import { type ListedRead, readMonths } from './page-counts.ts';
import type { PageReader } from './page-reader.ts';

export interface TagsFilter {
  /** A part of a name. */
  readonly q: string;
  readonly hasGone: boolean;
  readonly sort: 'tag' | 'first' | 'id';
  readonly isDown: boolean;
  /** Number of tags before this page. */
  readonly before: number;
  readonly limit: number;
}

type TagRow = Row<'mirror.tags', 'team_id' | 'id' | 'tag' | 'color' | 'first_seen_at' | 'gone_at'>;

export interface TagsRead extends ListedRead {
  readonly rows: readonly TagRow[];
  readonly found: number;
  readonly gone: number;
}

/** There are fewer tags than users, so pages use an offset, and each query sorts again. */
export async function readTags(reader: PageReader, filter: TagsFilter): Promise<TagsRead> {
  const { db, teamIds } = reader;
  const { q, hasGone, sort, isDown, before, limit } = filter;
  const like = `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const key = { tag: sql`lower(tag)`, first: sql`first_seen_at`, id: sql`id` }[sort];
  const way = isDown ? sql`desc` : sql`asc`;
  const ofTeams = sql`team_id = any (${idArray(teamIds)})`;
  const wanted = sql`${ofTeams} and gone_at is ${hasGone ? sql`not null` : sql`null`} and (${q} = '' or tag ilike ${like})`;
  const { rows } = await sql<TagRow>`
    select team_id, id, tag, color, first_seen_at, gone_at from mirror.tags where ${wanted}
    order by ${key} ${way} nulls last, id ${way}, team_id limit ${limit} offset ${before}`.execute(db);
  const counted = await sql<{ found: number; gone: number }>`
    select (select count(*)::int from mirror.tags where ${wanted}) as found,
      (select count(*)::int from mirror.tags where ${ofTeams} and gone_at is not null) as gone`.execute(db);
  const { found = 0, gone = 0 } = counted.rows[0] ?? {};
  return { rows, found, gone, ...(await readMonths(reader, teamIds, 'tags')) };
}
