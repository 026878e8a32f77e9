/** The pace of calls for one team, and what callers ask of each other. */

export interface PaceSettings {
  /** The service's limit. */
  readonly perMinute: number;
  /** Our part of it, from 0 to 1. */
  readonly share: number;
  /** The number of calls that may leave at once after a quiet time; if absent, the usual one. */
  readonly burst?: number;
}

/** The part of the limit for a steady flow. The rest is for the burst before it. */
const steadyPart = 0.99;
const usualBurst = 20;

/** The most calls that count in any 60 s, and the pace at which they leave. */
export function paceOf({ perMinute, share, burst = usualBurst }: PaceSettings) {
  const steady = perMinute * share * steadyPart;
  return {
    capacity: Math.max(1, Math.floor(perMinute * share)),
    burst: Math.max(1, Math.floor(Math.min(burst, steady))),
    perMinute: steady,
    periodMs: 60_000 / steady,
  };
}

export interface Pace {
  /** Calls that may leave at once. */
  readonly burst: number;
  readonly periodMs: number;
}

/** Places for the next calls of one process. */
export interface PlacesWanted extends Pace {
  /** The number of places. A negative one gives places back. */
  readonly places: number;
  /** The number of places that may count at once. */
  readonly capacity: number;
  /**
   * The places of this process that count, by a key of its own: their number, and for how many ms from now. The first
   * entry has those in hand and in flight, including these, and counts longest.
   */
  readonly counted: Readonly<Record<string, readonly [places: number, forMs: number]>>;
}

/** The places for one team, for one process or for several. */
export interface Places {
  /**
   * Takes places. The result is the time in ms after which the first is due at an even pace; each further one is due
   * one period later. Each may leave a burst earlier, but not before now.
   */
  take(wanted: PlacesWanted): Promise<number>;
  /** After a 429, lets nobody take a place for this time. */
  pause(pauseMs: number, after: Pace): Promise<void>;
}
