import { setTimeout as delay } from 'node:timers/promises';
import { hungAfterMs } from './limits.ts';

const turnMs = 25;
/** It says what it waited for before the limit of the whole test ends the wait without a word. */
const turns = hungAfterMs / 2 / turnMs;

/** Waits until `check` gives something other than false, undefined or null; gives up where only a hang gets. */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
): Promise<NonNullable<Exclude<T, false>>> {
  for (let turn = 0; turn < turns; turn += 1) {
    const found = await check();
    if (found !== false && found !== undefined && found !== null) {
      return found as NonNullable<Exclude<T, false>>;
    }
    await delay(turnMs);
  }
  throw new Error(`Waited in vain: ${what}`);
}
