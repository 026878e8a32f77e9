/** How a field's value is shown to a person. */
import type { NamePair } from './name.ts';

/** Two halves are told apart by a bar; no value is a dash, and so is an empty text. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'object') {
    const { first, last } = value as NamePair;
    return last === '' ? first : `${first} | ${last}`;
  }
  return String(value as string | number | bigint | boolean);
}

/** A moment in UTC, to the second. */
export function showTime(date: Date | null | undefined): string {
  return date === null || date === undefined ? '' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
