import { describe, expect, it } from 'vitest';
import { drawChart, drawMoves } from '../../src/page/render/chart.ts';

const dayMs = 86_400_000;
const from = Date.UTC(2026, 0, 1);
const daily = (...values: readonly (number | null)[]) =>
  values.map((value, day) => ({ atMs: from + day * dayMs, value }));

describe('a chart', () => {
  it.each([
    ['far from 0, where the axis begins near them', [302_100, 305_000, 312_400], 302_000],
    ['near 0, where the axis begins', [120, 300, 410], 0],
    ['that never moved, which are not drawn on the axis', [5_000, 5_000], 4_999],
    ['of none', [0, 0], 0],
    ['without one count', [], 0],
  ])('of counts %s', (_what, values, expected) => {
    const chart = drawChart(daily(...values), 100);
    expect(chart.axisFrom).toBe(expected);
    expect(chart.values.every(({ value, y }) => Number.isInteger(value) && y >= 0 && y <= 100)).toBe(true);
  });

  it('puts times and gaps in percents of the width', () => {
    const { gaps, times, line } = drawChart(daily(1, 2, null, null, 3), 100);
    expect(gaps).toMatchObject([{ x: 25, width: 75 }]);
    expect(times.map(({ at, x }) => [at.toISOString().slice(0, 10), x])).toContainEqual(['2026-01-03', 50]);
    expect(line.match(/M/g)).toHaveLength(2);
  });

  it('draws what came above the line and what went below it, on one scale', () => {
    const { bars, line, height } = drawMoves(
      [
        { added: 10, gone: 0 },
        { added: 0, gone: 5 },
      ],
      110,
      20,
    );
    expect(line).toBe(80);
    expect(bars).toEqual([
      { x: 7.5, width: 35, added: { y: 20, height: 60 }, gone: { y: 81, height: 0 } },
      { x: 57.5, width: 35, added: { y: 80, height: 0 }, gone: { y: 81, height: 30 } },
    ]);
    expect(height).toBe(111);
  });

  it('shows one of a thousand', () => {
    expect(drawMoves([{ added: 1_000, gone: 1 }]).bars[0]?.gone.height).toBe(2);
  });
});
