/** What waits for a person, in words. */
import type { PageBatch, PageField } from '../mirror/page-waiting.ts';
import { count, many } from './words.ts';

const fields: Readonly<Record<string, readonly [string, string]>> = {
  name: ['name', 'names'],
  email: ['email address', 'email addresses'],
  phone: ['phone number', 'phone numbers'],
  role_id: ['role', 'roles'],
};

export const fieldName = (field: string): string => (field === 'role_id' ? 'role' : field);

/** With a capital: `Phone`. */
export const fieldTitle = (field: string): string => {
  const name = fieldName(field);
  return name.charAt(0).toUpperCase() + name.slice(1);
};

/** `55 phone numbers`; of several fields, `55 edits`. */
export function rowsInWords({ rows, fields: columns }: Pick<PageBatch, 'rows' | 'fields'>): string {
  const [only, ...others] = columns;
  const words = others.length === 0 ? fields[only ?? ''] : undefined;
  return words === undefined ? many(rows, 'edit') : `${count(rows)} ${words[rows === 1 ? 0 : 1]}`;
}

/** `waits for an approval` of one, `wait` of many. */
export const waits = (rows: number, what: string): string => `${rows === 1 ? 'waits' : 'wait'} for ${what}`;

/** What stands behind the name in a title: `changed on both sides`. */
export const why: Readonly<Record<PageField['reason'], string>> = {
  conflict: 'changed on both sides',
  refused: 'refused by the service',
  ineffective: 'taken without effect by the service',
  unsupported: 'cannot be sent',
  gone: 'the person has left',
  limit: 'more than the guard lets pass',
  review: 'waits for an approval',
  asked: 'held on request',
  rejected: 'rejected',
};

/** What it means, and what follows. */
export const meaning: Readonly<Record<PageField['reason'], string>> = {
  conflict:
    'Each side has a value that the other has not seen, so neither is overwritten. It stays held until one of the two values changes or somebody decides.',
  refused: 'It is not sent again until one of the two values changes or somebody decides.',
  ineffective:
    'The service took it, and shows its own value still. It is not sent again until one of the two values changes or somebody decides.',
  unsupported:
    'The service has no way to take it. It stays held until the value changes or somebody decides.',
  gone: 'There is nobody to send it to.',
  limit: 'It was not sent. It stays held until one of the two values changes or somebody decides.',
  review: 'It was not sent. It waits until somebody approves or rejects it.',
  asked: 'It is left alone on both sides until then.',
  rejected: 'It stays in the mirror, and is not sent before somebody edits it again.',
};
