import { columnOf } from '../../model/fields.ts';
import { showValue } from '../../model/field-values.ts';
import { maxId } from '../../model/id.ts';
import { plural } from '../../model/in-words.ts';
import type { UndoPlan } from '../../runs/decide/inverse.ts';
import { requireSchema } from '../../runs/open.ts';
import { applyUndo, planUndo } from '../../runs/decide/undo-run.ts';
import { readWholeNumber } from '../add-commands.ts';
import { confirmationOf, noteFourEyes } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { leaseWait } from '../lease-wait.ts';
import { printJson, printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { withMirror } from '../setup.ts';

/** Shows what undoing a run would change. With `--apply`, writes the old values as edits, which the next run sends. */
export async function undoCommand(
  context: Context,
  options: {
    readonly apply?: boolean;
    readonly exitCode?: boolean;
    readonly reason?: string;
    readonly as?: string;
  },
  runText: string,
): Promise<ExitCode> {
  const run = readWholeNumber('undo', runText, maxId);
  return withMirror(context, async ({ config, mirror: { db } }) => {
    await requireSchema(db);
    const applied = options.apply === true;
    const confirmation = confirmationOf(context, options);
    const plan = applied
      ? await applyUndo(db, { ...leaseWait(context, config), push: config.push }, run, confirmation)
      : await planUndo(db.kysely, config, run);
    if (context.json) printJson(context, inJson(run, plan, applied));
    else printPlan(context, run, plan, applied);
    if (applied) noteFourEyes(context, config, confirmation);
    if (applied) return plan.left.some(isMissed) ? exitCode.partial : exitCode.ok;
    return options.exitCode === true && plan.changes.length > 0 ? exitCode.changes : exitCode.ok;
  });
}

const isMissed = ({ reason }: UndoPlan['left'][number]) => reason === 'being edited';

const rowOf = ({ userId, name, field, from, to }: UndoPlan['changes'][number]) => ({
  user_id: userId,
  name,
  field: columnOf(field),
  from,
  to,
});

const inJson = (run: bigint, { changes, left }: UndoPlan, applied: boolean): object => ({
  run_id: run,
  applied,
  changes: changes.map(rowOf),
  left: left.map((one) => ({ ...rowOf(one), reason: one.reason, offer: one.offer })),
});

function printPlan(context: Context, run: bigint, { changes, left }: UndoPlan, applied: boolean): void {
  const cells = (
    { userId, name, field, from, to }: UndoPlan['changes'][number],
    what: string,
    why: string,
  ) => [userId, name, what, columnOf(field), showValue(from), showValue(to), why];
  const rows = [
    ...changes.map((one) => cells(one, 'back', '')),
    ...left.map((one) => cells(one, 'left', one.reason)),
  ];
  const back = plural(changes.length, 'field');
  printLine(context.err, `Run ${run}: ${back} to set back, ${left.length} left as they are`);
  if (rows.length > 0) printTable(context, ['user', 'name', 'undo', 'field', 'from', 'to', 'why'], rows);
  const offers = left.flatMap(({ offer }) => offer ?? []);
  if (offers.length > 0)
    printLine(
      context.err,
      'To set the remaining fields back too, check these statements and run them with "musterd sql --write":',
    );
  for (const offer of offers) printLine(context.err, offer);
  if (changes.length === 0) return;
  printLine(
    context.err,
    applied
      ? 'Written into the mirror as edits: "musterd plan" shows them, and the next run sends them.'
      : 'Nothing is written yet: --apply writes this into the mirror as edits.',
  );
}
