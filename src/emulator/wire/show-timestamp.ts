import { seedOf } from '../random.ts';

/** The number of digits after the seconds. `mixed` leaves trailing zeros out, so it has 0 to 9 digits. */
type FractionDigits = '0' | '3' | '6' | '9' | 'mixed';

/** A moment to the nanosecond: whole ms since 1970, and the nanoseconds below the millisecond. */
export interface Moment {
  readonly ms: number;
  readonly nanos: number;
}

/**
 * The moment of a change to row `id` at `ms`. The clocks of servers are finer than milliseconds, so each row has its
 * own digits below the millisecond. Rows that were changed together (`shared`) have the same digits.
 */
export function momentOf(ms: number, id: number, shared = false): Moment {
  return { ms, nanos: shared ? seedOf(String(ms)) % 1_000_000 : seedOf(`${ms}:${id}`) % 1_000_000 };
}

/** RFC 3339 in UTC with `Z`, cut (not rounded) to the digits. */
export function formatMoment(moment: Moment, digits: FractionDigits): string {
  const iso = new Date(moment.ms).toISOString();
  const seconds = iso.slice(0, 19);
  const fraction = iso.slice(20, 23) + String(moment.nanos).padStart(6, '0');
  const shownDigits = digits === 'mixed' ? fraction.replace(/0+$/, '') : fraction.slice(0, Number(digits));
  return shownDigits === '' ? `${seconds}Z` : `${seconds}.${shownDigits}Z`;
}

const rfc3339 =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ]((?:[01]\d|2[0-3]):\d{2}:\d{2})(?:\.(\d{1,9}))?\d*([Zz]|[+-]\d{2}:\d{2}))?$/;

/** True if the calendar has this day. `Date.parse` alone would read 30 February as a day of March. */
function isDay(day: string): boolean {
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

/** The moment of an RFC 3339 text (or a bare date in UTC); `undefined` for any other text. */
export function parseMoment(text: string): Moment | undefined {
  const [, day, time = '00:00:00', fraction = '', zone = 'Z'] = rfc3339.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const padded = fraction.padEnd(9, '0');
  const ms = Date.parse(`${day}T${time}.${padded.slice(0, 3)}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : { ms, nanos: Number(padded.slice(3)) };
}

/** Negative when `a` is earlier, 0 when equal, positive when later. */
export function compareMoments(a: Moment, b: Moment): number {
  return a.ms - b.ms || a.nanos - b.nanos;
}
