/** The rows of a waiting list: an edited field each, with a checkbox if the viewer may decide; and the bar of buttons. */
import { sql } from 'kysely';
import { mostWhole, ownKey, perList } from '../../model/waiting-page.ts';
import { heldRowsOf, type FieldOnHold, type WaitingList } from '../read/page-waiting.ts';
import { person, personHint } from '../render/components.ts';
import { isAccident, mayDecide, postForm, shownKey, verbs, verbsOf } from '../render/decide-form.ts';
import { byWhom, fieldName, listTitle, mostDetails, shownDetail } from '../render/hold-words.ts';
import { type Html, html, none } from '../render/html.ts';
import { href, waitingPath } from '../render/links.ts';
import { headOfThree, isShown, textOf, version } from '../render/three-values.ts';
import { type PageContext, teamOf } from '../render/view.ts';
import { at, capital, count, visible } from '../render/words.ts';
import { listFilters, pagesOf, type Rows, type RowsRead, rowsTable } from './list.ts';

interface ShownList extends WaitingList {
  /** True if the page shows only this list. */
  readonly isAlone: boolean;
  /** The `ownKey` of each of the viewer's own edits, in teams in which another person has to approve them. */
  readonly own: ReadonlySet<string>;
}

/** A list with its rows: all rows if it is short, a few if it is long, one page if the view shows only this list. */
export interface ListOnPage extends ShownList {
  readonly page: RowsRead<FieldOnHold>;
}

const isOwn = ({ own }: ShownList, row: FieldOnHold): boolean => own.has(ownKey(row));

const isDecided = ({ isAlone, rows }: ShownList, context: PageContext): boolean =>
  (isAlone || rows <= mostWhole) && mayDecide(context);

/** True if all rows are ticked at first: edits to review, and a batch or one transaction that exceeds a limit. */
const isTickedAtFirst = ({ reasons, isOneEdit, batch }: WaitingList): boolean =>
  reasons.every(({ what }) => what === 'review' || (what === 'limit' && (isOneEdit || batch !== null)));

/** True if the row is ticked. `?ticks=` contains `all`, `none`, or the keys of the rows that were ticked before. */
function isTicked(list: ShownList, row: FieldOnHold, { query }: PageContext): boolean {
  const ticks = query.get('ticks');
  if (ticks === null) return isTickedAtFirst(list);
  return ticks === 'all' || ticks.split(',').includes(shownKey(row));
}

function tickOf(list: ShownList, row: FieldOnHold, context: PageContext): Html {
  if (!isDecided(list, context)) return none;
  const state = isOwn(list, row) ? ' disabled' : isTicked(list, row, context) ? ' checked' : '';
  return html`<label><input type="checkbox" name="row" value="${shownKey(row)}"${state} aria-label="${`Decide about the ${fieldName(row.field)} of ${row.userId}`}"></label>`;
}

/** The note below a row: that it is the viewer's own edit, and why it is held. */
function noteOf(list: ShownList, row: FieldOnHold, context: PageContext): Html {
  const detail = row.reason === 'refused' || list.details.length > mostDetails ? row.detail : '';
  const isMine = isDecided(list, context) && isOwn(list, row);
  const parts = [
    isMine &&
      html`Your own edit: somebody else has to approve it. <button class="linked" name="withdraw" value="${shownKey(row)}">Withdraw it</button> `,
    detail !== '' && html`${visible(capital(shownDetail(context, detail)))}. `,
    row.requestId !== null && html`X-Request-Id <code>${row.requestId}</code>. `,
  ].filter((part) => part !== false);
  return parts.length === 0 ? none : html`${parts}`;
}

/** The columns of the list. If the page shows only this list, the viewer can search, filter and sort it. */
export function heldRows(list: ShownList): Rows<FieldOnHold> {
  const [base, mirror, service] = headOfThree;
  const { isAlone, editors, fields } = list;
  const choice = (any: string, all: WaitingList['editors'], words: (what: string) => string) => ({
    any,
    from: () =>
      Promise.resolve(
        all.flatMap(({ what, rows }) =>
          what === null ? [] : [{ value: what, label: `${words(what)} (${count(rows)})` }],
        ),
      ),
  });
  return {
    title: listTitle(list),
    from: (_, searched) => heldRowsOf(list, searched),
    order: 'edited',
    // Edits with the same time are sorted by name.
    last: () => [sql`r."editedAt"`, sql`lower(r.name)`, sql`r."userId"`, sql`r.field`],
    perPage: isAlone ? perList : list.rows > mostWhole ? fewShown : mostWhole,
    hint: personHint,
    choices: {
      field: choice('Every field', fields, fieldName),
      editedBy: choice('Edited by anybody', editors, (what) => what),
    },
    ticked: (row, context) => ({ id: `c-${row.userId}-${row.field}`, note: noteOf(list, row, context) }),
    columns: [
      { label: '', cell: (row, context) => tickOf(list, row, context) },
      {
        label: 'Person',
        ...(isAlone && { sort: ['person', sql`lower(r.name)`] }),
        cell: ({ teamId, userId: id, name }, context) => person(context, teamId, { id, name }, true),
      },
      {
        label: 'Field',
        if: () => fields.length > 1,
        ...(isAlone && { sort: ['field', sql`r.field`] }),
        cell: ({ field }) => fieldName(field),
      },
      { label: base, cell: (row, context) => version(context, row, 'base') },
      {
        label: html`<span aria-hidden="true">→ </span>${mirror}`,
        cell: (row, context) => version(context, row, 'mirror'),
      },
      { label: service, cell: (row, context) => version(context, row, 'service') },
      {
        label: 'Edited',
        ...(isAlone && { sort: ['edited', sql`r."editedAt"`] }),
        cell: ({ editedAt, editedBy }, context) =>
          html`${editors.length > 1 && editedBy !== null && html`${byWhom(context, editedBy)} `}${editedAt !== null && at(editedAt, context.now)}`,
      },
    ],
    csv: heldCsv,
  };
}

const fewShown = 4;

export const heldCsv: Rows<FieldOnHold>['csv'] = (context) => {
  const shownValue = ({ field }: FieldOnHold, value: unknown) =>
    isShown(context, field) ? textOf(value) : value === null ? null : 'not shown';
  return {
    team: (row) => teamOf(context, row.teamId).team,
    user_id: (row) => row.userId,
    ...(context.details && { name: (row: FieldOnHold) => row.name }),
    field: (row) => row.field,
    state: () => 'held',
    reason: (row) => row.reason,
    detail: (row) => shownDetail(context, row.detail),
    last_agreed: (row) => shownValue(row, row.base),
    mirror: (row) => shownValue(row, row.mirror),
    service: (row) => shownValue(row, row.service),
    since: (row) => row.since,
    edited_by: (row) => row.editedBy,
    batch: (row) => row.batch,
    request_id: (row) => row.requestId,
  };
};

/** The style sheet counts the ticks, so that the counter works without a script. */
const counter: Html = html`<span class="n"></span>`;

/** Replaces the bar of buttons if all rows are the viewer's own edits. The viewer can only withdraw these. */
const allOwn = (rows: readonly FieldOnHold[]): Html =>
  html`<p class="part row note"><span>Your own edits alone: somebody else has to approve them.</span>${rows.map((row) => html`<input type="hidden" name="row" value="${shownKey(row)}">`)}<button class="linked" name="verb" value="withdraw">Withdraw all ${count(rows.length)}…</button></p>`;

function bar(list: ListOnPage, context: PageContext): Html {
  const { rows } = list.page;
  const own = rows.filter((row) => isOwn(list, row)).length;
  if (own === rows.length && own > 0) return allOwn(rows);
  const [path = '', search] = waitingPath(context, list).split('?');
  const here = list.isAlone ? context : { path, query: new URLSearchParams(search) };
  const ticks = (which: string) => href(here, { ticks: which, page: here.query.get('page') });
  const main = isAccident(list) ? 'putBack' : 'approve';
  const buttons = verbsOf(list).map(
    (verb) =>
      html`<button class="${verb === main ? 'button main' : 'button'}" name="verb" value="${verb}">${verbs[verb]} ${counter}…</button>`,
  );
  const more = rows.length < list.page.found ? 'A decision is about this page. ' : '';
  const words = `${own === 0 ? '' : `${count(own)} your own. `}${more}Rows without a tick wait on.`;
  return html`<div class="part row bar-below"><span><b>${counter} of ${count(rows.length)}</b> ticked</span><a href="${ticks('all')}" data-ticks="all">All</a><a href="${ticks('none')}" data-ticks="none">None</a><span class="note">${words}</span><span class="push"></span><div class="row buttons">${buttons}</div></div>`;
}

/** The rows, with ticks and the bar of decisions if the viewer can decide. A shortened list links to the whole list. */
export function listBody(list: ListOnPage, context: PageContext): Html {
  const { isAlone, batch, page, rows } = list;
  const held = heldRows(list);
  const table = rowsTable(held, page, context, isAlone ? pagesOf(held, page, context) : none);
  const filters = isAlone && html`<div class="part">${listFilters(held, page, context)}</div>`;
  if (isDecided(list, context)) {
    const { team } = teamOf(context, list.teamId);
    const values = { team, batch: batch ?? '', rows: String(rows), ticks: 'on' };
    const attributes = html` class="list" id="of-${batch ?? list.reasons[0]?.what}" data-still`;
    return html`${filters}${postForm(context, values, html`${table}${bar(list, context)}`, attributes)}`;
  }
  if (isAlone || page.rows.length === rows) return html`${filters}${table}`;
  const words = mayDecide(context) ? ' and decide…' : '';
  return html`${table}<div class="part row note"><a class="button" href="${waitingPath(context, list)}">Look at all ${count(rows)}${words}</a><span>${count(page.rows.length)} of ${count(rows)} shown</span></div>`;
}
