/** The rows of a file that cannot be used, as a file that a person corrects and imports again. */
import type { FileTable, RowProblem } from '../../../model/file-table.ts';
import type { Columns } from './columns.ts';

/** The id, the line, the reason, the columns that were read, and for unreadable rows their text. */
export function unusableRows(
  table: FileTable,
  { places }: Pick<Columns, 'places'>,
  problems: readonly RowProblem[],
) {
  const rowAt = new Map([...table.rows, ...table.problems].map((row) => [row.line, row]));
  const textAt = new Map(table.problems.map(({ line, text }) => [line, text]));
  const read = [...places]
    .toSorted(([, a], [, b]) => a - b)
    .map(([meaning, place]) => [table.columns[place] || meaning, place] as const);
  const idColumn = table.columns[places.get('id') ?? -1] || 'id';
  const written = textAt.size > 0 ? ['row'] : [];
  return {
    columns: [...new Set([idColumn, ...read.map(([column]) => column), 'line', 'reason', ...written])],
    rows: [...Map.groupBy(problems, ({ line }) => line)].map(([line, all]) => {
      const cells = read.map(([column, place]) => [column, rowAt.get(line)?.cells[place]?.trim() ?? '']);
      const values: Readonly<Record<string, string>> = Object.fromEntries(cells);
      const id = all.find(({ user_id }) => user_id !== undefined)?.user_id;
      const reason = all.map((one) => one.reason).join('; ');
      return { ...values, [idColumn]: values[idColumn] || id, line, reason, row: textAt.get(line) ?? '' };
    }),
  };
}
