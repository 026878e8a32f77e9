/** Words for what waits for a person. */
import type { PageField, WaitingList } from '../read/page-waiting.ts';
import type { HoldReason } from '../../model/user-plan.ts';
import { type Html, html } from './html.ts';
import type { PageContext } from './view.ts';
import { capital, count, listed, many, named } from './words.ts';

const fields: Readonly<Record<string, readonly [string, string]>> = {
  name: ['name', 'names'],
  email: ['email address', 'email addresses'],
  phone: ['phone number', 'phone numbers'],
  role_id: ['role', 'roles'],
};

/** The words for one of them, and for several. */
export const fieldWords = (field: string): readonly [string, string] => fields[field] ?? ['field', 'fields'];

export const fieldName = (field: string): string =>
  field === 'role_id' ? 'role' : field.replaceAll('_', ' ');

/** With a capital: `Phone`. */
export const fieldTitle = (field: string): string => capital(fieldName(field));

/** `38 phone numbers and 22 email addresses`; `55 edits` if there are more than two fields. */
export function rowsInWords({ rows, fields: all }: Pick<WaitingList, 'rows' | 'fields'>): string {
  if (all.length > 2) return many(rows, 'edit');
  return listed(all.map(({ field, rows: of }) => `${count(of)} ${fieldWords(field)[of === 1 ? 0 : 1]}`));
}

/** The number of rows of each field, for `rowsInWords`. */
export function fieldsOf(rows: readonly Pick<PageField, 'field'>[]): Pick<WaitingList, 'rows' | 'fields'> {
  const fields = [...Map.groupBy(rows, ({ field }) => field)].map(([field, rowsOfField]) => ({
    field,
    rows: rowsOfField.length,
  }));
  return { rows: rows.length, fields };
}

/** `waits for an approval` for one row, `wait` for many. */
export const waits = (rows: number, what: string): string => `${rows === 1 ? 'waits' : 'wait'} for ${what}`;

/** Whether that is the person who looks, by their own name or by a command in their name. */
export const isMine = ({ decide }: Pick<PageContext, 'decide'>, by: string | null): boolean =>
  decide !== null && by !== null && ` for ${by}`.toLowerCase().endsWith(` for ${decide.actor}`.toLowerCase());

export const byWhom = (context: Pick<PageContext, 'decide'>, by: string | null): Html =>
  isMine(context, by) ? html`you` : named(by ?? 'somebody');

/** `front_desk (63), you (37)` */
export const editorsIn = (context: PageContext, { editors }: Pick<WaitingList, 'editors'>): Html =>
  html`${editors.map(({ editor, rows }, i) => html`${i === 0 ? '' : ', '}<b>${editor === null ? 'nobody knows whom' : byWhom(context, editor)}</b>${editors.length === 1 ? '' : ` (${count(rows)})`}`)}`;

type State = WaitingList['state'];

/** The words behind the number in a title, for one and for several. */
const happened: Readonly<Record<State, readonly [string, string]>> = {
  approval: ['waits for an approval', 'wait for an approval'],
  conflict: ['was changed on both sides', 'were changed on both sides'],
  refused: ['was refused by the service', 'were refused by the service'],
  ineffective: ['was taken without effect by the service', 'were taken without effect by the service'],
  unsupported: ['cannot be sent', 'cannot be sent'],
  gone: ['is of somebody who has left', 'are of people who have left'],
  limit: ['is more than the limit lets pass', 'are more than the limit lets pass'],
  review: ['waits for an approval', 'wait for an approval'],
  asked: ['is held on request', 'are held on request'],
  rejected: ['was rejected', 'were rejected'],
};

/** `100 phone numbers were changed on both sides` */
export const listTitle = (list: Pick<WaitingList, 'rows' | 'fields' | 'state'>): string =>
  `${rowsInWords(list)} ${happened[list.state][list.rows === 1 ? 0 : 1]}`;

/** The words in a chip, and in a part of a sentence. */
export const stateName: Readonly<Record<State, string>> = {
  approval: 'for an approval',
  conflict: 'changed on both sides',
  refused: 'refused by the service',
  ineffective: 'without effect',
  unsupported: 'cannot be sent',
  gone: 'of people who have left',
  limit: 'more than the limit',
  review: 'for an approval',
  asked: 'held on request',
  rejected: 'rejected',
};

/** The words of a pill that links to it, or stands for it. */
export const heldWords = (reason: HoldReason): string => `held: ${stateName[reason]}`;

/** The meaning for one edit, and what follows. */
export const meaning: Readonly<Record<PageField['reason'], string>> = {
  conflict:
    'Each side has a value that the other has not seen, so neither is overwritten. It stays held until one of the two values changes or somebody decides.',
  refused: 'It is not sent again until one of the two values changes or somebody decides.',
  ineffective:
    'The service took it, and shows its own value still. It is not sent again until one of the two values changes or somebody decides.',
  unsupported:
    'The service has no way to take it. It stays held until the value changes or somebody decides.',
  gone: 'There is nobody to send it to.',
  limit:
    'It was not sent. It stays held until one of the two values changes, somebody decides or, outside of a batch, nothing limits it any more.',
  review: 'It was not sent. It waits until somebody approves or rejects it.',
  asked: 'It is left alone on both sides until then.',
  rejected: 'It stays in the mirror, and is not sent before somebody edits it again.',
};

/** The same for several. */
export const meaningOfMany: Readonly<Record<PageField['reason'], string>> = {
  conflict:
    'Each side has values that the other has not seen, so neither is overwritten. They stay held until one of the two values changes or somebody decides.',
  refused: 'None of them is sent again until one of the two values changes or somebody decides.',
  ineffective:
    'The service took them, and shows its own values still. None of them is sent again until one of the two values changes or somebody decides.',
  unsupported:
    'The service has no way to take them. They stay held until the value changes or somebody decides.',
  gone: 'There is nobody to send them to.',
  limit:
    'None of them was sent. They stay held until one of the two values changes, somebody decides or, outside of a batch, nothing limits them any more.',
  review: 'None of them was sent. They wait until somebody approves or rejects them.',
  asked: 'They are left alone on both sides until then.',
  rejected: 'They stay in the mirror, and are not sent before somebody edits them again.',
};
