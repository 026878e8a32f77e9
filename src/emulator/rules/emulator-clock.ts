/** The service's clock: the machine's clock plus an offset set by tests or faults. */
export interface EmulatorClock {
  /** Wall-clock time in ms since 1970, as the service sees it. */
  now(): number;
  /** Moves the clock forward by `ms` (back if negative): tokens age, the minute of the rate limit passes. */
  advance(ms: number): void;
  /** How far this clock is ahead of the machine's clock, in ms. */
  skewMs(): number;
}

export function createEmulatorClock(): EmulatorClock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    advance: (ms) => {
      ahead += ms;
    },
    skewMs: () => ahead,
  };
}
