/** Words about what became of edits, for the commands that wait for it. */
import { type EditState, isOpen } from '../model/edit-state.ts';
import type { SettledEdit } from '../runs/files/import/import-users.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printTable } from './print-table.ts';

/** The default for how long a writing command waits for the outcome. */
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

/** 0 if all is on the service, 1 if some outcome is unknown, 3 if a person has to decide, or nothing is sent. */
export function codeOfSettled(states: readonly EditState[]): ExitCode {
  if (states.some((state) => isOpen({ state }))) return exitCode.partial;
  return states.every((state) => state === 'confirmed') ? exitCode.ok : exitCode.waiting;
}
