/** Postgres takes offsets below 16 hours. */
const iso = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):?[0-5]\d)$/;

/**
 * A timestamp of the service as Postgres reads it, or `null` if it is none: one odd value in one row must
 * not fail a statement of thousands. Its digits stay as they are.
 */
export function asTimestamp(text: string | null | undefined): string | null {
  const match = iso.exec(text ?? '');
  if (match === null || text === null || text === undefined) return null;
  const [, year, month, day] = match.map(Number);
  const date = new Date(Date.UTC(year ?? 0, (month ?? 1) - 1, day));
  const isDay = date.getUTCDate() === day && date.getUTCMonth() + 1 === month && (year ?? 0) > 0;
  return isDay && !Number.isNaN(Date.parse(text)) ? text : null;
}
