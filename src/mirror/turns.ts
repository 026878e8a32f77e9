/** Lets at most so many in at once, in the order in which they came. */
export interface Turns {
  /** Resolves with `true` when it is one's turn, with `false` after having waited for so many ms. */
  take(patienceMs: number): Promise<boolean>;
  /** The turn is over. */
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
