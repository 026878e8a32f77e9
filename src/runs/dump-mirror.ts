/** Writes the whole mirror as SQL, as of one moment, and restores it. */
import { writeDump } from '../mirror/tools/write-dump.ts';
import { type Mirror, requireSchema } from './open.ts';
import type { Database } from '../mirror/db/database.ts';
import { readPlacing } from '../mirror/team/known-place.ts';
import { restoreDump } from '../mirror/tools/restore-dump.ts';

/**
 * @param onRows called with the number of rows so far
 * @returns the text in pieces
 */
export async function dumpMirror(
  { db, url }: Pick<Mirror, 'db' | 'url'>,
  version: string,
  onRows: (count: number) => void,
): Promise<AsyncIterable<Buffer>> {
  await requireSchema(db);
  return writeDump({ url, version, onRows });
}

/** Loads a dump into an empty database. */
export async function restoreMirror(db: Database, from: Parameters<typeof restoreDump>[1]) {
  const restored = await restoreDump(db, from);
  return { restored, placing: await readPlacing(db) };
}
