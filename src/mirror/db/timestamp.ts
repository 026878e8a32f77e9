import type { UserDetails } from '../../model/user-plan.ts';

/** Matches a timestamp of ISO 8601 with an offset below 16 hours, which Postgres requires. */
const iso = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):?[0-5]\d)$/;

/** A faster pattern that nearly all timestamps match: in UTC, on a day that exists in every year and month. */
const plain =
  /^(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/**
 * A timestamp of the service in a form that Postgres accepts, or `null` if it is invalid: one odd value must
 * not fail a statement with thousands of rows. Its digits stay unchanged.
 */
export function asTimestamp(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  return plain.test(text) || isOddTimestamp(text) ? text : null;
}

function isOddTimestamp(text: string): boolean {
  const match = iso.exec(text);
  if (match === null) return false;
  const [, year, month, day] = match.map(Number);
  const date = new Date(Date.UTC(year ?? 0, (month ?? 1) - 1, day));
  const isDay = date.getUTCDate() === day && date.getUTCMonth() + 1 === month && (year ?? 0) > 0;
  return isDay && !Number.isNaN(Date.parse(text));
}

/** The columns of a user's times in rows that are staged. */
export const stagedTimes = (['created_at', 'updated_at', 'user_created_at', 'user_updated_at'] as const).map(
  (name) => [name, 'timestamptz'] as const,
);

/** The times of a user, in the order of their columns. */
export const timesOf = (user: Partial<Omit<UserDetails, 'raw'>> | null) => [
  asTimestamp(user?.createdAt),
  asTimestamp(user?.updatedAt),
  asTimestamp(user?.userCreatedAt),
  asTimestamp(user?.userUpdatedAt),
];
