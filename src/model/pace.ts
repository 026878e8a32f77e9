/** The pace of calls for one team: no more than the limit in any 60 s, whatever leaves at once after a quiet time. */

export interface PaceSettings {
  /** The service's limit. */
  readonly perMinute: number;
  /** Our part of it, from 0 to 1. */
  readonly share: number;
  /** The number of calls that may leave at once after a quiet time; if absent, the usual one. */
  readonly burst?: number;
}

/** What is kept back for calls that are longer under way than others, and so arrive closer together than they left. */
const kept = 0.01;
const usualBurst = 20;

export interface Pace {
  /** Calls that may leave at once. */
  readonly burst: number;
  readonly periodMs: number;
}

/** A burst and all that follow it evenly are together within the limit. */
export function paceOf({ perMinute, share, burst: wanted = usualBurst }: PaceSettings): Pace {
  const limit = perMinute * share * (1 - kept);
  const burst = Math.max(1, Math.floor(Math.min(wanted, limit / 2)));
  return { burst, periodMs: 60_000 / Math.max(limit - burst, limit / 2) };
}

/** The calls of one team, of one process or of several. */
export interface Places {
  /** Takes the next places. @returns in how many ms the last of them may leave, where a negative one is due by now */
  take(pace: Pace, places?: number): Promise<number>;
  /** After a 429, lets no call leave for this time. */
  pause(pauseMs: number, pace: Pace): Promise<void>;
}
