/** Words for what waits for a person. */
import type { PageField, WaitingList } from '../read/page-waiting.ts';
import { type HeldReason, holdReasons, needDecision } from '../../model/edit-state.ts';
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

/** Whether that is the person who looks, by their own name or by a command in their name. */
export const isMine = ({ decide }: Pick<PageContext, 'decide'>, by: string | null): boolean =>
  decide !== null && by !== null && ` for ${by}`.toLowerCase().endsWith(` for ${decide.actor}`.toLowerCase());

export const byWhom = (context: Pick<PageContext, 'decide'>, by: string | null): Html =>
  isMine(context, by) ? html`you` : named(by ?? 'somebody');

/** `front_desk (63), you (37)` */
export const editorsIn = (context: PageContext, { editors }: Pick<WaitingList, 'editors'>): Html =>
  html`${editors.map(({ editor, rows }, i) => html`${i === 0 ? '' : ', '}<b>${editor === null ? 'nobody knows whom' : byWhom(context, editor)}</b>${editors.length === 1 ? '' : ` (${count(rows)})`}`)}`;

/** `100 phone numbers need a decision: changed on both sides` */
export const listTitle = (list: Pick<WaitingList, 'rows' | 'fields' | 'state'>): string =>
  `${rowsInWords(list)} ${needDecision(list.rows)}: ${holdReasons[list.state].words}`;

/** The words of a pill that links to it, or stands for it. */
export const heldWords = (reason: HeldReason): string => `held: ${holdReasons[reason].words}`;
