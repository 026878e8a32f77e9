/** The teams that have due groups, and when to offer each of them to the queue. */
import type { LoopStore, WorkEnd } from './run-due.ts';

export interface DueTeams {
  /** Makes the next `look` query the store, because a group may be due sooner than the last query showed. */
  wake(): void;
  /** Notes that work on the team has ended. If only edits were pushed, the due times have not changed. */
  done(team: string, end: WorkEnd): void;
  /** Queues the due teams, if it is time to query. @returns ms until the next query; rejects if the store rejects */
  look(): Promise<number>;
}

export interface DueTeamsOptions {
  readonly names: () => readonly string[];
  readonly store: Pick<LoopStore, 'readDue' | 'readNextDueMs'>;
  readonly offer: (team: string) => Promise<unknown>;
  readonly monotonicMs: () => number;
}

/** The store is queried at least this often, even if the next known time is later. */
export const longestSleepMs = 15_000;
/** Delay in ms after a run that did not begin, because another process had the lease or because of an error. */
const busyMs = 2_000;
/** Delay for a team that was offered, but had nothing due. */
const soonMs = 1_000;
/** A team that is in the queue already is not offered again for this long. */
const offeredMs = 5_000;

/** After a look, the loop rests this many times as long as the look took, so that it does not query all the time. */
const restPerLook = 20;
/** Longest rest in ms, however slow the database is. */
const longestRestMs = 1_000;

const againMs = (end: WorkEnd) => (end === 'busy' ? busyMs : end === 'idle' ? soonMs : 0);

export function createDueTeams({ names, store, offer, monotonicMs }: DueTeamsOptions): DueTeams {
  /** The earliest time to offer each team again. */
  const notBeforeMs = new Map<string, number>();
  const offered = new Set<string>();
  let lookAtMs = Number.NEGATIVE_INFINITY;
  let restsUntilMs = Number.NEGATIVE_INFINITY;

  const offerDue = async (): Promise<number> => {
    const now = monotonicMs();
    let waitMs = (await store.readNextDueMs(names())) ?? longestSleepMs;
    const ready: string[] = [];
    for (const team of (await store.readDue(names())).keys()) {
      const notBefore = notBeforeMs.get(team) ?? 0;
      const isTime = notBefore <= now;
      if (isTime) ready.push(team);
      waitMs = Math.min(waitMs, isTime ? offeredMs : notBefore - now);
    }
    for (const team of ready) offered.add(team);
    await Promise.all(ready.map(offer));
    for (const team of ready) notBeforeMs.set(team, now + offeredMs);
    return Math.min(waitMs, longestSleepMs);
  };
  const wake = () => {
    lookAtMs = Number.NEGATIVE_INFINITY;
  };
  return {
    wake,
    done: (team, end) => {
      notBeforeMs.set(team, monotonicMs() + againMs(end));
      if (offered.delete(team) || end !== 'edits') wake();
    },
    look: async () => {
      const now = monotonicMs();
      if (Math.max(lookAtMs, restsUntilMs) <= now) {
        // Set before the query, so that a wake-up during the query is not lost.
        lookAtMs = Number.POSITIVE_INFINITY;
        try {
          const waitMs = await offerDue();
          lookAtMs = Math.min(lookAtMs, now + waitMs);
        } catch (error) {
          wake();
          throw error;
        } finally {
          const end = monotonicMs();
          restsUntilMs = end + Math.min(restPerLook * (end - now), longestRestMs);
        }
      }
      return Math.max(lookAtMs, restsUntilMs) - monotonicMs();
    },
  };
}
