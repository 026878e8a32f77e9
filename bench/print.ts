/** Results in words, for the terminal and for the document. */
import { isReached, type Measure, type RowResult, type Unit } from './results.ts';
import type { Spread } from './stats.ts';
import { rows } from './table.ts';

function inDigits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const unitOf = (unit: Unit) => (unit === '' ? '' : unit === 'times' ? '×' : ` ${unit}`);

/** The median, and what the others were between. */
export function inSpread({ median, min, max, count }: Spread, unit: Unit): string {
  const spread = count > 1 ? ` (${inDigits(min)}–${inDigits(max)})` : '';
  return `${inDigits(median)}${spread}${unitOf(unit)}`;
}

export interface Cells {
  readonly what: string;
  readonly product: string;
  readonly limit: string;
  readonly peers: string;
  readonly ratio: string;
  readonly goal: string;
  readonly verdict: 'reached' | 'not reached';
}

export function cellsOf(measure: Measure): Cells {
  const { what, product, limit, peers = {}, ratio, goal, unit, atLeast } = measure;
  return {
    what,
    product: inSpread(product, unit),
    limit: limit === undefined ? '' : inSpread(limit, unit),
    peers: Object.entries(peers)
      .map(([name, spread]) => `${name}: ${inSpread(spread, unit)}`)
      .join('; '),
    ratio: ratio === undefined ? '' : inSpread(ratio, 'times'),
    goal: `${atLeast === true ? '≥' : '≤'} ${inDigits(goal)}${ratio === undefined ? unitOf(unit) : '×'}`,
    verdict: isReached(measure) ? 'reached' : 'not reached',
  };
}

/** A row for the terminal. */
export function rowInWords({ row, size, measures }: RowResult): string {
  const { what = '' } = rows.find((candidate) => candidate.row === row) ?? {};
  const lines = measures.map((measure) => {
    const cells = cellsOf(measure);
    const parts = [
      `product ${cells.product}`,
      cells.limit === '' ? '' : `limit ${cells.limit}`,
      cells.ratio === '' ? '' : `ratio ${cells.ratio}`,
      cells.peers,
    ].filter((part) => part !== '');
    return `    ${cells.what}: ${parts.join(', ')}; goal ${cells.goal}: ${cells.verdict}`;
  });
  return [`${String(row).padStart(2)}  ${what} (${size})`, ...lines].join('\n');
}
