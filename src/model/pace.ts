/** The pace of calls for one team: within any 60 s at most the limit, even if a burst leaves after a quiet time. */

export interface PaceSettings {
  /** The service's rate limit, in calls per minute. */
  readonly perMinute: number;
  /** Our share of this limit, from 0 to 1. */
  readonly share: number;
  /** The number of calls that may leave at once after a quiet time; if absent, `usualBurst`. */
  readonly burst?: number;
}

/** This share of the limit stays unused, because delays differ: calls can arrive closer together than they left. */
const kept = 0.01;
const usualBurst = 20;

export interface Pace {
  /** Calls that may leave at once. */
  readonly burst: number;
  readonly periodMs: number;
}

/** Chooses burst and period so that, in any 60 s, a burst and the evenly paced calls after it stay within the limit. */
export function paceOf({ perMinute, share, burst: wanted = usualBurst }: PaceSettings): Pace {
  const limit = perMinute * share * (1 - kept);
  const burst = Math.max(1, Math.floor(Math.min(wanted, limit / 2)));
  return { burst, periodMs: 60_000 / Math.max(limit - burst, limit / 2) };
}

/** Assigns places, the times at which calls of one team may leave, to one process or to several. */
export interface Places {
  /** Takes the next places. @returns the ms until the call at the last place may leave; negative if it may leave now */
  take(pace: Pace, places?: number): Promise<number>;
  /** Delays all calls of the team by `pauseMs`, after a 429. */
  pause(pauseMs: number, pace: Pace): Promise<void>;
}
