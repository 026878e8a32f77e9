/** A semaphore: admits a limited number of callers, first come, first served. */
export interface Turns {
  /** Resolves with `true` once admitted, with `false` after `ms` of waiting. */
  take(patienceMs: number): Promise<boolean>;
  /** Releases the place. */
  readonly give: () => void;
}

export function createTurns(count: number): Turns {
  let free = count;
  const waiting = new Set<() => void>();
  return {
    take: (patienceMs) => {
      if (free > 0) {
        free -= 1;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const begin = () => {
          waiting.delete(begin);
          clearTimeout(timer);
          resolve(true);
        };
        const timer = setTimeout(() => {
          waiting.delete(begin);
          resolve(false);
        }, patienceMs).unref();
        waiting.add(begin);
      });
    },
    give: () => {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next();
    },
  };
}
