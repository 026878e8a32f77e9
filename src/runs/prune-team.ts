/** Removes what is older than the settings keep it. */
import type { Config } from '../config/config.ts';
import type { Database } from '../mirror/db/database.ts';
import { prune } from '../mirror/runs/retention.ts';
import { agesOf, type Pruned } from '../model/ages.ts';

/**
 * @param isDry only counts it
 * @param goesOn called after each step with what was removed so far. It answers whether to go on.
 */
export async function pruneTeam(
  db: Database,
  { team, retention }: Pick<Config, 'team' | 'retention'>,
  how: Parameters<typeof prune>[3],
): Promise<Pruned> {
  return await prune(db, team, agesOf(retention), how);
}
