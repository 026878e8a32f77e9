/** Prints the outcome of edits, for the commands that wait for it. */
import { type EditState, isOpen } from '../model/edit-state.ts';
import type { SettledEdit } from '../runs/files/import/import-users.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printTable } from './print-table.ts';

/** How long a writing command waits for the outcome if `--wait` has no number. */
export const settledWaitMs = 10_000;

export function printSettled(context: Context, edits: readonly SettledEdit[]): void {
  printTable(
    context,
    ['user_id', 'field', 'state', 'detail', 'request_id', 'reason'],
    edits.map(({ user_id, field, state, reason, detail, request_id }) => [
      user_id,
      field,
      state,
      detail,
      request_id,
      reason,
    ]),
  );
}

/** 0 if all edits are confirmed; 1 if an outcome is not known yet; 3 if an edit needs a decision or will not be sent. */
export function codeOfSettled(states: readonly EditState[]): ExitCode {
  if (states.some((state) => isOpen({ state }))) return exitCode.partial;
  return states.every((state) => state === 'confirmed') ? exitCode.ok : exitCode.waiting;
}
