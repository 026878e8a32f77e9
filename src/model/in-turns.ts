import { setImmediate } from 'node:timers/promises';

/** The longest time for which one piece of work may block the event loop. */
const turnMs = 10;
/** The clock is read once per this many items, because a list may have a hundred thousand. */
const perLook = 32;

/** Does the work for all items, one after another. After each `turnMs`, other work gets its turn. */
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
