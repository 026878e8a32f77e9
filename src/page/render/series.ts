/** Prepares counts over time for drawing. */

/** `null` if it was not counted then. */
export interface Point {
  readonly atMs: number;
  readonly value: number | null;
}

/** The time from the last count before it to the first one after it. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * @param points in the order of time
 * @returns them with a point without a value wherever more than a step and a half is missing
 */
export function markMissing(points: readonly Point[], stepMs: number): readonly Point[] {
  return points.flatMap((point, at) => {
    const before = points[at - 1];
    const isMissing = before !== undefined && point.atMs - before.atMs > stepMs * 1.5;
    return isMissing ? [{ atMs: before.atMs + stepMs, value: null }, point] : [point];
  });
}

/** The time before the first count is no gap, because nobody counted yet. The time after the last one is. */
export function gapsOf(points: readonly Point[]): readonly Gap[] {
  const gaps: Gap[] = [];
  let last: number | undefined;
  let isMissing = false;
  for (const { atMs, value } of points) {
    if (value === null) {
      isMissing = true;
    } else {
      if (isMissing && last !== undefined) gaps.push({ fromMs: last, toMs: atMs });
      last = atMs;
      isMissing = false;
    }
  }
  const end = points.at(-1)?.atMs;
  if (isMissing && last !== undefined && end !== undefined) gaps.push({ fromMs: last, toMs: end });
  return gaps;
}

/** Keeps the lowest, the highest and a missing value of each column of pixels, since more cannot be seen. */
export function thin(points: readonly Point[], columnOf: (atMs: number) => number): readonly Point[] {
  const columns = Map.groupBy(points, ({ atMs }) => Math.floor(columnOf(atMs)));
  return [...columns.values()].flatMap((inside) => {
    const counted = inside.filter(({ value }) => value !== null);
    const by = (a: Point, b: Point) => (a.value ?? 0) - (b.value ?? 0);
    const [lowest] = counted.toSorted(by);
    const highest = counted.toSorted(by).at(-1);
    const missing = inside.find(({ value }) => value === null);
    return inside.filter((point) => point === lowest || point === highest || point === missing);
  });
}
