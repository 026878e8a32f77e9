import { createTask } from 'node-cron';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { longestGapMs } from '../../src/daemon/schedule.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('longestGapMs', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.setSystemTime('2030-01-01T12:30:00Z');
  });
  afterEach(() => vi.useRealTimers());

  it.each([
    ['*/5 * * * *', 5 * minute],
    ['0 * * * *', hour],
    ['*/15 * * * *', 15 * minute],
    ['* * * * *', minute],
    ['* * * * * *', second],
    ['*/10 * * * * *', 10 * second],
    // Not a divisor of the hour: the last gap is shorter, not longer.
    ['*/25 * * * *', 25 * minute],
    ['0,5 * * * *', 55 * minute],
    ['0 0 * * *', day],
    ['@daily', day],
    ['0 9 * * 1-5', 3 * day],
    ['*/5 9-17 * * 1-5', 3 * day - 9 * hour + 5 * minute],
    ['* * 9-17 * * *', day - 9 * hour + second],
    ['0 0 * 1-11 *', 32 * day],
    ['0 0 1 * *', 31 * day],
    ['30 4 29 2 *', (8 * 365 + 1) * day],
    ['0 0 * * 5L', 35 * day],
  ] as const)('returns for the schedule %s a longest gap of %i ms', (expression, expected) => {
    expect(longestGapMs(expression)).toBe(expected);
  });

  it('computes the longest gap of a schedule once, however many teams share the schedule', () => {
    const asked = vi.spyOn(Date, 'UTC');
    onTestFinished(() => asked.mockRestore());
    longestGapMs('0 0 1 3 *');
    expect(asked.mock.calls.length).toBeGreaterThan(0);
    asked.mockClear();
    for (let i = 0; i < 20; i += 1) longestGapMs('0 0 1 3 *');
    expect(asked.mock.calls.length).toBe(0);
  });

  it('returns infinity for a schedule whose time never comes', () => {
    expect(longestGapMs('0 0 5 * 1#2')).toBe(Number.POSITIVE_INFINITY);
  });

  it.each(['7,12,40 3,4,22 * * 2,4', '0 0,12 1-5 * *', '30 15 10-12 * * 0', '5 5 */6 * * *'])(
    'returns the longest gap between two fires of the schedule %s',
    (expression) => {
      const task = createTask(expression, () => {}, { timezone: 'UTC' });
      const fires = task.getNextRuns(1_000).map((fire) => fire.getTime());
      const gaps = fires.slice(1).map((fire, i) => fire - (fires[i] ?? fire));
      expect(longestGapMs(expression)).toBe(Math.max(...gaps));
    },
  );
});
