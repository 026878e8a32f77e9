/** Brings the schema of a mirror up to date. */
import type { Database } from '../../mirror/db/database.ts';
import { migrate } from '../../mirror/migrations.ts';
import type { KeepRequests } from '../../mirror/migrations/open-requests.ts';
import { noteDatabase } from '../../mirror/team/known-place.ts';
import { missingRoles } from '../../mirror/db/roles-for-people.ts';

/**
 * @param keepRequests keeps what 0.1.0 has left open in SQL and what is dropped; without it nothing may be open
 * @returns what was applied, and a sentence for each missing role for people
 */
export async function migrateMirror(
  db: Database,
  keepRequests?: KeepRequests,
): Promise<{ readonly applied: readonly string[]; readonly missing: readonly string[] }> {
  const { applied } = await migrate(db, { keepRequests });
  await noteDatabase(db);
  return { applied, missing: await missingRoles(db) };
}
