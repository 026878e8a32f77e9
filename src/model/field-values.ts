/** Shows the value of a field to a person. */
import type { NamePair } from './name.ts';
import { wantedInWords } from './requests.ts';

/** A bar separates the two halves of a name; a request is told in short. A dash stands for no value and for an empty text. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'object') {
    const request = wantedInWords(value);
    if (request !== undefined) return request;
    const { first, last } = value as NamePair;
    return last === '' ? first : `${first} | ${last}`;
  }
  return String(value as string | number | bigint | boolean);
}

/** A moment in UTC, to the second. */
export function showTime(date: Date | null | undefined): string {
  return date === null || date === undefined ? '' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
