import { setTimeout as delay } from 'node:timers/promises';

/** As much of a turn counts as a calm machine takes: a busy one gets more time for as many. */
const turnMs = 25;

/** But never longer than so many times the deadline. */
const longestStretch = 6;

/** Waits until `check` gives something other than false, undefined or null; fails after the deadline. */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  deadlineMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const beganMs = performance.now();
  for (let waitedMs = 0; ; ) {
    const turnBeganMs = performance.now();
    const found = await check();
    if (found !== false && found !== undefined && found !== null) {
      return found as NonNullable<Exclude<T, false>>;
    }
    const passedMs = performance.now() - beganMs;
    if (waitedMs > deadlineMs || passedMs > longestStretch * deadlineMs) {
      throw new Error(`Waited ${Math.round(passedMs)} ms in vain: ${what}`);
    }
    await delay(turnMs);
    waitedMs += Math.min(turnMs, performance.now() - turnBeganMs);
  }
}
