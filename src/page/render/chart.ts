/** Lines of counts: with axes, and small ones beside a number. Places along the time are percents of the width, so that text never scales. */
import { extent } from 'd3-array';
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import { type Gap, gapsOf, type Point, thin } from './series.ts';

/** A word below the axis. */
export interface TimeMark {
  readonly at: Date;
  /** Percent of the width. */
  readonly x: number;
}

export interface ValueMark {
  readonly value: number;
  /** Pixels from the top. */
  readonly y: number;
}

/** A time that was not counted, in percents of the width. */
export interface ShownGap extends Gap {
  readonly x: number;
  readonly width: number;
}

/** A line and the tint below it, as paths of an SVG, which a gap interrupts. */
export interface Curve {
  /** The width of the drawing, which is stretched to the space; its height is in pixels. */
  readonly width: number;
  readonly height: number;
  readonly line: string;
  readonly tint: string;
}

export interface Chart extends Curve {
  readonly values: readonly ValueMark[];
  readonly times: readonly TimeMark[];
  readonly gaps: readonly ShownGap[];
  /** The value at which the axis begins. People are told if it is not 0. */
  readonly axisFrom: number;
}

/** The number of columns of pixels that can be told apart. */
const width = 1_000;

const percent = (x: number) => Math.round((x / width) * 10_000) / 100;

/** The axis begins at 0 if the counts come near it, else at a round number below them. */
function axisOf(points: readonly Point[], height: number) {
  const [lowest = 0, highest = 1] = extent(points, ({ value }) => value ?? undefined);
  const from = lowest < (highest - lowest) * 2 ? 0 : lowest;
  // Counts that never moved are a line in the middle, because on the axis it could not be seen.
  const [least, most] = highest > from ? [from, highest] : [Math.max(0, from - 1), from + 1];
  return scaleLinear([least, most], [height, 0]).nice(4);
}

/** Nobody knows what was between two counts, and a straight line claims least. */
function curveOf(
  points: readonly Point[],
  x: (atMs: number) => number,
  y: (value: number) => number,
  { width: wide, height }: Pick<Curve, 'width' | 'height'>,
): Curve {
  const drawnPoints = thin(points, x);
  const isCounted = ({ value }: Point) => value !== null;
  const xOf = ({ atMs }: Point) => x(atMs);
  const yOf = ({ value }: Point) => y(value ?? 0);
  const drawLine = line<Point>(xOf, yOf).defined(isCounted).digits(1);
  const drawTint = area<Point>(xOf, height, yOf).defined(isCounted).digits(1);
  return { width: wide, height, line: drawLine(drawnPoints) ?? '', tint: drawTint(drawnPoints) ?? '' };
}

/** Space for the line's own width at the top and at the bottom. */
const edge = 2;

/** A small line on its own scale, without an axis, because the number stands beside it. */
export function drawSparkline(points: readonly Point[], wide = 120, height = 26): Curve {
  const [firstMs = 0, lastMs = 0] = extent(points, ({ atMs }) => atMs);
  const [lowest = 0, highest = 0] = extent(points, ({ value }) => value ?? undefined);
  // Counts that never moved are a line through the middle, which is where d3 puts it.
  const y = scaleLinear([lowest, highest], [height - edge, edge]);
  return curveOf(points, scaleLinear([firstMs, lastMs], [0, wide]), y, { width: wide, height });
}

/** @param points in the order of time */
export function drawChart(points: readonly Point[], height = 230): Chart {
  const [firstMs = 0, lastMs = 0] = extent(points, ({ atMs }) => atMs);
  const x = scaleUtc([firstMs, lastMs], [0, width]);
  const y = axisOf(points, height);
  return {
    ...curveOf(points, x, y, { width, height }),
    values: y
      .ticks(4)
      .filter(Number.isInteger)
      .map((value) => ({ value, y: Math.round(y(value)) })),
    times: x.ticks(5).map((at) => ({ at, x: percent(x(at)) })),
    gaps: gapsOf(points).map((gap) => ({
      ...gap,
      x: percent(x(gap.fromMs)),
      width: percent(x(gap.toMs) - x(gap.fromMs)),
    })),
    axisFrom: y.domain()[0] ?? 0,
  };
}

/** How many came and went in a time. */
export interface Moves {
  readonly added: number;
  readonly gone: number;
}

/** Two bars, in pixels from the top. */
export interface MoveBars {
  readonly x: number;
  readonly width: number;
  readonly added: { readonly y: number; readonly height: number };
  readonly gone: { readonly y: number; readonly height: number };
}

export interface MoveChart {
  readonly bars: readonly MoveBars[];
  /** The height of the line between them. */
  readonly line: number;
  readonly height: number;
}

/** No bar of something is thinner, so that it can be seen. */
const thinnest = 2;

/** Draws what was added above a line and what went below it, on one scale. */
export function drawMoves(moves: readonly Moves[], height = 110, top = 16): MoveChart {
  const most = Math.max(1, ...moves.map(({ added }) => added));
  const lost = Math.max(0, ...moves.map(({ gone }) => gone));
  const perOne = (height - top) / (most + lost);
  const long = (value: number) => (value === 0 ? 0 : Math.max(thinnest, Math.round(value * perOne)));
  const line = top + long(most);
  const step = 100 / Math.max(1, moves.length);
  const round = (x: number) => Math.round(x * 100) / 100;
  const bars = moves.map(({ added, gone }, at) => ({
    x: round(at * step + step * 0.15),
    width: round(step * 0.7),
    added: { y: line - long(added), height: long(added) },
    gone: { y: line + 1, height: long(gone) },
  }));
  return { bars, line, height: line + 1 + long(lost) };
}
