/**
 * The loop of `musterd daemon`: one run at the start, then one at each tick. A tick that comes while a run
 * is under way is answered by one more run after it, never by a second one beside it.
 */
import { createSchedule } from './schedule.ts';

export interface LoopOptions {
  readonly expression: string;
  readonly timezone: string;
  /** One whole run. Must not reject: what went wrong is its own to report. */
  readonly run: () => Promise<void>;
  /** Asks the loop to end; a run under way sees the same signal and ends by itself. */
  readonly signal: AbortSignal;
  /** Told when the loop begins to wait, and for when. */
  readonly onWait?: (next: Date | null) => void;
}

/** Resolves when the signal is aborted and the run under way, if any, is over. */
export async function runLoop({ expression, timezone, run, signal, onWait }: LoopOptions): Promise<void> {
  let due = true;
  let wake: () => void = () => {};
  const schedule = await createSchedule(expression, timezone, () => {
    due = true;
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      if (due) {
        due = false;
        await run();
        continue;
      }
      onWait?.(schedule.next());
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (due || signal.aborted) resolve();
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    await schedule.close();
  }
}
