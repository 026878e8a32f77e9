import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `check` gives something other than false, undefined or null; fails after the deadline. */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  deadlineMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await check();
    if (found !== false && found !== undefined && found !== null) {
      return found as NonNullable<Exclude<T, false>>;
    }
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain: ${what}`);
    await delay(10);
  }
}
