/** The state of the groups. If the database does not answer: the last known state, made older by the time since then. */
import type { Clock } from '../clock.ts';
import { ageStandings } from '../model/freshness.ts';
import type { GroupStatus } from '../model/run-group.ts';
import { withTimeout } from './with-timeout.ts';

export interface Standings {
  /** Never rejects. Concurrent calls share one query. */
  read(): Promise<StandingsNow>;
}

export interface StandingsNow {
  readonly standings: readonly GroupStatus[];
  /** True if the database answered. If not, the standings are the last ones that it returned, aged. */
  readonly current: boolean;
}

/** @param read queries the database */
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
