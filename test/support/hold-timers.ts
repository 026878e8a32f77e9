import { onTestFinished, vi } from 'vitest';

/** From now on no timeout of this process strikes before time passes for it, which the result lets it. */
export function holdTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const letGo = () => {
    vi.useRealTimers();
  };
  onTestFinished(letGo);
  return {
    pass: async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
    },
    /** How many timeouts there are. */
    count: () => vi.getTimerCount(),
    /** Those from then on are as usual. */
    letGo,
  };
}
