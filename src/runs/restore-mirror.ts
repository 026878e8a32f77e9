/** Puts a dump into an empty database, and says where that stands. */
import type { Database } from '../mirror/db/database.ts';
import { readPlacing } from '../mirror/team/known-place.ts';
import { restoreDump } from '../mirror/tools/restore-dump.ts';

export async function restoreMirror(db: Database, from: Parameters<typeof restoreDump>[1]) {
  const restored = await restoreDump(db, from);
  return { restored, placing: await readPlacing(db) };
}
