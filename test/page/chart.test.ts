/** Lines of counts, as people see them. */
import { expect, it } from 'vitest';
import { axisFrom, lineChart } from '../../src/page/render/chart.ts';

const hourMs = 3_600_000;
const of = (...values: readonly (number | null)[]) => values.map((value, n) => ({ atMs: n * hourMs, value }));
const drawn = (...values: readonly (number | null)[]) =>
  lineChart(of(...values), 'Contacts', (at) => `${at.getUTCHours()}h`).toString();

it.each([
  [[1_000, 1_010], 1_000],
  [[10, 100], 0],
  [[7, 7, 7], 6],
])('axisFrom starts an axis near close values, and at 0 for distant ones: %j at %i', (values, expected) => {
  expect(axisFrom(of(...values))).toBe(expected);
});

it('lineChart labels the vertical axis with numbers, and the ends of the line with the first and last time', () => {
  const page = drawn(10, 20, 30, 40, 50);
  const figures = [...page.matchAll(/text-anchor="end">([\d,]+)</g)].map(([, figure]) => figure);
  expect(figures).toEqual(['0', '10', '20', '30', '40', '50']);
  expect(page).toMatch(/text-anchor="start">0h<.*text-anchor="end">4h</);
});

it('lineChart leaves a gap in the line for an hour without a count', () => {
  const line = (page: string) => /vector-effect="non-scaling-stroke" d="([^"]*)"/.exec(page)?.[1] ?? '';
  expect(line(drawn(1, null, 3, 4)).split('M')).toHaveLength(3);
});
