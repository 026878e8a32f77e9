/** Brings the schema of a mirror up to date. */
import type { Database } from '../mirror/db/database.ts';
import { migrate } from '../mirror/migrations.ts';
import { noteDatabase } from '../mirror/team/known-place.ts';
import { missingRoles } from '../mirror/db/roles-for-people.ts';

/** @returns what was applied, and a sentence for each missing role for people */
export async function migrateMirror(
  db: Database,
): Promise<{ readonly applied: readonly string[]; readonly missing: readonly string[] }> {
  const { applied } = await migrate(db);
  await noteDatabase(db);
  return { applied, missing: await missingRoles(db) };
}
