/** How other programs write the same rows. */
import { sql } from 'kysely';
import { copy } from './copy.ts';
import type { BenchDatabase } from './postgres.ts';
import { copyColumns, type TagCase, tagsOf, teamId } from './tags.ts';

const rowsPerStatement = 1_000;
const columns = ['team_id', 'id', 'tag', 'color', 'rev', 'created', 'updated', 'raw'] as const;

type Peers = Readonly<Record<string, readonly number[]>>;

function valuesOf(count: number, what: TagCase) {
  return [...tagsOf(count, what)].map(({ id, tag, color, rev, created, updated, raw }) => ({
    team_id: teamId,
    id,
    tag,
    color,
    rev,
    created,
    updated,
    raw: JSON.stringify(raw),
  }));
}

async function upsert({ db }: BenchDatabase, values: ReturnType<typeof valuesOf>): Promise<void> {
  await db.asTyped
    .withTables<{ like_tags: ReturnType<typeof valuesOf>[number] }>()
    .insertInto('like_tags')
    .values(values)
    .onConflict((conflict) =>
      conflict
        .columns(['team_id', 'id'])
        .doUpdateSet((eb) =>
          Object.fromEntries(columns.map((column) => [column, eb.ref(`excluded.${column}`)])),
        ),
    )
    .execute();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

interface Rows {
  readonly count: number;
  readonly file: string;
}

async function measureCase(
  database: BenchDatabase,
  { count, file }: Rows,
  rowByRow: number,
  what: TagCase,
): Promise<Peers> {
  const few = valuesOf(Math.min(rowByRow, count), what);
  const all = valuesOf(count, what);
  const single = await timed(async () => {
    for (const row of few) await upsert(database, [row]);
  });
  const slices = await timed(async () => {
    for (let from = 0; from < all.length; from += rowsPerStatement)
      await upsert(database, all.slice(from, from + rowsPerStatement));
  });
  const staged = await copy(database, {
    before: ['create temporary table staged (like public.like_tags including defaults)'],
    into: `staged (${copyColumns})`,
    file,
  });
  return {
    'one statement a row': [(single / few.length) * count],
    'VALUES of 1,000 by Kysely': [slices],
    'COPY to a temporary table alone': [staged.ms],
  };
}

/** @param rowByRow so many rows are written one by one, and what that takes is reckoned up to all */
export async function peers(
  database: BenchDatabase,
  rows: Rows,
  rowByRow: number,
): Promise<Readonly<Record<TagCase, Peers>>> {
  await sql`create table public.like_tags (like mirror.tags including all)`.execute(database.db.asTyped);
  const fresh = await measureCase(database, rows, rowByRow, 'new');
  const unchanged = await measureCase(database, rows, rowByRow, 'unchanged');
  const changed = await measureCase(database, rows, rowByRow, '1 % changed');
  return { new: fresh, unchanged, '1 % changed': changed };
}
