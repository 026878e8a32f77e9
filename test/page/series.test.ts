import { describe, expect, it } from 'vitest';
import { gapsOf, markMissing, type Point, thin } from '../../src/page/render/series.ts';

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
});
