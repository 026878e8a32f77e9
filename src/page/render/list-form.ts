/** The parts around the rows of a list: filters, the command, and the bar that decides about ticked rows. */
import { requestedPage, perList } from '../../model/waiting-page.ts';
import { isCopy } from './banner.ts';
import { commandBox } from './components.ts';
import { asSeen, deedWords, hidden, mayDecide, postForm, shownKey } from './decide.ts';
import { fieldName, isMine } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, href, toTeam } from './links.ts';
import { isOwn, rowsTable, type ListOnPage, verbsOf } from './list-rows.ts';
import { count } from './words.ts';

/** Links for each editor and each field, with the number of rows. */
export function listFilters({ list, context }: ListOnPage): Html {
  const group = (
    label: string,
    key: string,
    any: string,
    all: readonly (readonly [string, string, number])[],
  ) => {
    if (all.length < 2) return none;
    const current = context.query.get(key);
    const chip = (words: string, value: string | null, number: number) =>
      html`<a class="chip" href="${href(context, { [key]: value, ticks: null })}"${current === value ? html` aria-current="true"` : none}>${words} <span>${count(number)}</span></a>`;
    return html`<span class="label">${label}</span>${chip(any, null, list.rows)}${all.map((choice) => chip(...choice))}`;
  };
  const fields = list.fields.map(({ field, rows }) => [fieldName(field), field, rows] as const);
  const editors = list.editors.map(
    ({ editor, rows }) =>
      [isMine(context, editor) ? 'you' : (editor ?? 'nobody knows'), editor ?? '', rows] as const,
  );
  const inside = html`${group('Field', 'field', 'any', fields)}${group('Edited here by', 'by', 'anybody', editors)}`;
  return inside.toString() === ''
    ? none
    : html`<nav class="row chips filters" aria-label="Which rows">${inside}</nav>`;
}

/** The same decision as a command, which names the batch instead of the rows. */
function asCommand({ list, context, team }: ListOnPage): Html {
  const { batch } = list;
  const [row] = list.shown;
  const boxes =
    batch !== null
      ? ['approve', 'reject'].map((verb) =>
          commandBox(commandOf(context, team.team, `${verb} ${batch} --reason '…'`)),
        )
      : [
          commandBox(commandOf(context, team.team, 'held')),
          ...(row?.userId === null || row === undefined
            ? []
            : verbsOf(list).map((side) =>
                commandBox(
                  commandOf(
                    context,
                    team.team,
                    `resolve ${row.userId} ${row.field} --take ${side}${asSeen(context, row)}`,
                  ),
                ),
              )),
        ];
  const words =
    batch === null
      ? html`<p class="note">The list, and the first row of it; each row is one command.</p>`
      : none;
  return html`<details class="part fold"><summary>As a command</summary><div class="stack">${words}${boxes}</div></details>`;
}

/** The style sheet counts the ticks, so that it works without a script. */
const counter: Html = html`<span class="n"></span>`;

/** Stands in place of ticks if all are one's own edits, which can only be taken back. */
function allOwn({ list }: ListOnPage): Html {
  const { shown } = list;
  const isOne = shown.length === 1;
  const words = isOne ? 'It is your own edit.' : `All ${count(shown.length)} are your own edits.`;
  return html`<p class="part row note">${shown.map((row) => hidden('row', shownKey(row)))}<span>${words} Somebody else has to approve ${isOne ? 'it' : 'them'}.</span><button class="linked" name="verb" value="Withdraw">Withdraw ${isOne ? 'it' : 'them'}…</button></p>`;
}

function bar(standing: ListOnPage): Html {
  const { list, context, read } = standing;
  const own = list.shown.filter((row) => isOwn(standing, row)).length;
  const shownRows = list.shown.length;
  if (own === shownRows && shownRows > 0) return allOwn(standing);
  const state = read.isAlone ? {} : { state: list.batch === null ? list.state : null };
  const path = read.isAlone || list.batch === null ? context.path : `/waiting/${list.batch}`;
  const ticks = (which: string) =>
    href({ path, query: read.isAlone ? context.query : teamQuery(standing) }, { ...state, ticks: which });
  const verbs = verbsOf(list);
  const buttons = verbs.map(
    (verb, i) =>
      html`<button class="${verb === 'Approve' && i === verbs.length - 1 ? 'button main' : 'button'}" name="verb" value="${verb}">${deedWords(verb, counter)}…</button>`,
  );
  const words =
    own === 0
      ? 'Rows without a tick wait on.'
      : `${count(own)} ${own === 1 ? 'is' : 'are'} your own; rows without a tick wait on.`;
  const ticked = html`<span><b>${counter} of ${count(shownRows)}</b> ticked</span><a href="${ticks('all')}" data-ticks="all">All</a><a href="${ticks('none')}" data-ticks="none">None</a><span class="note">${words}</span>`;
  const news = html`<p class="note news" data-news hidden><span></span><a href="${href(context, {})}">Load again</a></p>`;
  return html`<div class="part row bar-below">${news}${ticked}<span class="push"></span><div class="row buttons">${buttons}</div></div>`;
}

const teamQuery = ({ context }: ListOnPage): URLSearchParams => {
  const team = context.query.get('team');
  return new URLSearchParams(team === null ? {} : { team });
};

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

/** The rows with their ticks, and the bar that decides about them. */
export function decidedBelow(standing: ListOnPage): Html {
  const { list, context, team, isDecided, read } = standing;
  const rows = rowsTable(standing);
  const command = isCopy(context) ? none : asCommand(standing);
  if (!isDecided || context.decide === null) return html`${rows}${command}${pagesOf(standing)}`;
  const path = list.batch === null ? '/waiting' : `/waiting/${list.batch}`;
  const back = read.isAlone ? href(context, { ticks: null, page: context.query.get('page') }) : '';
  const values = { team: team.team, state: list.state, rows: String(list.rows), back, ticks: 'on' };
  const inside = html`${rows}${command}${pagesOf(standing)}${bar(standing)}`;
  return postForm(context.decide, path, values, inside, html` class="list" data-still`);
}

/** Leads to all rows, because nobody decides about rows that are not on the page. */
export function lookAtAll({ list, context, team }: ListOnPage): Html {
  const link =
    list.batch === null
      ? toTeam(context, team.team, '/waiting', { state: list.state })
      : toTeam(context, team.team, `/waiting/${list.batch}`);
  const words = mayDecide(context, team.team) && !isCopy(context) ? ' and decide…' : '';
  return html`<div class="part row note"><a class="button" href="${link}">Look at all ${count(list.rows)}${words}</a><span>${count(list.shown.length)} of ${count(list.rows)} shown</span></div>`;
}
