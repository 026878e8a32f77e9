import type { Clock } from '../../src/clock.ts';

export interface VirtualClock extends Clock {
  /** Runs until `work` is done: time jumps to the next sleeper whenever nothing else is left to do. */
  run<T>(work: Promise<T>): Promise<T>;
}

/** A clock in which hours pass in moments, for work that waits by `sleep` alone. */
export function createVirtualClock(): VirtualClock {
  let now = 0;
  /** The next one last; of those at the same time, the one that came first. */
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const add = (at: number, wake: () => void) => {
    const before = sleepers.findLastIndex((other) => other.at > at);
    sleepers.splice(before + 1, 0, { at, wake });
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
