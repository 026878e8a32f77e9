/** Writes docs/performance.md, its plots and its figures from what was measured. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../test/support/checkout.ts';
import { drawPlot, type Plot } from './plot.ts';
import { cellsOf, inSpread } from './print.ts';
import type { RowResult, Series } from './results.ts';
import { rows, viewsRow } from './table.ts';

/** A row, and on what it was measured. */
interface MeasuredRow extends RowResult {
  readonly machine: string;
}

/** What a bench leaves behind; rows that were not measured stay as they were. */
interface Figures {
  readonly results: readonly MeasuredRow[];
}

const docs = join(ROOT, 'docs');
/** Of this checkout, so that a row that is measured alone leaves the others as they were. */
const figuresFile = join(ROOT, '.cache', 'performance.json');
const plotFolder = join(docs, 'performance');
const template = fileURLToPath(new URL('./performance.template.md', import.meta.url));

function readFigures(): Figures | undefined {
  try {
    return JSON.parse(readFileSync(figuresFile, 'utf8')) as Figures;
  } catch {
    return undefined;
  }
}

/** The machine of most rows, and which ones are of another. */
function machinesOf(results: readonly MeasuredRow[]): string {
  const groups = [...Map.groupBy(results, ({ machine }) => machine)].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  const [first, ...others] = groups;
  const most = first?.[0] ?? '';
  const named = others.map(([machine, of]) => `rows ${of.map(({ row }) => row).join(', ')}: ${machine}`);
  return named.length === 0 ? most : `${most} (${named.join('; ')})`;
}

function tableOf(results: readonly RowResult[]): string {
  const head = ['#', 'What', 'Limit', 'Product', 'Ratio', 'Goal'];
  const own = rows.filter(({ row }) => row !== viewsRow);
  const lines = own.flatMap(({ row, what }) => {
    const result = results.find((candidate) => candidate.row === row);
    if (result === undefined) return [[String(row), what, '', 'not measured', '', '']];
    return result.measures.map((measure, index) => {
      const cells = cellsOf(measure);
      const name = index === 0 ? `${what} (${result.size}): ${cells.what}` : cells.what;
      const product = cells.verdict === 'reached' ? cells.product : `**${cells.product}**`;
      return [index === 0 ? String(row) : '', name, cells.limit, product, cells.ratio, cells.goal];
    });
  });
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Bold: above what is to be reached. */
function viewsOf(results: readonly RowResult[]): string {
  const { measures = [], size = 'not measured' } = results.find(({ row }) => row === viewsRow) ?? {};
  const ways = Object.keys(measures[0]?.peers ?? {});
  const head = [`View (${size})`, 'as a reader of one team', ...ways];
  const lines = measures.map(({ what, product, peers = {}, unit, goal }) => [
    `\`report.${what}\``,
    ...[product, ...ways.map((way) => peers[way] ?? product)].map((spread) => {
      const words = inSpread(spread, unit);
      return spread.median > goal ? `**${words}**` : words;
    }),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const plots: Readonly<Record<Series['plot'], Omit<Plot, 'lines'>>> = {
  time: { title: 'Time of a whole run', x: 'users', y: 'ms' },
  memory: { title: 'Peak memory of a whole run', x: 'users', y: 'MB' },
  latency: { title: 'From an edit in SQL to its request', x: 'ms', y: '% of the edits within' },
  use: { title: 'Use of the limit over time', x: 's', y: '%', level: { y: 100, name: '500 a minute' } },
};

function writePlots(results: readonly RowResult[]): void {
  mkdirSync(plotFolder, { recursive: true });
  const all = results.flatMap(({ series = [] }) => series);
  for (const [name, plot] of Object.entries(plots)) {
    const lines = all.filter((series) => series.plot === name);
    if (lines.length > 0) writeFileSync(join(plotFolder, `${name}.svg`), drawPlot({ ...plot, lines }));
  }
}

/** @param machine on which these results were measured */
export function writeDocs(machine: string, results: readonly RowResult[]): void {
  const before = readFigures();
  const measured = new Set(results.map(({ row }) => row));
  const others = before?.results.filter(({ row }) => !measured.has(row)) ?? [];
  const all = [...others, ...results.map((result) => ({ ...result, machine }))];
  const sorted = all.toSorted((a, b) => a.row - b.row);
  const figures: Figures = { results: sorted };
  mkdirSync(dirname(figuresFile), { recursive: true });
  writeFileSync(figuresFile, `${JSON.stringify(figures, null, 2)}\n`);
  writePlots(sorted);
  const parts: Readonly<Record<string, string>> = {
    machine: machinesOf(sorted),
    table: tableOf(sorted),
    views: viewsOf(sorted),
  };
  const text = readFileSync(template, 'utf8').replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, name: string) => parts[name] ?? '',
  );
  writeFileSync(join(docs, 'performance.md'), text);
}
