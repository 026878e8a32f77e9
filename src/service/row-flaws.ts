/** Decides if a row can be accepted: it must have an id, and all of its values must be storable. */
import { type Id, maxId } from '../model/id.ts';
import { isTooLong, longestText } from '../model/longest-text.ts';
import { isObject, type JsonObject } from './json-object.ts';

const maxDepth = 32;

/** Returns the value of a field in the documented type, or `null` if the value has another type. */
export type TakeAs<T> = (value: unknown) => T | null;

/** Reads a number that is exactly an integer of 64 bits. */
export const takeExact: TakeAs<bigint> = (value) => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null;
  return typeof value === 'bigint' && value <= maxId && value >= -maxId - 1n ? value : null;
};

const integerText = /^(?:0|-?[1-9]\d{0,18})$/;

/** Reads a 64-bit integer, which can also be a text of digits. */
export const takeInteger: TakeAs<bigint> = (value) =>
  takeExact(typeof value === 'string' && integerText.test(value) ? BigInt(value) : value);

/**
 * "All IDs are integers" (interface.md, Resources): exact, from 1 to the largest that can be stored. Texts are not
 * accepted as ids.
 */
export const takeId: TakeAs<Id> = (value) => {
  const id = takeExact(value);
  return id !== null && id > 0n ? id : null;
};

/** The largest number to accept: far below the largest number of Postgres, and far above any real count. */
const largestNumber = 1e300;

function findNumberFlaw(value: number | bigint): string | null {
  if (typeof value === 'bigint') return null;
  const size = Math.abs(value);
  const fits = size === 0 || (size <= largestNumber && size >= 1 / largestNumber);
  return fits ? null : 'a number is beyond 1e300 or below 1e-300';
}

function findTextFlaw(text: string, suspicious: boolean): string | null {
  if (isTooLong(text)) return `a text is longer than ${longestText} characters`;
  if (!suspicious) return null;
  if (text.includes('\0')) return 'a text holds a NUL';
  return text.isWellFormed() ? null : 'a text holds half a surrogate pair';
}

/**
 * The reason why a value cannot be stored, or `null`.
 * @param suspicious true if strings must be checked for a NUL or a lone surrogate
 */
export function findFlaw(value: unknown, suspicious: boolean, depth = 0): string | null {
  if (typeof value === 'string') return findTextFlaw(value, suspicious);
  if (typeof value === 'number' || typeof value === 'bigint') return findNumberFlaw(value);
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= maxDepth) return `values are nested deeper than ${maxDepth} levels`;
  for (const key in value) {
    const inner: unknown = (value as JsonObject)[key];
    const flaw =
      (suspicious ? findTextFlaw(key, true) : null) ??
      (typeof inner === 'string' ? findTextFlaw(inner, suspicious) : findFlaw(inner, suspicious, depth + 1));
    if (flaw !== null) return flaw;
  }
  return null;
}

/** The id of a row, and the reason why the row cannot be accepted, if there is one. */
interface RowHead {
  readonly id: Id | null;
  readonly flaw: string | null;
}

/** @param suspicious as in {@link findFlaw} */
export function judgeRow(row: unknown, suspicious: boolean): RowHead {
  const id = isObject(row) ? takeId(row['id']) : null;
  return {
    id,
    flaw: id === null ? 'its id is not an integer from 1 to 2^63 - 1' : findFlaw(row, suspicious),
  };
}

const suspiciousEscape = /\\u(?:0000|[dD][89a-fA-F])/;

/** True if a string in this JSON may contain a NUL or a lone surrogate. Otherwise no string needs a check. */
export function isSuspicious(text: string): boolean {
  return text.includes('\\u') && suspiciousEscape.test(text);
}
