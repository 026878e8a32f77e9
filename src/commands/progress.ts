/** Progress on a terminal, on stderr: what is being read, and how far. Silent elsewhere. */
import { type Bar, Presets, SingleBar } from 'cli-progress';
import type { RunEvent } from '../reconcile/run-notes.ts';
import type { Context } from './context.ts';
import { asTerminal } from './output.ts';

export interface Progress {
  readonly onEvent: (event: RunEvent) => void;
  readonly close: () => void;
}

const words: Readonly<Record<string, string>> = {
  users: 'users',
  push: 'pushing edits',
  tags: 'tags',
  contact_fields: 'contact fields',
  contact_counts: 'contact counts',
  'open pushes': 'open pushes',
  changes: 'changes removed',
  edits: 'edits removed',
  runs: 'runs removed',
  counts: 'counts removed',
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
      const step = words[event.step] ?? event.step;
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
