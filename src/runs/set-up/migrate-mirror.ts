/** Brings the schema of a mirror up to date. */
import type { Database } from '../../mirror/db/database.ts';
import { migrate } from '../../mirror/migrations.ts';
import type { KeepRequests } from '../../mirror/migrations/open-requests.ts';
import { noteDatabase } from '../../mirror/team/known-place.ts';
import { missingRoles } from '../../mirror/db/roles-for-people.ts';

/**
 * @param keepRequests saves the open SQL requests of 0.1.0 before they are dropped; without it, open requests are an error
 * @returns the applied migrations, and a sentence for each missing role for people
 */
export async function migrateMirror(
  db: Database,
  keepRequests?: KeepRequests,
): Promise<{ readonly applied: readonly string[]; readonly missing: readonly string[] }> {
  const { applied } = await migrate(db, { keepRequests });
  await noteDatabase(db);
  return { applied, missing: await missingRoles(db) };
}
