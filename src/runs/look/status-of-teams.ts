/** Reads the status of teams, from the mirror alone. */
import type { Database } from '../../mirror/db/database.ts';
import { readPlacing } from '../../mirror/team/known-place.ts';
import { readStatus, type TeamStatus } from '../../mirror/runs/read-status.ts';
import type { Placing } from '../../model/place.ts';
import { requireSchema } from '../open.ts';

export type { TeamStatus } from '../../mirror/runs/read-status.ts';

/** @param teams the names of the teams in the settings */
export async function readStatusOf(
  db: Database,
  teams: readonly string[],
): Promise<{ readonly placing: Placing; readonly teams: readonly TeamStatus[] }> {
  await requireSchema(db);
  const placing = await readPlacing(db);
  const all: TeamStatus[] = [];
  for (const team of teams) all.push(await readStatus(db, team));
  return { placing, teams: all };
}
