/** Tables on a terminal, tab-separated lines elsewhere. */
import Table from 'cli-table3';
import { printable } from '../model/in-words.ts';
import type { Context } from './context.ts';
import { paint } from './output.ts';

type Cell = string | number | bigint | null | undefined;

const show = (cell: Cell) => (cell === null || cell === undefined ? '' : printable(String(cell)));

export function printTable(
  { out }: Pick<Context, 'out'>,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  if (out.isTTY !== true) {
    for (const row of [head, ...rows]) out.write(`${row.map(show).join('\t')}\n`);
    return;
  }
  const chars = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };
  const table = new Table({
    head: head.map((name) => paint({ out }, 'bold', name)),
    chars,
    style: { head: [], border: [] },
  });
  for (const row of rows) table.push(row.map(show));
  out.write(`${table.toString()}\n`);
}
