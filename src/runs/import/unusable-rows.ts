/** The rows of a file that cannot be used, as a file that a person corrects and imports again. */
import type { FileTable, RowProblem } from '../../model/file-table.ts';
import type { Columns } from './columns.ts';

/** The columns that were read, the id, the line and the reason. */
export function unusableRows(
  { columns, rows }: FileTable,
  { places }: Pick<Columns, 'places'>,
  problems: readonly RowProblem[],
) {
  const cellsAt = new Map(rows.map(({ line, cells }) => [line, cells]));
  const read = [...places.values()]
    .toSorted((a, b) => a - b)
    .map((place) => [columns[place] ?? '', place] as const);
  const idColumn = columns[places.get('id') ?? -1] ?? 'id';
  return {
    columns: [...new Set([idColumn, ...read.map(([column]) => column), 'line', 'reason'])],
    rows: [...Map.groupBy(problems, ({ line }) => line)].map(([line, all]) => {
      const cells = read.map(([column, place]) => [column, cellsAt.get(line)?.[place]?.trim() ?? '']);
      const values: Readonly<Record<string, string>> = Object.fromEntries(cells);
      const id = all.find(({ user_id }) => user_id !== undefined)?.user_id;
      const reason = all.map((one) => one.reason).join('; ');
      return { ...values, [idColumn]: values[idColumn] || id, line, reason };
    }),
  };
}
