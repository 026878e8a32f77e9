import { editStates } from '../model/edit-state.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { showTime, showValue } from '../model/field-values.ts';
import { printable } from '../model/in-words.ts';
import { type HeldRow, readHeldOf } from '../runs/held-together.ts';
import { sayResolveEach } from '../runs/say-seen.ts';
import { printJson, printLine } from './output.ts';
import { type PrintedColumns, printRows } from './print-table.ts';
import { withMirror } from './setup.ts';

/** Shows the waiting fields with the values of both sides, now and when the hold began, and with the last agreed value. */
export async function heldCommand(context: Context, userText: string | undefined): Promise<ExitCode> {
  return withMirror(context, async (setup) => {
    const { rows, together } = await readHeldOf(setup, userText);
    if (context.json)
      printJson(context, {
        held: rows,
        together: together.map(({ hash, state, reason, fields }) => ({
          batch: hash,
          state,
          reason,
          fields: fields.length,
        })),
      });
    else if (rows.length === 0) printLine(context.err, 'No field is held.');
    else {
      printRows(context, heldColumns, rows);
      const [command] = sayResolveEach(rows);
      if (command !== undefined)
        printLine(
          context.err,
          printable(`The first of them is decided as it is here by: ${command}, or --take service`),
        );
      for (const { hash, reason, fields } of together)
        printLine(
          context.err,
          `${fields.length} of them were edited at once (${reason}): musterd resolve --batch ${hash} --take mirror, or --take service, decides them all.`,
        );
    }
    return exitCode.ok;
  });
}

const heldColumns: PrintedColumns<HeldRow> = {
  user: (row) => row.user_id,
  name: (row) => row.name,
  field: (row) => row.field,
  mirror: (row) => showValue(row.mirror_value),
  service: (row) => showValue(row.service_value),
  base: (row) => showValue(row.base_value),
  state: (row) => editStates[row.state],
  reason: (row) => row.reason,
  detail: (row) => row.detail,
  since: (row) => showTime(row.since),
  until: (row) => showTime(row.until),
  'mirror then': (row) => showValue(row.mirror_value_then),
  'service then': (row) => showValue(row.service_value_then),
  edit: (row) => row.edit_id,
};
