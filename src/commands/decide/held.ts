import { editStates, holdReasons } from '../../model/edit-state.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { showValue } from '../../model/field-values.ts';
import { showTime } from '../../model/zone-time.ts';
import { plural, printable } from '../../model/in-words.ts';
import { type Batch, batchesOf, type HeldRow, readHeldOf } from '../../runs/decide/read-held.ts';
import { sayDecideEach, sayEither } from '../../runs/decide/say-seen.ts';
import { loginAdds, noteForLogin } from '../../runs/four-eyes.ts';
import { printJson, printLine } from '../output.ts';
import { type PrintedColumns, printRows } from '../print-table.ts';
import { withMirror } from '../setup.ts';

/** Shows the batches. With --all or a user: each held field with its base, and both values now and at the hold. */
export async function heldCommand(
  context: Context,
  { all: isWhole = false }: { readonly all?: boolean },
  userText: string | undefined,
): Promise<ExitCode> {
  return withMirror(context, async (setup) => {
    const rows = await readHeldOf(setup, userText);
    const as = await loginAdds(setup.mirror.db, context.env);
    if (context.json) printJson(context, { held: rows, batches: batchesOf(rows, as) });
    else if (rows.length === 0) printLine(context.err, 'No field is held.');
    else if (isWhole || userText !== undefined) printFields(context, rows, as);
    else printBatches(context, rows, as);
    const note = rows.length === 0 || context.json ? '' : await noteForLogin(setup.mirror.db);
    if (note !== '') printLine(context.err, note);
    return exitCode.ok;
  });
}

function printBatches(context: Context, rows: readonly HeldRow[], as: string): void {
  const batches = batchesOf(rows, as);
  if (batches.length > 0) printRows(context, batchColumns, batches);
  const rejected = rows.filter(({ state }) => state === 'rejected');
  const single = rows.filter(({ state, batch }) => state === 'held' && batch === null);
  if (single.length > 0) printFields(context, single, as);
  for (const { batch, fields, commands } of batches) {
    printLine(context.err, `${plural(fields, 'field')} in ${batch}:`);
    for (const command of commands) printLine(context.err, `  ${command}`);
  }
  if (rejected.length > 0)
    printLine(context.err, `${plural(rejected.length, 'field')} rejected. To decide again: musterd resolve`);
  printLine(context.err, '"musterd held --all" shows each field, with all three values.');
}

function printFields(context: Context, rows: readonly HeldRow[], as: string): void {
  printRows(context, heldColumns, rows);
  const [command] = sayDecideEach(rows);
  if (command === undefined) return;
  printLine(context.err, printable(`To decide the first field: ${sayEither(command, as)}`));
}

const batchColumns: PrintedColumns<Batch> = {
  batch: (row) => row.batch,
  'edited by': (row) => row.edited_by ?? 'nobody knows',
  edited: (row) => showTime(row.edited_at),
  since: (row) => showTime(row.since),
  users: (row) => row.users,
  fields: (row) => row.fields,
  reasons: (row) =>
    Object.entries(row.reasons)
      .map(([reason, count]) => `${count} ${reason}`)
      .join(', '),
};

const heldColumns: PrintedColumns<HeldRow> = {
  user: (row) => row.user_id,
  name: (row) => row.name,
  field: (row) => row.field,
  mirror: (row) => showValue(row.mirror_value),
  service: (row) => showValue(row.service_value),
  base: (row) => showValue(row.base_value),
  state: (row) => (row.reason === 'asked' ? holdReasons.asked.words : editStates[row.state]),
  reason: (row) => row.reason,
  detail: (row) => row.detail,
  since: (row) => showTime(row.since),
  until: (row) => showTime(row.until),
  'mirror then': (row) => showValue(row.mirror_value_then),
  'service then': (row) => showValue(row.service_value_then),
  edit: (row) => row.edit_id,
  batch: (row) => row.batch,
};
