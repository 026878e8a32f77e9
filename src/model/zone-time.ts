/** Units of time, and times on the clocks of a zone, such as Europe/Berlin. */

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** The largest difference, in hours, between a time zone and UTC. */
const farthestHours = 15;

/** True if this is the name of a time zone. */
export function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

/** The zone of all times that people read: `display.timezone`. Output for programs is in UTC. */
let zoneOfPeople = 'UTC';

export const shownZone = (): string => zoneOfPeople;

export function showTimesIn(zone: string): void {
  zoneOfPeople = zone;
  offsetOfPeople = createOffset(zone);
}

/** Returns by how many ms the clocks of the zone are ahead of UTC at a moment. */
function createOffset(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  return (ms) => {
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes, seconds = '0'] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
    if (sign === undefined) return 0;
    return Number(`${sign}1`) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  };
}

let offsetOfPeople = (_ms: number): number => 0;

/** A Date whose UTC parts show the local time in the zone of `display.timezone`. */
const onTheirClocks = (date: Date): Date => new Date(date.getTime() + offsetOfPeople(date.getTime()));

/** `2027-01-15T09:00:00+01:00`, or `…Z` in UTC; empty without a date. */
export function showTime(date: Date | null | undefined): string {
  if (date === null || date === undefined) return '';
  const minutes = Math.round(offsetOfPeople(date.getTime()) / minuteMs);
  const two = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, '0');
  const offset = minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${onTheirClocks(date).toISOString().slice(0, 19)}${offset}`;
}

/** `2027-01-15`, the day in the zone of `display.timezone`. */
export const showDay = (date: Date): string => onTheirClocks(date).toISOString().slice(0, 10);

/** `09:00:00` in the zone of `display.timezone`. */
export const showClock = (date: Date): string => onTheirClocks(date).toISOString().slice(11, 19);

/**
 * The moments at which the clocks of a zone show a time: none if the clocks skip it, two if they show it twice.
 * @param wallMs the time that the clocks show, as if it were UTC, in ms since 1970
 */
export function momentsOf(wallMs: number, zone: string): readonly number[] {
  const offset = createOffset(zone);
  const offsets = new Set<number>();
  for (let hours = -farthestHours; hours <= farthestHours; hours += 1)
    offsets.add(offset(wallMs + hours * hourMs));
  return [...offsets]
    .map((ms) => wallMs - ms)
    .filter((moment) => moment + offset(moment) === wallMs)
    .toSorted((a, b) => a - b);
}

/** The time that the clocks of a zone show at a moment, such as 2027-01-15 09:00. */
export function inZone(ms: number, zone: string): string {
  return new Date(ms + createOffset(zone)(ms)).toISOString().slice(0, 16).replace('T', ' ');
}
