/** Times as the clocks of another zone show them. */
import { count } from './words.ts';

const inUtc = (date: Date): Date => date;

/** Shifts a moment, so that the words for UTC say what clocks in the zone show. A zone that nobody knows counts as UTC. */
export function clocksOf(timeZone: string): (date: Date) => Date {
  const format = formatOf(timeZone);
  if (format === null) return inUtc;
  return (date) => {
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return new Date(Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')));
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat | null {
  try {
    const [numeric, hourCycle] = ['numeric', 'h23'] as const;
    const day = { year: numeric, month: numeric, day: numeric };
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hourCycle,
      ...day,
      hour: numeric,
      minute: numeric,
      second: numeric,
    });
  } catch {
    return null;
  }
}

const minuteMs = 60_000;

/** `UTC+1`, `UTC-3:30` */
export function offsetName(timeZone: string, now: Date): string {
  const minutes = Math.round((clocksOf(timeZone)(now).getTime() - now.getTime()) / minuteMs);
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${count(hours)}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
}

/** When the day of this moment began in the zone. */
export function beginOfDay(timeZone: string, now: Date): Date {
  const clocks = clocksOf(timeZone);
  const midnight = new Date(`${clocks(now).toISOString().slice(0, 10)}T00:00:00Z`);
  const about = new Date(now.getTime() - (clocks(now).getTime() - midnight.getTime()));
  // The clocks may have been changed since.
  return new Date(about.getTime() - (clocks(about).getTime() - midnight.getTime()));
}
