/** Finds when to run, by cron expressions. This is the only file that uses node-cron. */
import { createTask, parse, validateDetailed } from 'node-cron';
import { dayMs, hourMs, minuteMs } from '../model/zone-time.ts';

export interface Schedule {
  upcoming(count: number): readonly Date[];
  close(): Promise<void>;
}

/** The reason why this is not a valid schedule, or `undefined` if it is valid. */
export function validateSchedule(expression: string): string | undefined {
  const { valid, errors } = validateDetailed(expression);
  if (!valid) {
    return `a cron expression, not "${expression}" (${errors.map(({ message }) => message).join('; ')})`;
  }
  return longestGapMs(expression) === Number.POSITIVE_INFINITY
    ? `an expression with a future time, not "${expression}"`
    : undefined;
}

/** Calls `onTick` at each time of the expression. `onTick` must not throw. */
export async function createSchedule(expression: string, onTick: () => void): Promise<Schedule> {
  const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
  const task = createTask(expression, onTick, { timezone, logger: silent, suppressMissedWarning: true });
  // After a sleep or a stall, `onTick` is called for a tick that was missed.
  task.on('execution:missed', onTick);
  await task.start();
  return {
    upcoming: (count) => task.getNextRuns(count),
    close: async () => {
      await task.destroy();
    },
  };
}

/** The number of scheduled days to look at: just over a year, because some schedules pause for months. */
const daysAhead = 400;

/** The times at which an expression fires within one unit (a minute, an hour or a day), in ms from its start. */
interface Times {
  readonly first: number;
  readonly last: number;
  /** Longest gap between two successive times. */
  readonly longest: number;
}

/** Repeats the `inner` times in each of `values` of a larger unit, such as hours. One of these is `unitMs` long. */
function spread(values: readonly number[], unitMs: number, inner: Times): Times {
  const sorted = values.toSorted((a, b) => a - b);
  const gaps = sorted
    .slice(1)
    .map((value, i) => (value - (sorted[i] ?? value)) * unitMs + inner.first - inner.last);
  return {
    first: (sorted[0] ?? 0) * unitMs + inner.first,
    last: (sorted.at(-1) ?? 0) * unitMs + inner.last,
    longest: Math.max(inner.longest, ...gaps),
  };
}

/** All schedules are in UTC, which has no summer time. */
const timezone = 'UTC';

/** The longest gap by schedule. It is cached, because many teams share a schedule and computing the gap is slow. */
const gaps = new Map<string, number>();

/**
 * The longest gap in ms between two times of a schedule, such as a weekend for `0-59/5 9-17 * * 1-5`. It is `Infinity`
 * if no time ever comes. Gaps within a day are computed. Gaps between days are found by going through the coming days,
 * so the number of times per day does not matter.
 */
export function longestGapMs(expression: string): number {
  const gap = gaps.get(expression) ?? reckonGapMs(expression);
  gaps.set(expression, gap);
  return gap;
}

function reckonGapMs(expression: string): number {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(expression);
  const instant = { first: 0, last: 0, longest: 0 };
  const day = spread(hour, hourMs, spread(minute, minuteMs, spread(second, 1_000, instant)));
  const everyDay = dayOfMonth.length === 31 && month.length === 12 && dayOfWeek.length === 7;
  const once = [second[0], minute[0], hour[0], dayOfMonth, month, dayOfWeek].join(' ');
  const nights = everyDay ? dayMs : longestPauseMs(once);
  return Math.max(1_000, day.longest, nights + day.first - day.last);
}

/** The longest gap between two scheduled days. The schedule `daily` fires once on each of its days. */
function longestPauseMs(daily: string): number {
  const task = createTask(daily, () => {}, { timezone });
  try {
    const times = task.getNextRuns(daysAhead).map((fire) => fire.getTime());
    return Math.max(
      ...times.slice(1).map((time, i) => Math.round((time - (times[i] ?? time)) / dayMs) * dayMs),
    );
  } catch {
    return Number.POSITIVE_INFINITY;
  } finally {
    void task.destroy();
  }
}
