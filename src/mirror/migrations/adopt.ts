/** Adopts a mirror that was made by the numbered files from before the baseline. */
import { CompiledQuery, sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Transaction } from '../db/database.ts';
import { MIGRATOR_TABLES, runFiles, TABLES } from './apply.ts';
import { catalogDifferences, readCatalogs } from './catalogs.ts';
import type { MigrationFiles } from './files.ts';

/**
 * Adopts a mirror that earlier files made as if the baseline had made it, if its catalogs equal those of a new one,
 * which is made here by the same server and rolled back. As long as this exists, the repeatable files have to fit the
 * baseline alone.
 * @throws MusterdError with what differs
 */
export async function adopt(tx: Transaction, { numbered, repeatable }: MigrationFiles): Promise<void> {
  const [baseline] = numbered;
  if (baseline === undefined) throw new Error('there is no baseline');
  const run = (text: string) => tx.executeQuery(CompiledQuery.raw(text));
  const there = await readCatalogs(tx);
  await run('savepoint as_it_is');
  for (const name of ['mirror', 'sync', 'report'])
    await run(`alter schema ${name} rename to ${name}_as_it_is`);
  await run(`create schema sync;${MIGRATOR_TABLES}${TABLES}`);
  await runFiles(tx, [baseline, ...repeatable]);
  const made = await readCatalogs(tx);
  await run('rollback to savepoint as_it_is');
  const differing = catalogDifferences(there, made);
  if (differing.length > 0) {
    throw new MusterdError(
      'mirror',
      `The schema is not as musterd made it: ${differing.slice(0, 3).join('; ')}`,
      {
        hint: `Nothing was changed. Put back what was changed by hand (${differing.length} in all), or load a dump of an unchanged mirror into an empty database, then migrate again.`,
      },
    );
  }
  // The history of the users goes back to the file that began it: `export --as-of` asks.
  await sql`
    with earlier as (delete from sync.migrations returning name, timestamp)
    insert into sync.migrations (name, checksum, timestamp)
    select ${baseline.name}, ${baseline.checksum}, coalesce(min(timestamp) filter (where name = '0032_periods'), ${new Date().toISOString()})
    from earlier`.execute(tx);
}
