/** The log of calls that count against a limit: each from before it is sent until a window after its answer. */
export interface SlotLog {
  /** How long until there is room: 0 for now, `null` for "not before a call in flight is answered". */
  waitMs(now: number): number | null;
  /** Takes a place. The result gives it back: at the time of the answer, or at once for `null`. */
  take(): (answeredAtMs: number | null) => void;
  /** Resolves when a place is given back, or the signal is aborted. */
  released(signal: AbortSignal | undefined): Promise<void>;
  used(now: number): number;
}

export function createSlidingWindow(capacity: number, windowMs: number): SlotLog {
  /** When the answered ones cease to count, in order; those before `head` have. */
  let expiries: number[] = [];
  let head = 0;
  let inFlight = 0;
  let waiters: (() => void)[] = [];

  const used = (now: number) => {
    while (head < expiries.length && (expiries[head] ?? 0) <= now) head += 1;
    if (head > 1024 && head * 2 > expiries.length) {
      expiries = expiries.slice(head);
      head = 0;
    }
    return inFlight + expiries.length - head;
  };

  return {
    used,
    waitMs: (now) => {
      if (used(now) < capacity) return 0;
      const next = expiries[head];
      return next === undefined ? null : next - now;
    },
    take: () => {
      inFlight += 1;
      return (answeredAtMs) => {
        inFlight -= 1;
        if (answeredAtMs !== null) expiries.push(answeredAtMs + windowMs);
        const waiting = waiters;
        waiters = [];
        for (const wake of waiting) wake();
      };
    },
    released: (signal) =>
      new Promise((resolve) => {
        const wake = () => {
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        signal?.addEventListener('abort', wake);
        waiters.push(wake);
      }),
  };
}
