/** How the groups stand, also while the database is away: what was read last, older by the time since. */
import type { Clock } from '../clock.ts';
import { ageStandings } from '../model/freshness.ts';
import type { GroupStatus } from '../model/run-group.ts';
import { withTimeout } from './with-timeout.ts';

export interface Standings {
  /** Never rejects. Several at once share one question to the database. */
  read(): Promise<StandingsNow>;
}

export interface StandingsNow {
  readonly standings: readonly GroupStatus[];
  /** As the database says now; `false`: it did not answer, and they are what it said last. */
  readonly current: boolean;
}

/** @param read asks the database */
export function createStandings(
  read: () => Promise<readonly GroupStatus[]>,
  clock: Pick<Clock, 'monotonicMs'>,
  patienceMs = 3_000,
): Standings {
  let last: readonly GroupStatus[] = [];
  let lastAtMs = 0;
  let underWay: Promise<StandingsNow> | undefined;
  const ask = async (): Promise<StandingsNow> => {
    try {
      last = await withTimeout(patienceMs, read());
      lastAtMs = clock.monotonicMs();
      return { standings: last, current: true };
    } catch {
      return { standings: ageStandings(last, clock.monotonicMs() - lastAtMs), current: false };
    }
  };
  return {
    read: async () => {
      underWay ??= ask().finally(() => {
        underWay = undefined;
      });
      return await underWay;
    },
  };
}
