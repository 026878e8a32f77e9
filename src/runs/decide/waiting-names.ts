/** Reads waiting batches and past runs, for the completion of words in a shell, within a short time limit. */
import { createDatabase } from '../../mirror/db/database.ts';
import { readBatches } from '../../mirror/users/held-batches.ts';
import { readTeamId } from '../../mirror/team/pinned-teams.ts';
import { readLatestRuns } from '../../mirror/runs/runs.ts';

export interface WaitingNames {
  readonly batches: readonly string[];
  readonly runs: readonly string[];
}

/** The longest time that a completion waits for a connection or a query, in ms. */
const patienceMs = 1_000;

export async function readWaitingNames(url: string, teams: readonly string[]): Promise<WaitingNames> {
  const limits = { connectTimeoutMs: patienceMs, queryTimeoutMs: patienceMs, maxConnections: 1 };
  const db = createDatabase({ url, applicationName: 'musterd completion', ...limits });
  try {
    const batches: string[] = [];
    for (const team of teams) {
      const teamId = await readTeamId(db.kysely, team);
      if (teamId !== null) batches.push(...(await readBatches(db.kysely, teamId)).map(({ hash }) => hash));
    }
    const runs = await readLatestRuns(db.kysely, teams);
    return { batches, runs: runs.map(String) };
  } finally {
    await db.close();
  }
}
