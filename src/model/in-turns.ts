import { setImmediate } from 'node:timers/promises';

/** One piece of work may block the event loop for this many ms. */
const turnMs = 10;
/** The clock is read once per this many items, because reading it for each of 100,000 items would be slow. */
const perLook = 32;

/** Does the work for all items, one by one. Pauses after each `turnMs`, so that the event loop can do other work. */
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
