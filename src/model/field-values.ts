/** Shows the value of a field to a person. */
import type { NamePair } from './name.ts';
import { toJson } from './json.ts';

/** A bar separates the halves of a name. A dash means no value or an empty text. Objects other than names are JSON. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'object') {
    if (!('first' in value)) return toJson(value);
    const { first, last } = value as NamePair;
    return last === '' ? first : `${first} | ${last}`;
  }
  return String(value as string | number | bigint | boolean);
}
