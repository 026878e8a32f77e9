import { exportRows } from '../runs/export-rows.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson } from './output.ts';
import { printTable } from './print-table.ts';
import { withMirror } from './setup.ts';

/** Shows the rows of a listing as the mirror has them: all columns as JSON, these ones as a table. */
export const listedCommand = (
  context: Context,
  what: string,
  columns: readonly string[],
): Promise<ExitCode> =>
  withMirror(context, async (setup) => {
    const rows: Readonly<Record<string, unknown>>[] = [];
    const take = async (page: typeof rows) => void rows.push(...page);
    await exportRows(setup, what, { begin: async () => {}, take: (page) => take([...page]) }, context.signal);
    if (context.json) printJson(context, rows);
    else
      printTable(
        context,
        columns,
        rows.map((row) =>
          columns.map((column) => {
            const value = row[column] ?? '';
            return Array.isArray(value) ? value.join(', ') : String(value as string | bigint);
          }),
        ),
      );
    return exitCode.ok;
  });
