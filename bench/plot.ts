/** Line plots as SVG, readable in a light and in a dark document. */
import type { Point, Series } from './results.ts';

export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly Pick<Series, 'name' | 'points'>[];
  /** A line across, such as a limit. */
  readonly level?: { readonly y: number; readonly name: string };
}

const width = 720;
const height = 360;
const margin = { left: 64, right: 210, top: 40, bottom: 48 };
const colours = ['#2f6fb3', '#c2571a', '#3a8a3f', '#8b4fa8', '#9a7b00', '#b03050'];

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** 1, 2 or 5 times a power of ten, so that there are some five steps up to the most. */
function stepOf(most: number): number {
  const rough = Math.max(most, 1e-9) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough) ?? 10;
  return factor * power;
}

function axisOf(values: readonly number[]) {
  const step = stepOf(Math.max(...values, 0));
  const most = Math.max(step, Math.ceil(Math.max(...values, 0) / step) * step);
  const ticks = Array.from({ length: Math.round(most / step) + 1 }, (_, index) => index * step);
  return { most, ticks };
}

const text = (x: number, y: number, words: string, more = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;

const line = (from: Point, to: Point, more: string) =>
  `<line x1="${from.x.toFixed(1)}" y1="${from.y.toFixed(1)}" x2="${to.x.toFixed(1)}" y2="${to.y.toFixed(1)}" ${more}/>`;

const grid = 'stroke="#888" stroke-opacity="0.25"';

export function drawPlot({ title, x, y, lines, level }: Plot): string {
  const all = lines.flatMap(({ points }) => points);
  const across = axisOf(all.map((point) => point.x));
  const up = axisOf([...all.map((point) => point.y), ...(level === undefined ? [] : [level.y])]);
  const [right, bottom] = [width - margin.right, height - margin.bottom];
  const at = (point: Point): Point => ({
    x: margin.left + (point.x / across.most) * (right - margin.left),
    y: bottom - (point.y / up.most) * (bottom - margin.top),
  });
  const left = margin.left;
  const parts = [
    text(left, 22, title, 'font-size="15" font-weight="600"'),
    ...up.ticks.flatMap((tick) => {
      const place = at({ x: 0, y: tick }).y;
      return [
        line({ x: left, y: place }, { x: right, y: place }, grid),
        text(left - 8, place + 4, tick.toLocaleString('en'), 'text-anchor="end"'),
      ];
    }),
    ...across.ticks.map((tick) =>
      text(at({ x: tick, y: 0 }).x, bottom + 18, tick.toLocaleString('en'), 'text-anchor="middle"'),
    ),
    text((left + right) / 2, height - 10, x, 'text-anchor="middle"'),
    text(left, 36, y),
    ...lines.flatMap(({ name, points }, index) => drawLine(name, points.map(at), index, right)),
    ...(level === undefined ? [] : drawLevel(level, at({ x: 0, y: level.y }).y, left, right)),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="#888">`,
    `<title>${escaped(title)}</title>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function drawLine(name: string, points: readonly Point[], index: number, right: number): readonly string[] {
  const colour = colours[index % colours.length] ?? '#888';
  const path = points
    .toSorted((a, b) => a.x - b.x)
    .map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`)
    .join(' ');
  const key = margin.top + 8 + index * 18;
  const stroke = `fill="none" stroke="${colour}" stroke-width="2"`;
  return [
    `<polyline points="${path}" ${stroke}/>`,
    line({ x: right + 14, y: key }, { x: right + 34, y: key }, `stroke="${colour}" stroke-width="2"`),
    text(right + 40, key + 4, name),
  ];
}

function drawLevel(
  { name }: { readonly name: string },
  y: number,
  left: number,
  right: number,
): readonly string[] {
  const stroke = 'stroke="#888" stroke-dasharray="5 4"';
  return [line({ x: left, y }, { x: right, y }, stroke), text(right + 6, y + 4, name)];
}
