import type { Clock } from '../clock.ts';

/** A difference above this many ms causes a warning. */
export const warnAboveMs = 30_000;
/** A difference of up to this many ms is corrected in a token's `iat`. A larger difference is not corrected. */
const correctUpToMs = 900_000;

export interface ClockSkew {
  /**
   * Measures by the `Date` header of an answer how far the service's clock differs from ours.
   *
   * @param sentMs our wall clock when the request left
   * @returns a warning for people if the difference is too large and was not reported yet
   */
  observe(dateMs: number, sentMs: number): string | null;
  /** The service's clock minus ours in ms, as last measured; `null` before the first answer. */
  offsetMs(): number | null;
  /** Ms to add to our clock for a token's `iat`. */
  correctionMs(): number;
}

/** The `Date` header has whole seconds, so on average the service's clock is half a second ahead of the header. */
const halfSecondMs = 500;

/** Measures the difference between our clock, which dates a JWT, and the service's clock, which checks it. */
export function createClockSkew(clock: Clock): ClockSkew {
  let offset: number | null = null;
  let warnedAt: number | null = null;
  return {
    offsetMs: () => offset,
    correctionMs: () => {
      if (offset === null) return 0;
      const distance = Math.abs(offset);
      return distance > warnAboveMs && distance <= correctUpToMs ? offset : 0;
    },
    observe: (dateMs, sentMs) => {
      offset = Math.round(dateMs + halfSecondMs - (sentMs + clock.now()) / 2);
      if (Math.abs(offset) <= warnAboveMs) {
        warnedAt = null;
        return null;
      }
      if (warnedAt !== null && Math.abs(offset - warnedAt) <= warnAboveMs) return null;
      warnedAt = offset;
      const corrected = Math.abs(offset) <= correctUpToMs;
      const direction = offset > 0 ? 'behind' : 'ahead of';
      const seconds = Math.round(Math.abs(offset) / 1000);
      const then = corrected ? 'tokens are dated accordingly' : 'too far to be corrected';
      return `our clock is ${seconds} s ${direction} the service's; ${then}`;
    },
  };
}
