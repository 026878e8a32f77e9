/** Shows the progress of a run on the terminal: the current step, and the number of items done. */
import type { Log } from '../log.ts';
import type { RunEvent } from '../reconcile/run-notes.ts';
import type { Watch } from '../runs/sync/with-run.ts';
import type { Context } from './context.ts';
import { patienceMs, tellOfWait } from './lease-wait.ts';

/** Runs `work` and shows its steps. @param patience how long `work` may wait for another run, without --wait, in ms */
export async function watched<R>(
  context: Pick<Context, 'err' | 'signal' | 'waitMs' | 'sign'>,
  log: Log,
  work: (watch: Watch) => Promise<R>,
  patience = patienceMs,
): Promise<R> {
  const { signal, waitMs = patience, sign } = context;
  const onEvent = (event: RunEvent) => {
    if (event.kind !== 'step' && event.kind !== 'progress') return;
    const step = event.step === 'push' ? 'pushing edits' : event.step.replaceAll('_', ' ');
    sign?.say(`${step} ${event.kind === 'progress' ? event.done : 0}`);
  };
  const onWait = tellOfWait(context, waitMs);
  return await work({ log, onEvent, signal, waitMs, onWait }).finally(() => sign?.say(undefined));
}
