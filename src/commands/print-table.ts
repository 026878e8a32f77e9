/** Prints tables: in aligned columns on a terminal, as tab-separated lines elsewhere. */
import stringWidth from 'string-width';
import { printable } from '../model/in-words.ts';
import type { Context } from './context.ts';
import { paint } from './output.ts';

type Cell = string | number | bigint | null | undefined;

const show = (cell: Cell) => (cell === null || cell === undefined ? '' : printable(String(cell)));

/** The columns of a table: for each heading, a function that returns the cell of a row. */
export type PrintedColumns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** The width of a text in columns of a terminal. Some characters take two columns. */
const widthOf = (text: string) => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

export function printRows<Row>(
  context: Pick<Context, 'out' | 'env'>,
  columns: PrintedColumns<Row>,
  rows: readonly Row[],
): void {
  const cells = Object.values(columns);
  printTable(
    context,
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cell(row))),
  );
}

/** Reads all rows once to measure the columns, then writes row by row. */
export function printTable(
  context: Pick<Context, 'out' | 'env'>,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  const { out } = context;
  if (out.isTTY !== true) {
    for (const row of [head, ...rows]) out.write(`${row.map(show).join('\t')}\n`);
    return;
  }
  const cells = [head, ...rows].map((row) => row.map(show).map((text) => ({ text, width: widthOf(text) })));
  const widths = head.map((_, at) => cells.reduce((most, row) => Math.max(most, row[at]?.width ?? 0), 0));
  const edge = ([left, between, right]: readonly [string, string, string]) =>
    `${left}${widths.map((width) => '─'.repeat(width + 2)).join(between)}${right}\n`;
  out.write(edge(['┌', '┬', '┐']));
  for (const [line, row] of cells.entries()) {
    const columns = widths.map((width, at) => {
      const cell = row[at] ?? { text: '', width: 0 };
      const text = `${cell.text}${' '.repeat(width - cell.width)}`;
      return line === 0 ? paint(context, 'bold', text) : text;
    });
    out.write(`│ ${columns.join(' │ ')} │\n`);
  }
  out.write(edge(['└', '┴', '┘']));
}
