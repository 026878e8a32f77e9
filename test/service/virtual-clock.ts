import type { Clock } from '../../src/clock.ts';

export interface VirtualClock extends Clock {
  /** Runs until `work` is done: time jumps to the next sleeper whenever nothing else is left to do. */
  run<T>(work: Promise<T>): Promise<T>;
}

/** A clock in which hours pass in moments, for work that waits by `sleep` alone. */
export function createVirtualClock(): VirtualClock {
  let now = 0;
  let order = 0;
  const sleepers: { readonly at: number; readonly order: number; readonly wake: () => void }[] = [];

  const add = (at: number, wake: () => void) => {
    order += 1;
    const sleeper = { at, order, wake };
    let low = 0;
    for (let high = sleepers.length; low < high; ) {
      const middle = (low + high) >>> 1;
      const other = sleepers[middle];
      if (other !== undefined && (other.at > at || (other.at === at && other.order > sleeper.order))) {
        low = middle + 1;
      } else high = middle;
    }
    sleepers.splice(low, 0, sleeper);
  };

  return {
    now: () => now,
    monotonicMs: () => now,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      await new Promise<void>((resolve) => {
        add(now + ms, resolve);
        signal?.addEventListener('abort', () => resolve());
      });
      signal?.throwIfAborted();
    },
    run: async (work) => {
      let over = false;
      const end = work.finally(() => {
        over = true;
      });
      end.catch(() => undefined);
      for (;;) {
        await new Promise(setImmediate);
        if (over) return await end;
        const next = sleepers.pop();
        if (next === undefined) throw new Error('everybody waits for somebody else');
        now = Math.max(now, next.at);
        next.wake();
      }
    },
  };
}
