/** Teams of which something is due by their schedules, and when to look at that again. */
import type { LoopStore, WorkEnd } from './run-due.ts';

export interface DueTeams {
  /** Something may be due sooner than was known: the next look asks. */
  wake(): void;
  /** The team was worked on. An edit that was seen to by itself changes nothing of what is due. */
  done(team: string, end: WorkEnd): void;
  /** Offers what is due, where it is time to ask. @returns ms until then; rejects as the store does */
  look(): Promise<number>;
}

export interface DueTeamsOptions {
  readonly names: () => readonly string[];
  readonly store: Pick<LoopStore, 'readDue' | 'readNextDueMs'>;
  readonly offer: (team: string) => Promise<unknown>;
  readonly monotonicMs: () => number;
}

/** It is asked at least this often, whatever the timers say. */
export const longestSleepMs = 15_000;
/** So soon after a run that another process had the lease for, or that failed to begin, … */
const busyMs = 2_000;
/** … and at a team of which nothing was due after all. */
const soonMs = 1_000;
/** When a team was offered that is in the queue already, it is in good hands for this long. */
const offeredMs = 5_000;

/** Looking takes one part of the time in so many: with many teams something changes all the time. */
const restPerLook = 20;
/** A slow database does not keep anybody waiting longer than this for it. */
const longestRestMs = 1_000;

const againMs = (end: WorkEnd) => (end === 'busy' ? busyMs : end === 'idle' ? soonMs : 0);

export function createDueTeams({ names, store, offer, monotonicMs }: DueTeamsOptions): DueTeams {
  /** Before when not to offer a team. */
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
        // Whoever wakes it while it asks is not forgotten.
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
