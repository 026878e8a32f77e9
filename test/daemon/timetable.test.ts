import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createTimetable } from '../../src/daemon/timetable.ts';

const schedule = { users: '*/5 * * * *', listings: '0 * * * *', counts: '30 4 * * 1' };
const minute = 60_000;

describe('the timetable', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date('2026-03-02T10:02:30Z') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('returns the time until the next run of each group, and the gap between two runs of this group', async () => {
    const table = await createTimetable([{ name: 'only', schedule }], () => {});
    expect(table.delayMs('only', 'users')).toBe(2.5 * minute);
    expect(table.gapMs('only', 'users')).toBe(5 * minute);
    expect(table.delayMs('only', 'listings')).toBe(57.5 * minute);
    expect(table.gapMs('only', 'counts')).toBe(7 * 24 * 60 * minute);
    expect(table.delayMs('nobody', 'users')).toBeNull();
    await table.close();
  });

  it('delays each team on a shared schedule by its own fixed time of at most half a minute', async () => {
    const teams = Array.from({ length: 50 }, (_, i) => ({ name: `team ${i}`, schedule }));
    const table = await createTimetable(teams, () => {});
    const delays = teams.map(({ name }) => table.delayMs(name, 'users') ?? 0);
    expect(new Set(delays).size).toBe(50);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(2.5 * minute);
    expect(Math.max(...delays)).toBeLessThanOrEqual(3 * minute);
    expect(teams.map(({ name }) => table.delayMs(name, 'users') ?? 0)).toEqual(delays);
    await table.close();
  });

  it('computes the next time of a schedule once, however many teams share the schedule', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `team ${i}`);
    const teams = names.map((name) => ({ name, schedule: { ...schedule, users: '0 0 1 3 *' } }));
    const table = await createTimetable(teams, () => {});
    const asked = vi.spyOn(Date, 'UTC');
    onTestFinished(() => asked.mockRestore());
    const [first = '', ...others] = names;
    expect(table.delayMs(first, 'users')).toBeGreaterThan(0);
    expect(asked.mock.calls.length).toBeGreaterThan(0);
    asked.mockClear();
    for (const name of others) expect(table.delayMs(name, 'users')).toBeGreaterThan(0);
    expect(asked.mock.calls.length).toBe(0);
    await table.close();
  });

  it('computes the next run by the wall clock, even if the clock was set back (R8)', async () => {
    const table = await createTimetable([{ name: 'only', schedule }], () => {});
    expect(table.delayMs('only', 'users')).toBe(2.5 * minute);
    vi.setSystemTime(new Date('2026-03-02T09:51:00Z'));
    expect(table.delayMs('only', 'users')).toBe(4 * minute);
    await table.close();
  });

  it('calls back once at a time that several teams share', async () => {
    let ticks = 0;
    const teams = ['a', 'b', 'c'].map((name) => ({ name, schedule }));
    const table = await createTimetable(teams, () => {
      ticks += 1;
    });
    await vi.advanceTimersByTimeAsync(2.6 * minute);
    expect(ticks).toBe(1);
    await table.close();
  });
});
