import { describe, expect, it } from 'vitest';
import { gapsOf, markMissing, type Point, thin } from '../../src/page/render/series.ts';
import { drawSparkline } from '../../src/page/render/chart.ts';

/** A point each millisecond. */
const series = (...values: readonly (number | null)[]): readonly Point[] =>
  values.map((value, atMs) => ({ atMs, value }));

describe('counts over time', () => {
  it.each([
    [series(1, 2, 3), []],
    [series(null, 1, null, null, 2), [{ fromMs: 1, toMs: 4 }]],
    [
      series(1, null, 2, null),
      [
        { fromMs: 0, toMs: 2 },
        { fromMs: 2, toMs: 3 },
      ],
    ],
    [series(null, null), []],
    [[], []],
  ])('has the gaps of case %#', (points, expected) => {
    expect(gapsOf(points)).toEqual(expected);
  });

  it('marks what is missing between counts, and nothing where one is only late', () => {
    const at = (...times: readonly number[]) => times.map((atMs) => ({ atMs, value: 1 }));
    expect(markMissing(at(0, 10, 24), 10)).toEqual(at(0, 10, 24));
    expect(markMissing(at(0, 30), 10)).toEqual([...at(0), { atMs: 10, value: null }, ...at(30)]);
  });

  it('keeps of each column the lowest, the highest and one that is missing, in their order', () => {
    expect(thin(series(5, 1, 9, 4, null, null, 3, 7), (ms) => ms / 6)).toEqual([
      { atMs: 1, value: 1 },
      { atMs: 2, value: 9 },
      { atMs: 4, value: null },
      { atMs: 6, value: 3 },
      { atMs: 7, value: 7 },
    ]);
  });

  it('draws a line that a gap breaks, and its tint too', () => {
    const { line, tint } = drawSparkline(series(10, 20, null, 30, 15), 120, 26);
    expect(line).toBe('M0,24L30,13M90,2L120,18.5');
    expect(tint.match(/Z/g)).toHaveLength(2);
  });

  it.each([
    ['nothing', series(), ''],
    ['what never moved', series(7, 7), 'M0,13L120,13'],
    ['one count', series(7), 'M60,13Z'],
  ])('draws %s', (_what, points, expected) => {
    expect(drawSparkline(points).line).toBe(expected);
  });

  it('draws a year of quarters of an hour in few points', () => {
    const { line } = drawSparkline(
      series(...Array.from({ length: 35_040 }, (_, at) => (at * 7919) % 104_729)),
    );
    expect(line.split('L').length).toBeLessThanOrEqual(2 * 121);
  });
});
