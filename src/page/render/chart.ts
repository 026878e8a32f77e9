/** A line chart of counts. Classes define its colors. Times are placed in percent of the width, so that text is not scaled. */
import { extent } from 'd3-array';
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import { type Html, html } from './html.ts';
import { count } from './words.ts';

/** A count at one moment. `value` is null if there was no count at that moment. */
export interface Point {
  readonly atMs: number;
  readonly value: number | null;
}

/** The width of the drawing in its own units. A screen could not show more columns of pixels. */
const width = 1_000;
const height = 300;
const above = 22;
const below = 26;

const percent = (x: number) => Math.round((x / width) * 10_000) / 100;

/** The scale of the axis. It begins at 0 if the lowest count is near 0, else at a round number below that count. */
function axisOf(points: readonly Point[]) {
  const [lowest = 0, highest = 1] = extent(points, ({ value }) => value ?? undefined);
  const from = lowest < (highest - lowest) * 2 ? 0 : lowest;
  // If all counts are equal, the line is drawn in the middle, because on the axis it would not be visible.
  const [least, most] = highest > from ? [from, highest] : [Math.max(0, from - 1), from + 1];
  return scaleLinear([least, most], [height, 0]).nice(4);
}

/** The value at which the vertical axis begins. The page shows it if it is not 0. */
export const axisFrom = (points: readonly Point[]): number => axisOf(points).domain()[0] ?? 0;

const anchorAt = (x: number) => (x < 6 ? 'start' : x > 94 ? 'end' : 'middle');

/** @param points in the order of time. @param sentence describes the chart for screen readers */
export function lineChart(points: readonly Point[], sentence: string, timeWords: (at: Date) => string): Html {
  const [firstMs = 0, lastMs = 0] = extent(points, ({ atMs }) => atMs);
  const x = scaleUtc([firstMs, lastMs], [0, width]);
  const y = axisOf(points);
  const isCounted = ({ value }: Point) => value !== null;
  const [xOf, yOf] = [({ atMs }: Point) => x(atMs), ({ value }: Point) => y(value ?? 0)];
  // Counts between two points are unknown, so a straight line connects the points, which assumes the least.
  const drawnLine = line<Point>(xOf, yOf).defined(isCounted).digits(1)(points) ?? '';
  const tint = area<Point>(xOf, height, yOf).defined(isCounted).digits(1)(points) ?? '';
  const bottom = above + height;
  const values = y
    .ticks(4)
    .filter(Number.isInteger)
    .map((value) => ({ value, at: above + Math.round(y(value)) }));
  const grid = values.map(
    ({ at }) =>
      html`<line class="${at === bottom ? 'idle' : 'track'}" stroke="currentColor" x1="0" x2="100%" y1="${at}" y2="${at}"/>`,
  );
  const marks = x.ticks(5).map((at) => {
    const place = percent(x(at));
    return html`<text x="${place}%" y="${bottom + 18}" text-anchor="${anchorAt(place)}">${timeWords(at)}</text>`;
  });
  const figures = values.map(
    ({ value, at }) => html`<text x="100%" y="${at + 4}" text-anchor="end">${count(value)}</text>`,
  );
  return html`<div class="chart" role="img" aria-label="${sentence}"><svg class="drawn" height="${bottom + below}" aria-hidden="true">${grid}<svg y="${above}" width="100%" height="${height}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none"><path fill-opacity="0.06" d="${tint}"/><path fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" vector-effect="non-scaling-stroke" d="${drawnLine}"/></svg>${marks}</svg><svg width="60" height="${bottom + below}" aria-hidden="true">${figures}</svg></div>`;
}
