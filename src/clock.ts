import { setTimeout as delay } from 'node:timers/promises';

/** Time as a value that is passed in, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in ms since 1970, which may jump. */
  now(): number;
  /** Ms since an arbitrary moment, for ages and deadlines. The value never jumps or goes back. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      throw signal?.aborted === true ? signal.reason : error;
    });
  },
};
