import type { Clock } from '../../src/clock.ts';

/** A clock that stands still: only sleeping and `advance` move it, and sleeping takes no time. */
export interface HeldClock extends Clock {
  advance(ms: number): void;
  /** The wall clock jumps; the monotonic one does not. */
  jump(ms: number): void;
  readonly slept: readonly number[];
}

export function createHeldClock(startMs = Date.UTC(2030, 0, 1)): HeldClock {
  let monotonic = 0;
  let wall = startMs;
  const slept: number[] = [];
  const advance = (ms: number) => {
    monotonic += ms;
    wall += ms;
  };
  return {
    now: () => wall,
    monotonicMs: () => monotonic,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      advance(ms);
      await new Promise(setImmediate);
      signal?.throwIfAborted();
    },
    advance,
    jump: (ms) => {
      wall += ms;
    },
    slept,
  };
}
