import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSchedule, type Schedule, validateSchedule } from '../../src/daemon/schedule.ts';

describe('a schedule', () => {
  let schedule: Schedule | undefined;
  let ticks = 0;
  const open = async () => {
    ticks = 0;
    schedule = await createSchedule('0 * * * *', () => {
      ticks += 1;
    });
    return schedule;
  };
  beforeEach(() => {
    vi.useFakeTimers();
    vi.setSystemTime('2030-01-01T12:30:00Z');
  });
  afterEach(async () => {
    await schedule?.close();
    schedule = undefined;
    vi.useRealTimers();
  });

  it('ticks at each time of the expression, and upcoming returns the time of the next tick', async () => {
    const opened = await open();
    expect(opened.upcoming(1)).toEqual([new Date('2030-01-01T13:00:00Z')]);
    await vi.advanceTimersByTimeAsync(29 * 60_000);
    expect(ticks).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ticks).toBe(1);
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(ticks).toBe(2);
  });

  it('after the machine slept past a tick, ticks once as soon as the process is awake (R9)', async () => {
    const opened = await open();
    // The machine sleeps past 13:00: its clock goes on, and no timer fires meanwhile.
    vi.setSystemTime('2030-01-01T13:10:00Z');
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect(ticks).toBe(1);
    expect(opened.upcoming(1)).toEqual([new Date('2030-01-01T14:00:00Z')]);
    await vi.advanceTimersByTimeAsync(20 * 60_000);
    expect(ticks).toBe(2);
  });

  it('does not tick after the schedule is closed', async () => {
    const opened = await open();
    await opened.close();
    await vi.advanceTimersByTimeAsync(3 * 60 * 60_000);
    expect(ticks).toBe(0);
  });
});

describe('validateSchedule', () => {
  it('accepts a cron expression, and returns an error for any other text and for a date that never comes', () => {
    expect(validateSchedule('*/15 * * * *')).toBeUndefined();
    expect(validateSchedule('often')).toMatch(/^a cron expression, not "often" \(.+\)$/);
    expect(validateSchedule('0 0 5 * 1#2')).toBe('an expression with a future time, not "0 0 5 * 1#2"');
  });
});
