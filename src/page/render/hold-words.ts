/** Words for rows that wait for a person. */
import { editStates, holdReasons } from '../../model/edit-state.ts';
import type { UserStanding } from '../../model/standing.ts';
import type { WaitingList } from '../read/page-waiting.ts';
import { type Html, html } from './html.ts';
import { type IconShape, pill } from './pills.ts';
import type { PageContext } from './view.ts';
import { capital, count, listed, many, named, visible } from './words.ts';

const fields: Readonly<Record<string, readonly [string, string]>> = {
  name: ['name', 'names'],
  email: ['email address', 'email addresses'],
  phone: ['phone number', 'phone numbers'],
  role_id: ['role', 'roles'],
};

export const fieldName = (field: string): string =>
  field === 'role_id' ? 'role' : field.replaceAll('_', ' ');

/** `38 phone numbers and 22 email addresses`; `55 edits` if there are more than two fields. */
export function fieldsInWords(all: WaitingList['fields'], rows: number): string {
  const words = all.map(({ what, rows: of }) =>
    many(of, ...(fields[what] ?? (['field', 'fields'] as const))),
  );
  return all.length > 2 ? many(rows, 'edit') : listed(words);
}

/** Counts how many of these rows have each value that `what` returns. */
export const tallyOf = <Row, What>(rows: readonly Row[], what: (row: Row) => What) =>
  [...Map.groupBy(rows, what)].map(([one, of]) => ({ what: one, rows: of.length }));

/** The person's name, without the login that gave it (`, said by …`). */
const personOf = (by: string): string => by.replace(/, said by .*$/, '');

/** True if `by` names the viewer, directly or as the person for whom a command acted. */
export const isMine = ({ decide }: Pick<PageContext, 'decide'>, by: string | null): boolean =>
  decide !== null &&
  by !== null &&
  ` for ${personOf(by)}`.toLowerCase().endsWith(` for ${decide.actor}`.toLowerCase());

export const byWhom = (context: Pick<PageContext, 'decide'>, by: string | null): Html =>
  isMine(context, by) ? html`you` : named(personOf(by ?? 'nobody knows whom'));

/** `front_desk (63), you (37)` */
export const editorsIn = (context: PageContext, { editors }: Pick<WaitingList, 'editors'>): Html =>
  html`${editors.map(({ what, rows }, i) => html`${i === 0 ? '' : ', '}<b>${byWhom(context, what)}</b>${editors.length === 1 ? '' : ` (${count(rows)})`}`)}`;

/** `60 to be approved, 5 changed on both sides`. If there is only one reason, no number is shown. */
export const reasonsIn = ({ reasons }: Pick<WaitingList, 'reasons'>): string =>
  reasons
    .map(({ what, rows }) => `${reasons.length === 1 ? '' : `${count(rows)} `}${holdReasons[what].words}`)
    .join(', ');

/** `100 phone numbers: changed on both sides` */
export const listTitle = (list: Pick<WaitingList, 'rows' | 'fields' | 'reasons'>): string =>
  `${fieldsInWords(list.fields, list.rows)}: ${reasonsIn(list)}`;

/** The detail of a hold. If the page hides personal details, quoted values in it are replaced. */
export const shownDetail = ({ details }: Pick<PageContext, 'details'>, detail: string): string =>
  details ? detail : detail.replace(/".*"/s, 'a value that is not shown');

/** The most details to show above a list. If there are more, each detail is shown at its row. */
export const mostDetails = 3;
export const detailsAbove = (context: PageContext, { details }: Pick<WaitingList, 'details'>): Html =>
  html`${details.map(({ what }) => details.length <= mostDetails && what !== '' && html`${visible(capital(shownDetail(context, what)))}. `)}`;

/** The signs for the states of a user or a field. None is red, because only the view Waiting uses red. */
export const standingSigns: Readonly<Record<UserStanding, readonly [IconShape, string]>> = {
  waits: ['pause', capital(editStates.held)],
  moving: ['clock', capital(editStates.waiting)],
  unresolved: ['dashed', 'Unresolved'],
  rejected: ['pause', capital(editStates.rejected)],
  asked: ['clock', capital(holdReasons.asked.words)],
  equal: ['tick', 'Equal'],
  left: ['cross', 'Left'],
};

export const standingPill = (standing: UserStanding): Html =>
  pill(standingSigns[standing][0], standing === 'equal' ? 'ok' : 'dim', standingSigns[standing][1]);

export const fieldTitle = (field: string): string => capital(fieldName(field));
