/** Shows the value of a field to a person. */
import type { NamePair } from './name.ts';
import { toJson } from './json.ts';

/** A bar separates the two halves of a name. A dash stands for no value and for an empty text. Other objects are shown as JSON. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'object') {
    if (!('first' in value)) return toJson(value);
    const { first, last } = value as NamePair;
    return last === '' ? first : `${first} | ${last}`;
  }
  return String(value as string | number | bigint | boolean);
}
