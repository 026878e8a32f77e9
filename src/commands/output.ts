/** How data is shown: tables on a terminal, tab-separated lines elsewhere, JSON on request. */
import { styleText } from 'node:util';
import Table from 'cli-table3';
import { printable } from '../model/in-words.ts';
import { toJson } from '../model/json.ts';
import { escapeUnprintable } from '../service/printable.ts';
import type { Context, Stream } from './context.ts';

type Cell = string | number | bigint | null | undefined;

/**
 * Text of others in Markdown: as code, in which no link, image or mention comes to life. A bar would end the cell
 * of a table, and behind a backslash also one that is escaped.
 */
export function inMarkdown(text: string): string {
  const shown = printable(text).replaceAll('|', '¦').trim();
  if (shown === '') return '';
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${shown}${fence}` : `${fence} ${shown} ${fence}`;
}

const show = (cell: Cell) => (cell === null || cell === undefined ? '' : printable(String(cell)));

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Coloured on a terminal that wants colours (`NO_COLOR` is honoured), plain elsewhere. */
export function paint({ out }: Pick<Context, 'out'>, style: Style, text: string): string {
  return out.isTTY === true ? styleText(style, text, { validateStream: false }) : text;
}

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

export function printJson({ out }: Pick<Context, 'out'>, value: unknown): void {
  // Line by line: only what parts the lines is a control character that means something to JSON.
  const lines = toJson(value, 2).split('\n');
  out.write(`${lines.map(escapeUnprintable).join('\n')}\n`);
}

export function printLine(stream: Stream, text: string): void {
  stream.write(`${text}\n`);
}
