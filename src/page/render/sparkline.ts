/** A small line of counts on its own scale, without an axis, because the number stands beside it. */
import { extent } from 'd3-array';
import { scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import { type Gap, gapsOf, type Point, thin } from './series.ts';

export interface Sparkline {
  readonly width: number;
  readonly height: number;
  /** Paths of an SVG, which a gap interrupts. */
  readonly line: string;
  readonly tint: string;
  readonly gaps: readonly Gap[];
}

/** Space for the line's own width at the top and at the bottom. */
const edge = 2;

/** @param points in the order of time */
export function drawSparkline(points: readonly Point[], width = 120, height = 26): Sparkline {
  const [firstMs = 0, lastMs = 0] = extent(points, ({ atMs }) => atMs);
  const [lowest = 0, highest = 0] = extent(points, ({ value }) => value ?? undefined);
  const x = scaleLinear([firstMs, lastMs], [0, width]);
  // Counts that never moved are a line through the middle, which is where d3 puts it.
  const y = scaleLinear([lowest, highest], [height - edge, edge]);
  const drawnPoints = thin(points, x);
  const isCounted = ({ value }: Point) => value !== null;
  const xOf = ({ atMs }: Point) => x(atMs);
  const yOf = ({ value }: Point) => y(value ?? 0);
  const drawLine = line<Point>(xOf, yOf).defined(isCounted).digits(1);
  const drawTint = area<Point>(xOf, height, yOf).defined(isCounted).digits(1);
  return {
    width,
    height,
    line: drawLine(drawnPoints) ?? '',
    tint: drawTint(drawnPoints) ?? '',
    gaps: gapsOf(points),
  };
}
