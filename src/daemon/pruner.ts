/** Deletes rows past their retention, once a day for each team, in parallel with runs. It pauses half of the time. */
import type { Config } from '../config/config.ts';
import type { Log } from '../log.ts';
import type { Database } from '../mirror/db/database.ts';
import { notePruneTurn, prune, takePruneTurn } from '../mirror/runs/retention.ts';
import { agesOf } from '../model/ages.ts';
import { createBell } from './bell.ts';

export interface PrunerOptions {
  readonly db: Database;
  /** Called at each look, because settings can change. */
  readonly configs: () => readonly Pick<Config, 'team' | 'retention'>[];
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Ms until the first look, and between looks. The daemon has other work at the start, so it does not look then. */
  readonly everyMs?: number;
}

export interface Pruner {
  /** Stops. A later turn deletes the remaining rows. */
  close(): Promise<void>;
}

const isAnything = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).some((count) => count > 0);

export function createPruner({ db, configs, log, everyMs = 600_000 }: PrunerOptions): Pruner {
  const bell = createBell();
  let isOver = false;
  const pruneTeam = async ({ team, retention }: Pick<Config, 'team' | 'retention'>) => {
    if (!(await takePruneTurn(db, team))) return;
    let sinceMs = performance.now();
    const removed = await prune(db, team, agesOf(retention), async () => {
      // Waits as long as the batch took, because runs have priority.
      await bell.sleep(performance.now() - sinceMs);
      if (!isOver) await notePruneTurn(db, team, false);
      sinceMs = performance.now();
      return !isOver;
    });
    if (isOver) return;
    await notePruneTurn(db, team, true);
    if (isAnything(removed)) log.info({ team, ...removed }, 'old rows removed');
  };
  const goRound = async () => {
    while (!isOver) {
      await bell.sleep(everyMs);
      for (const config of configs()) {
        if (isOver) return;
        try {
          await pruneTeam(config);
        } catch (error) {
          log.warn({ team: config.team, err: error }, 'old rows not removed: trying again');
        }
      }
    }
  };
  const round = goRound();
  return {
    close: async () => {
      isOver = true;
      bell.ring();
      await round;
    },
  };
}
