import { setImmediate } from 'node:timers/promises';

/** The longest that one piece of work may keep the event loop to itself. */
const turnMs = 10;
/** The clock is read only once for this many items, because there may be a hundred thousand. */
const perLook = 32;

/** Does this for all items, one after another, in turns with other work. */
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
