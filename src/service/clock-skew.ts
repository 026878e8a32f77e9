import type { Clock } from '../clock.ts';

export interface ClockSkewSettings {
  /** A difference above this is warned about, and smaller ones are left alone. */
  readonly warnAboveMs: number;
  /** A token's `iat` is corrected by the measured difference up to this, and not at all beyond it. */
  readonly correctUpToMs: number;
}

export const defaultClockSkewSettings: ClockSkewSettings = { warnAboveMs: 30_000, correctUpToMs: 900_000 };

export interface ClockSkew {
  /**
   * Takes the `Date` header of an answer into account.
   *
   * @param sentMs our wall clock when the request left
   * @returns a sentence for a person when the difference has become one to warn about
   */
  observe(dateMs: number, sentMs: number): string | null;
  /** The service's clock minus ours in ms, as last measured; `null` before the first answer. */
  offsetMs(): number | null;
  /** What to add to our clock for a token's `iat`. */
  correctionMs(): number;
}

/** The header counts whole seconds, cut off: on average the service's clock was half a second further. */
const halfSecondMs = 500;

/** Measures how far our clock is from the service's. A JWT is dated by ours and judged by theirs. */
export function createClockSkew(clock: Clock, settings: ClockSkewSettings): ClockSkew {
  let offset: number | null = null;
  let warnedAt: number | null = null;
  return {
    offsetMs: () => offset,
    correctionMs: () => {
      if (offset === null) return 0;
      const distance = Math.abs(offset);
      return distance > settings.warnAboveMs && distance <= settings.correctUpToMs ? offset : 0;
    },
    observe: (dateMs, sentMs) => {
      offset = Math.round(dateMs + halfSecondMs - (sentMs + clock.now()) / 2);
      if (Math.abs(offset) <= settings.warnAboveMs) {
        warnedAt = null;
        return null;
      }
      if (warnedAt !== null && Math.abs(offset - warnedAt) <= settings.warnAboveMs) return null;
      warnedAt = offset;
      const corrected = Math.abs(offset) <= settings.correctUpToMs;
      const direction = offset > 0 ? 'behind' : 'ahead of';
      const seconds = Math.round(Math.abs(offset) / 1000);
      const then = corrected ? 'tokens are dated accordingly' : 'too far to be corrected';
      return `our clock is ${seconds} s ${direction} the service's; ${then}`;
    },
  };
}
