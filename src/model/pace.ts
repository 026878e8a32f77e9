/** How fast calls may leave for one team, and what those who call ask of each other. */

export interface PaceSettings {
  /** The service's limit. */
  readonly perMinute: number;
  /** The part of it that is ours (0 to 1). */
  readonly share: number;
  /** Calls that may leave at once after a quiet time; where left out, the usual number. */
  readonly burst?: number;
}

/** The part of the limit that a steady flow takes; the rest is for the burst before it. */
const steadyPart = 0.99;
const usualBurst = 20;

/** How many calls count at most in any 60 s, and at which pace they leave. */
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
  /** Less than none gives so many back. */
  readonly places: number;
  /** How many may count at once. */
  readonly capacity: number;
  /**
   * What counts of this process, by a key of its own: how many places, and for how many ms from now. The first
   * are those in hand and in flight, these places included, and they count longest.
   */
  readonly counted: Readonly<Record<string, readonly [places: number, forMs: number]>>;
}

/** Keeps the places for one team, for one process or for several. */
export interface Places {
  /**
   * Takes places. The first is due at an even pace in so many ms, the others one period after another; each may
   * leave a burst earlier, and not before now.
   */
  take(wanted: PlacesWanted): Promise<number>;
  /** After a 429: nobody takes a place for that long. */
  pause(pauseMs: number, after: Pace): Promise<void>;
}
