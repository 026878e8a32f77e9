import { setImmediate } from 'node:timers/promises';

/** For so long one piece of work may keep the event loop to itself. */
const turnMs = 10;
/** The clock is not asked for each of a hundred thousand. */
const perLook = 32;

/** Does this for all of them, one after another, and lets others have their turn meanwhile. */
export async function inTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let sinceMs = performance.now();
  let done = 0;
  for (const item of items) {
    work(item);
    done += 1;
    if (done % perLook > 0 || performance.now() - sinceMs < turnMs) continue;
    await setImmediate();
    sinceMs = performance.now();
  }
}
