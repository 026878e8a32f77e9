/** Shows progress on stderr, if that is a terminal: the current step, and the number of items done. */
import { type Bar, Presets, SingleBar } from 'cli-progress';
import type { Log } from '../log.ts';
import type { RunEvent } from '../reconcile/run-notes.ts';
import type { Watch } from '../runs/sync/with-run.ts';
import type { Context } from './context.ts';
import { patienceMs, tellOfWait } from './lease-wait.ts';
import { asTerminal } from './output.ts';

export interface Progress {
  readonly onEvent: (event: RunEvent) => void;
  readonly close: () => void;
}

const words: Readonly<Record<string, string>> = {
  users: 'users',
  push: 'pushing edits',
  'open pushes': 'open pushes',
};

export function createProgress({
  err,
  json,
  showItself,
}: Pick<Context, 'err' | 'json' | 'showItself'>): Progress {
  if (err.isTTY !== true || json) return { onEvent: () => {}, close: () => {} };
  const bar: Bar = new SingleBar(
    { format: '  {step} {value}', clearOnComplete: true, hideCursor: true, stream: asTerminal(err) },
    Presets.rect,
  );
  let running = false;
  return {
    onEvent: (event) => {
      if (event.kind !== 'step' && event.kind !== 'progress') return;
      const step = words[event.step] ?? event.step.replaceAll('_', ' ');
      const done = event.kind === 'progress' ? event.done : 0;
      if (!running) {
        showItself?.();
        bar.start(Number.MAX_SAFE_INTEGER, done, { step });
      }
      running = true;
      bar.update(done, { step });
    },
    close: () => {
      if (running) bar.stop();
      running = false;
    },
  };
}

/** Runs `work` with a progress bar. @param patience how long `work` may wait for another run, without --wait, in ms */
export async function watched<R>(
  context: Pick<Context, 'err' | 'signal' | 'waitMs' | 'json' | 'showItself'>,
  log: Log,
  work: (watch: Watch) => Promise<R>,
  patience = patienceMs,
): Promise<R> {
  const { signal, waitMs = patience } = context;
  const progress = createProgress(context);
  const onWait = tellOfWait(context, waitMs);
  return await work({ log, onEvent: progress.onEvent, signal, waitMs, onWait }).finally(progress.close);
}
