/** Removes what is older than the retention in the settings. */
import type { Config } from '../config/config.ts';
import type { Database } from '../mirror/db/database.ts';
import { prune } from '../mirror/runs/retention.ts';
import { agesOf, type Pruned } from '../model/ages.ts';

/**
 * @param isDry whether to only count the rows
 * @param goesOn called after each step with what was removed so far; says whether to go on
 */
export async function pruneTeam(
  db: Database,
  { team, retention }: Pick<Config, 'team' | 'retention'>,
  how: Parameters<typeof prune>[3],
): Promise<Pruned> {
  return await prune(db, team, agesOf(retention), how);
}
