import { MusterdError } from '../errors.ts';
import { maxId } from '../model/id.ts';
import { requireSchema } from '../runs/open.ts';
import { applyUndo, planUndo, type UndoPlan } from '../runs/undo-run.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { columnOf, showValue } from '../model/field-values.ts';
import { confirmationOf, noteFourEyes } from './confirmation.ts';
import { leaseWait } from './lease-wait.ts';

import { printJson, printLine } from './output.ts';
import { printTable } from './print-table.ts';
import { plural } from '../model/in-words.ts';
import { withMirror } from './setup.ts';

/** What turning a run around would do; with `--apply` it is written into the mirror, and the next run sends it. */
export async function undoCommand(
  context: Context,
  options: {
    readonly apply?: boolean;
    readonly exitCode?: boolean;
    readonly reason?: string;
    readonly as?: string;
  },
  run: string,
): Promise<ExitCode> {
  const runId = /^\d{1,19}$/.test(run) ? BigInt(run) : 0n;
  if (runId < 1n || runId > maxId) throw new MusterdError('usage', `"${run}" is not the number of a run`);
  return withMirror(context, async ({ config, mirror: { db } }) => {
    await requireSchema(db);
    const applied = options.apply === true;
    const confirmation = confirmationOf(context, options);
    const plan = applied
      ? await applyUndo(db, { ...leaseWait(context, config), push: config.push }, runId, confirmation)
      : await planUndo(db, config, runId);
    if (context.json) printJson(context, inJson(plan, applied));
    else printPlan(context, plan, applied);
    if (applied) noteFourEyes(context, config, confirmation);
    if (applied) return plan.left.some(isMissed) ? exitCode.partial : exitCode.ok;
    return options.exitCode === true && plan.changes.length > 0 ? exitCode.changes : exitCode.ok;
  });
}

const isMissed = ({ reason }: UndoPlan['left'][number]) => reason === 'being edited';

function inJson({ runId, changes, left }: UndoPlan, applied: boolean): object {
  return {
    run_id: runId,
    applied,
    changes: changes.map(({ userId, name, field, from, to }) => ({
      user_id: userId,
      name,
      field: columnOf(field),
      from,
      to,
    })),
    left: left.map(({ userId, name, field, reason }) => ({
      user_id: userId,
      name,
      field: columnOf(field),
      reason,
    })),
  };
}

function printPlan(context: Context, { runId, changes, left }: UndoPlan, applied: boolean): void {
  const rows = [
    ...changes.map(({ userId, name, field, from, to }) => [
      userId,
      name,
      'back',
      columnOf(field),
      showValue(from),
      showValue(to),
      '',
    ]),
    ...left.map(({ userId, name, field, reason }) => [userId, name, 'left', columnOf(field), '', '', reason]),
  ];
  const back = plural(changes.length, 'field');
  printLine(context.err, `Run ${runId}: ${back} to set back, ${left.length} left as they are`);
  if (rows.length > 0) printTable(context, ['user', 'name', 'undo', 'field', 'from', 'to', 'why'], rows);
  if (changes.length === 0) return;
  printLine(
    context.err,
    applied
      ? 'Written into the mirror as edits: "musterd plan" shows them, and the next run sends them.'
      : 'Nothing is written yet: --apply writes this into the mirror as edits.',
  );
}
