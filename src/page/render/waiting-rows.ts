/** The rows of a list, each an edit of one field, with a tick if it can be decided about, and the bar that decides. */
import { capital, at, count, visible } from './words.ts';
import { mostWhole, ownKey, perList, requestedPage } from '../../model/waiting-page.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import type { ListWithRows, PageField, PageWaiting } from '../read/page-waiting.ts';
import { person, type TableRow, table } from './components.ts';
import { isAccident, mayDecide, postForm, shownKey, verbs, verbsOf } from './decide-form.ts';
import { byWhom, fieldName, isMine, listTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { href, toTeam } from './links.ts';
import { headOfThree, knownAs, three } from './three-values.ts';
import { type PageContext, teamOf } from './view.ts';

/** A list together with what the page needs to show it. */
export interface ListOnPage {
  readonly read: PageWaiting;
  readonly list: ListWithRows;
  readonly context: PageContext;
  readonly team: SeenTeam;
  /** Whether rows have ticks, and a bar below them that decides about these. */
  readonly isDecided: boolean;
  /** Where the list has a page for itself. */
  readonly path: string;
}

export function listOnPage(read: PageWaiting, list: ListWithRows, context: PageContext): ListOnPage {
  const team = teamOf(context, list.teamId);
  const isDecided = (read.isAlone || list.rows <= mostWhole) && mayDecide(context);
  const [reason] = list.reasons;
  const path =
    list.batch === null
      ? toTeam(context, team.team, '/waiting', { state: reason?.what ?? null })
      : toTeam(context, team.team, `/waiting/${list.batch}`);
  return { read, list, context, team, isDecided, path };
}

/** At most this many reasons stand above a list; of more, each stands at its row. */
const mostDetails = 3;
export const detailsAbove = ({ details }: ListWithRows): readonly string[] =>
  details.length > mostDetails ? [] : details.map(({ what }) => what).filter((detail) => detail !== '');

const isOwn = ({ read }: ListOnPage, row: PageField): boolean => read.own.has(ownKey(row));

/** A batch is ticked at first, and what one statement or one import edited. No side of a conflict is taken. */
const isTickedAtFirst = ({ reasons, isOneEdit, batch }: ListWithRows): boolean =>
  reasons.every(({ what }) => what === 'review' || (what === 'limit' && (isOneEdit || batch !== null)));

/** Whether the address says that it is ticked: by `all`, `none`, or the rows that were ticked before. */
function isTicked(standing: ListOnPage, row: PageField): boolean {
  const ticks = standing.context.query.get('ticks');
  if (isOwn(standing, row)) return false;
  if (ticks === null) return isTickedAtFirst(standing.list);
  return ticks === 'all' || ticks.split(',').includes(shownKey(row));
}

/** Whether it was ticked, and is another edit or is compared with another value by now. */
function hasMoved({ context }: ListOnPage, row: PageField): boolean {
  const key = shownKey(row);
  const before = key.slice(0, key.lastIndexOf('.') + 1);
  const shownBefore = (context.query.get('ticks') ?? '').split(',');
  return !shownBefore.includes(key) && shownBefore.some((shown) => shown.startsWith(before));
}

function tickOf(standing: ListOnPage, row: PageField): Html {
  if (!standing.isDecided) return none;
  const state = isOwn(standing, row) ? html` disabled` : isTicked(standing, row) ? html` checked` : none;
  return html`<label><input type="checkbox" name="row" value="${shownKey(row)}"${state} aria-label="${`Decide about the ${fieldName(row.field)} of ${row.userId}`}"></label>`;
}

/** The note below the values of a row: whose it is, what happened meanwhile, and its own reason. */
function noteOf(standing: ListOnPage, row: PageField): Html {
  const { isDecided, list } = standing;
  const detail = row.reason === 'refused' || detailsAbove(list).length === 0 ? capital(row.detail) : '';
  const parts = [
    ...(isDecided && isOwn(standing, row)
      ? [
          html`Your own edit: somebody else has to approve it. <button class="linked" name="withdraw" value="${shownKey(row)}">Withdraw it</button>`,
        ]
      : []),
    ...(hasMoved(standing, row)
      ? [html`<b>It was edited, or has moved on the service, while you looked.</b>`]
      : []),
    ...(detail === '' ? [] : [html`${visible(detail)}.`]),
    ...(row.requestId === null ? [] : [html`X-Request-Id <code>${row.requestId}</code>.`]),
    ...(row.overtaken === null
      ? []
      : [
          html`Edited again after ${byWhom(standing.context, row.overtaken)} had approved it, and before it was sent.`,
        ]),
  ];
  return parts.length === 0 ? none : html`${parts.map((part) => html`${part} `)}`;
}

function rowsOf(standing: ListOnPage): readonly TableRow[] {
  const { list, context } = standing;
  return list.shown.flatMap((row): readonly TableRow[] => {
    const { userId, field, editedAt, editedBy } = row;
    const known = (value: unknown) => knownAs(context, row, value);
    const values = { field, base: known(row.base), mirror: known(row.mirror), service: known(row.service) };
    const editor = list.editors.length > 1 && editedBy !== null ? html`${byWhom(context, editedBy)} ` : none;
    const cells = [
      tickOf(standing, row),
      person(context, list.teamId, { id: userId, name: row.name, withId: true }),
      ...(list.fields.length > 1 ? [html`${fieldName(field)}`] : []),
      ...three(context, values),
      html`${editor}${editedAt === null ? none : at(editedAt, context.now)}`,
    ];
    const note = noteOf(standing, row);
    return [{ cells, id: `c-${userId}-${field}` }, ...(note === none ? [] : [{ details: note }])];
  });
}

function rowsTable(standing: ListOnPage): Html {
  const { read, list, context } = standing;
  const [base, mirror, service] = headOfThree;
  const by = (sort: string) => (read.isAlone ? { sort } : {});
  return table(context, {
    caption: listTitle(list),
    kind: 'rows',
    sort: 'edited',
    columns: [
      { label: '' },
      { label: 'Person', ...by('person') },
      ...(list.fields.length > 1 ? [{ label: 'Field', ...by('field') }] : []),
      { label: base, short: 'Last agreed' },
      { label: html`<span aria-hidden="true">→ </span>${mirror}`, short: 'Mirror' },
      { label: service, short: 'Service' },
      { label: 'Edited', ...by('edited') },
    ],
    rows: rowsOf(standing),
  });
}

/** Links for each editor and each field, with the number of rows. */
export function listFilters({ list, context }: ListOnPage): Html {
  const group = (
    label: string,
    key: string,
    all: ListWithRows['editors'],
    words: (what: string | null) => string,
  ) => {
    if (all.length < 2) return none;
    const chip = (what: string | null, value: string | null, rows: number) =>
      html`<a class="chip" href="${href(context, { [key]: value, ticks: null })}"${context.query.get(key) === value ? html` aria-current="true"` : none}>${value === null ? 'any' : words(what)} <span>${count(rows)}</span></a>`;
    return html`<span class="label">${label}</span>${chip(null, null, list.rows)}${all.map(({ what, rows }) => chip(what, what ?? '', rows))}`;
  };
  const who = (what: string | null) => (isMine(context, what) ? 'you' : (what ?? 'nobody knows'));
  const inside = html`${group('Field', 'field', list.fields, (what) => fieldName(what ?? ''))}${group('Edited here by', 'by', list.editors, who)}`;
  return inside.toString() === ''
    ? none
    : html`<nav class="row chips" aria-label="Which rows">${inside}</nav>`;
}

/** The style sheet counts the ticks, so that it works without a script. */
const counter: Html = html`<span class="n"></span>`;

/** Stands in place of ticks if all are one's own edits, which can only be taken back. */
const allOwn = ({ list }: ListOnPage): Html =>
  html`<p class="part row note"><span>Your own edits alone: somebody else has to approve them.</span>${list.shown.map((row) => html`<input type="hidden" name="row" value="${shownKey(row)}">`)}<button class="linked" name="verb" value="withdraw">Withdraw all ${count(list.shown.length)}…</button></p>`;

function bar(standing: ListOnPage): Html {
  const { list, context, read, path } = standing;
  const { length } = list.shown;
  const own = list.shown.filter((row) => isOwn(standing, row)).length;
  if (own === length && length > 0) return allOwn(standing);
  const [where = '', search] = path.split('?');
  const here = read.isAlone ? context : { path: where, query: new URLSearchParams(search) };
  const ticks = (which: string) =>
    href(here, { ticks: which, page: read.isAlone ? context.query.get('page') : null });
  const main = isAccident(list) ? 'putBack' : 'approve';
  const buttons = verbsOf(list).map(
    (verb) =>
      html`<button class="${verb === main ? 'button main' : 'button'}" name="verb" value="${verb}">${verbs[verb]} ${counter}…</button>`,
  );
  const words = `${own === 0 ? '' : `${count(own)} your own. `}Rows without a tick wait on.`;
  return html`<div class="part row bar-below"><span><b>${counter} of ${count(length)}</b> ticked</span><a href="${ticks('all')}" data-ticks="all">All</a><a href="${ticks('none')}" data-ticks="none">None</a><span class="note">${words}</span><span class="push"></span><div class="row buttons">${buttons}</div></div>`;
}

/** Further pages of a list that is longer than one. */
function pagesOf({ list, context, read }: ListOnPage): Html {
  const page = requestedPage(context.query);
  const last = Math.ceil(list.found / perList);
  if (!read.isAlone || last < 2) return none;
  const link = (to: number, words: string) =>
    to < 1 || to > last
      ? none
      : html`<a href="${href(context, { page: String(to), ticks: null })}">${words}</a>`;
  return html`<div class="part row note"><span>Page ${page} of ${last}; a decision is about this page</span><span class="push"></span>${link(page - 1, 'Back')}${link(page + 1, 'Next')}</div>`;
}

/** The rows, and if somebody may decide, their ticks and the bar that decides about them; a few of a long list lead to all of it. */
export function listBody(standing: ListOnPage): Html {
  const { list, context, team, isDecided, read, path } = standing;
  const rows = html`${rowsTable(standing)}${pagesOf(standing)}`;
  if (isDecided) {
    const values = {
      team: team.team,
      batch: list.batch ?? '',
      rows: String(list.rows),
      ticks: 'on',
    };
    return postForm(
      context,
      values,
      html`${rows}${bar(standing)}`,
      html` class="list" id="of-${list.batch ?? list.reasons[0]?.what}" data-still`,
    );
  }
  if (read.isAlone || list.shown.length === list.rows) return rows;
  const words = mayDecide(context) ? ' and decide…' : '';
  return html`${rows}<div class="part row note"><a class="button" href="${path}">Look at all ${count(list.rows)}${words}</a><span>${count(list.shown.length)} of ${count(list.rows)} shown</span></div>`;
}
