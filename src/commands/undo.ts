import { MusterdError } from '../errors.ts';
import { columnOf } from '../model/fields.ts';
import { showValue } from '../model/field-values.ts';
import { maxId } from '../model/id.ts';
import { plural } from '../model/in-words.ts';
import type { UndoPlan } from '../runs/inverse.ts';
import { requireSchema } from '../runs/open.ts';
import { applyUndo, planUndo, type UndoTarget } from '../runs/undo-run.ts';
import { numbered } from './approve.ts';
import { confirmationOf, noteFourEyes } from './confirmation.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { leaseWait } from './lease-wait.ts';
import { printJson, printLine } from './output.ts';
import { printTable } from './print-table.ts';
import { withMirror } from './setup.ts';

function readUndone(run: string | undefined, decision: string | undefined): UndoTarget {
  if ((run === undefined) === (decision === undefined))
    throw new MusterdError(
      'usage',
      'Say what is to be undone: the number of a run, or --decision and a number',
    );
  const number = run ?? decision ?? '';
  const kind = run === undefined ? 'decision' : 'run';
  const read = /^\d{1,19}$/.test(number) ? BigInt(number) : 0n;
  if (read < 1n || read > maxId)
    throw new MusterdError('usage', `"${number}" is not the number of a ${kind}`);
  return { kind, number: read };
}

/** Shows what undoing a run or a decision would do. With `--apply` it does that, and the next run sends the edits. */
export async function undoCommand(
  context: Context,
  options: {
    readonly apply?: boolean;
    readonly exitCode?: boolean;
    readonly decision?: string;
    readonly reason?: string;
    readonly as?: string;
  },
  run: string | undefined,
): Promise<ExitCode> {
  const undone = readUndone(run, options.decision);
  return withMirror(context, async ({ config, mirror: { db } }) => {
    await requireSchema(db);
    const applied = options.apply === true;
    const confirmation = confirmationOf(context, options);
    const plan = applied
      ? await applyUndo(db, { ...leaseWait(context, config), push: config.push }, undone, confirmation)
      : await planUndo(db.kysely, config, undone);
    if (context.json) printJson(context, inJson(undone, plan, applied));
    else printPlan(context, undone, plan, applied);
    if (applied) noteFourEyes(context, config, confirmation);
    if (applied) return plan.left.some(isMissed) ? exitCode.partial : exitCode.ok;
    return options.exitCode === true && plan.changes.length + plan.undecided.length > 0
      ? exitCode.changes
      : exitCode.ok;
  });
}

const isMissed = ({ reason }: UndoPlan['left'][number]) => reason === 'being edited';

const fieldOf = ({ userId, name, field }: UndoPlan['undecided'][number]) => ({
  user_id: userId,
  name,
  field: field === null ? null : columnOf(field),
});

function inJson(
  { kind, number }: UndoTarget,
  { changes, undecided, left, ...plan }: UndoPlan,
  applied: boolean,
): object {
  return {
    [`${kind}_id`]: number,
    applied,
    ...(kind === 'decision' ? { undone_by: plan.number, undecided: undecided.map(fieldOf) } : {}),
    changes: changes.map(({ userId, name, field, from, to }) => ({
      user_id: userId,
      name,
      field: columnOf(field),
      from,
      to,
    })),
    left: left.map((leftField) => ({
      ...fieldOf(leftField),
      from: leftField.from,
      to: leftField.to,
      reason: leftField.reason,
      offer: leftField.offer,
    })),
  };
}

function printPlan(
  context: Context,
  { kind, number }: UndoTarget,
  { changes, undecided, left, ...plan }: UndoPlan,
  applied: boolean,
): void {
  const rows = [
    ...undecided.map((row) => [...Object.values(fieldOf(row)).toSpliced(2, 0, 'undecided'), '', '', '']),
    ...changes.map(({ userId, name, field, from, to }) => [
      userId,
      name,
      'back',
      columnOf(field),
      showValue(from),
      showValue(to),
      '',
    ]),
    ...left.map((leftField) => [
      ...Object.values(fieldOf(leftField)).toSpliced(2, 0, 'left'),
      showValue(leftField.from),
      showValue(leftField.to),
      leftField.reason,
    ]),
  ];
  const back = plural(changes.length, 'field');
  const again = kind === 'run' ? '' : `${plural(undecided.length, 'field')} undecided again, `;
  const what = kind === 'run' ? 'Run' : 'Decision';
  printLine(
    context.err,
    `${what} ${number}: ${again}${back} to set back, ${left.length} left as they are${numbered(plan.number)}`,
  );
  if (rows.length > 0) printTable(context, ['user', 'name', 'undo', 'field', 'from', 'to', 'why'], rows);
  const offers = left.flatMap(({ offer }) => offer ?? []);
  if (offers.length > 0)
    printLine(
      context.err,
      'To set the rest back nevertheless, look at it first and run this with "musterd sql --write":',
    );
  for (const offer of offers) printLine(context.err, offer);
  if (changes.length === 0 && (applied || undecided.length === 0)) return;
  printLine(
    context.err,
    applied
      ? 'Written into the mirror as edits: "musterd plan" shows them, and the next run sends them.'
      : `Nothing is written yet: --apply ${kind === 'run' ? 'writes this into the mirror as edits' : 'does it'}.`,
  );
}
