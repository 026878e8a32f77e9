/** Charts as SVG. Their paint is in classes and their geometry in attributes, since the page allows no inline styles. */
import { type Chart, type Curve, drawSparkline, type MoveChart } from './chart.ts';
import { type Html, html, none } from './html.ts';
import type { Gap, Point } from './series.ts';
import { count, day } from './words.ts';

/** Text near an end begins or ends there. */
function anchorAt(x: number): 'start' | 'middle' | 'end' {
  if (x < 6) return 'start';
  return x > 94 ? 'end' : 'middle';
}

const dayMs = 86_400_000;

/** `18 to 20 Jan`: the days without a count. */
export function gapWords({ fromMs, toMs }: Gap, now: Date): string {
  const first = new Date(fromMs + dayMs);
  const last = new Date(toMs - dayMs);
  const [begin, end] = [day(first, now), day(last, now)];
  if (first.getTime() >= last.getTime() || begin === end) return begin;
  const [beginDay, ...beginMonth] = begin.split(' ');
  return end.endsWith(beginMonth.join(' ')) ? `${beginDay} to ${end}` : `${begin} to ${end}`;
}

/** A line with a tint below it. The line keeps its width however the drawing is stretched. */
const curve = ({ line, tint }: Pick<Curve, 'line' | 'tint'>): Html =>
  html`<path fill-opacity="0.06" d="${tint}"/><path fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" vector-effect="non-scaling-stroke" d="${line}"/>`;

/** The number and how it moved stand beside it. The sentence tells those who do not see it. */
export function sparkline(points: readonly Point[], sentence: string, isWide = false): Html {
  const spark = isWide ? drawSparkline(points, 320, 60) : drawSparkline(points);
  return html`<svg class="drawn spark" height="${spark.height}" viewBox="0 0 ${spark.width} ${spark.height}" preserveAspectRatio="none" role="img" aria-label="${sentence}">${curve(spark)}</svg>`;
}

export interface ShownChart {
  /** A sentence that says what it shows. */
  readonly sentence: string;
  /** The words for a moment below the axis. */
  readonly timeWords: (at: Date) => string;
  /** Tells this chart from others of the page. */
  readonly id: string;
}

const above = 22;
const below = 26;

/** Text does not scale, so the geometry has an SVG of its own within it. Figures stand in a gutter at the right. */
export function lineChart(chart: Chart, { sentence, timeWords, id }: ShownChart): Html {
  const { width, height, values, times, gaps } = chart;
  const bottom = above + height;
  const hatch = `hatch-${id}`;
  const grid = values.map(
    ({ y }) =>
      html`<line class="${y === height ? 'idle' : 'track'}" stroke="currentColor" x1="0" x2="100%" y1="${above + y}" y2="${above + y}"/>`,
  );
  const missing = gaps.map(({ x, width: wide }) => {
    const middle = Math.min(100, x + wide / 2);
    return html`<rect x="${x}%" y="${above}" width="${wide}%" height="${height}" fill="url(#${hatch})"/><text x="${middle}%" y="${above - 8}" text-anchor="${anchorAt(middle)}">not counted</text>`;
  });
  const marks = times.map(
    ({ at, x }) =>
      html`<text x="${x}%" y="${bottom + 18}" text-anchor="${anchorAt(x)}">${timeWords(at)}</text>`,
  );
  const figures = values.map(
    ({ value, y }) => html`<text x="100%" y="${above + y + 4}" text-anchor="end">${count(value)}</text>`,
  );
  return html`<div class="chart" role="img" aria-label="${sentence}"><svg class="drawn" height="${bottom + below}" aria-hidden="true"><defs><pattern id="${hatch}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="idle" stroke="currentColor" stroke-opacity="0.6" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>${grid}${missing}<svg y="${above}" width="100%" height="${height}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${curve(chart)}</svg>${marks}</svg><svg width="60" height="${bottom + below}" aria-hidden="true">${figures}</svg></div>`;
}

/** Shows what was added above the line, and what went below it. */
export function moveChart(
  { bars, line, height }: MoveChart,
  moves: readonly { readonly label: string; readonly added: number; readonly gone: number }[],
  sentence: string,
): Html {
  const drawnBars = bars.map(({ x, width, added, gone }, at) => {
    const middle = x + width / 2;
    const { label, added: more } = moves[at] ?? { label: '', added: 0 };
    return html`${more === 0 ? none : html`<text x="${middle}%" y="${added.y - 5}" text-anchor="middle">${count(more)}</text><rect class="quiet" x="${x}%" y="${added.y}" width="${width}%" height="${added.height}" rx="2"/>`}${
      gone.height === 0
        ? none
        : html`<rect class="gone" x="${x}%" y="${gone.y + 1}" width="${width}%" height="${gone.height}" rx="2"/>`
    }<text x="${middle}%" y="${height + 20}" text-anchor="middle">${label}</text>`;
  });
  return html`<svg class="drawn" height="${height + 26}" role="img" aria-label="${sentence}">${drawnBars}<line class="idle" stroke="currentColor" x1="0" x2="100%" y1="${line + 0.5}" y2="${line + 0.5}"/></svg>`;
}

/** A bar as long as its share of the longest, with the number beside it. */
export const shareBar = (share: number): Html =>
  html`<svg class="drawn" height="8" aria-hidden="true"><rect class="quiet" width="${Math.max(0.5, Math.round(share * 1000) / 10)}%" height="8" rx="1.5"/></svg>`;
