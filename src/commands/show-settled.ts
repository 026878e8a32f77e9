/** What became of edits, for the commands that wait for it. */
import type { SettledEdit } from '../runs/import/import-users.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printTable } from './print-table.ts';

/** How long a writer waits for the answer unless told otherwise. */
export const settledWaitMs = 10_000;

export function printSettled(context: Context, edits: readonly SettledEdit[]): void {
  printTable(
    context,
    ['user_id', 'field', 'state', 'detail', 'request_id'],
    edits.map(({ user_id, field, state, detail, request_id }) => [user_id, field, state, detail, request_id]),
  );
}

/** 0: all is on the service. 1: of some nobody knows yet. 3: a person has to decide, or nothing of it is sent. */
export function codeOfSettled(states: readonly string[]): ExitCode {
  if (states.some((state) => state === 'unknown' || state === 'waiting')) return exitCode.partial;
  return states.every((state) => state === 'confirmed') ? exitCode.ok : exitCode.waiting;
}
