/** The parts that views are made of. */
import type { Id } from '../../model/id.ts';
import { exportNameOf, inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import { type Html, html, none } from './html.ts';
import { href, to } from './links.ts';
import { type IconShape, icon, type Tone } from './pills.ts';
import { type PageContext, teamOf } from './view.ts';
import { capital, count, named } from './words.ts';

export interface Column {
  readonly label: string | Html;
  readonly sort?: string;
  readonly isNumber?: boolean;
}

export type TableRow =
  | { readonly cells: readonly (string | Html)[]; readonly id?: string }
  | { readonly band: string | Html }
  | { readonly details: Html };

export interface Table {
  readonly caption: string;
  /** `rows`: low rows, with a tick in the first column and a head that stays visible. `few`: stays a table on phones. */
  readonly kind?: 'rows' | 'few';
  readonly columns: readonly (Column | string)[];
  readonly rows: readonly TableRow[];
  readonly foot?: Html | false;
  /** The default of `?sort=`, such as `-when`. */
  readonly sort?: string;
}

function headCell(context: PageContext, { label, sort, isNumber }: Column, sorted: string): Html {
  const kind = isNumber === true ? 'number' : '';
  if (label === '') return html`<td role="cell"></td>`;
  if (sort === undefined) return html`<th role="columnheader" scope="col" class="${kind}">${label}</th>`;
  const isCurrent = sorted.replace(/^-/, '') === sort;
  const isDown = isCurrent && sorted.startsWith('-');
  const link = href(context, { sort: isCurrent && !isDown ? `-${sort}` : sort });
  const order = isDown ? 'descending' : 'ascending';
  return isCurrent
    ? html`<th role="columnheader" scope="col" class="${kind}" aria-sort="${order}"><a href="${link}">${label}<span aria-hidden="true"> ${isDown ? '↓' : '↑'}</span></a></th>`
    : html`<th role="columnheader" scope="col" class="${kind}"><a href="${link}">${label}</a></th>`;
}

function bodyRow(columns: readonly Column[], row: TableRow, hasTicks: boolean): Html {
  const width = String(columns.length);
  if ('band' in row)
    return html`<tr role="row" class="band"><td role="cell" class="note" colspan="${width}">${row.band}</td></tr>`;
  if ('details' in row)
    return html`<tr role="row" class="under"><td role="cell"></td><td role="cell" colspan="${String(columns.length - 1)}" class="note">${row.details}</td></tr>`;
  const cells = row.cells.map((cell, i) => {
    const { label = '', isNumber } = columns[i] ?? {};
    const kind = isNumber === true ? 'number' : '';
    // On phones, the label of its column is shown before each cell, as plain text.
    const words = label
      .toString()
      .replaceAll(/<[^>]+>/g, '')
      .trim();
    if (hasTicks && i === 0) return html`<td role="cell" class="tick">${cell}</td>`;
    return i === (hasTicks ? 1 : 0)
      ? html`<th role="rowheader" scope="row" class="${kind}">${cell}</th>`
      : html`<td role="cell" class="${kind}" data-label="${words}"><div>${cell}</div></td>`;
  });
  return html`<tr role="row" class=""${row.id === undefined ? none : html` id="${row.id}"`}>${cells}</tr>`;
}

/** A card with a table in it. On phones each row becomes a card; the ARIA roles still make it a table row. */
export function table(
  context: PageContext,
  { caption, kind, columns: given, rows, foot = none, sort = '' }: Table,
): Html {
  const columns = given.map((column) => (typeof column === 'string' ? { label: column } : column));
  const sorted = context.query.get('sort') ?? sort;
  return html`<div class="card flush"><div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table role="table"${kind === undefined ? none : html` class="${kind}"`}>
<caption class="away">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => headCell(context, column, sorted))}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => bodyRow(columns, row, kind === 'rows'))}</tbody>
</table></div>${foot !== none && foot !== false && html`<div class="part row note">${foot}</div>`}</div>`;
}

export interface Chip {
  readonly label: string;
  readonly count?: number | bigint;
  readonly href: string;
  readonly isCurrent: boolean;
}

export const chips = (label: string, all: readonly Chip[], more: Html = none): Html =>
  html`<nav class="row chips" aria-label="${label}">${all.map(
    (choice) =>
      html`<a class="chip" href="${choice.href}"${choice.isCurrent ? html` aria-current="true"` : none}>${choice.label}${choice.count === undefined ? none : html` <span>${count(choice.count)}</span>`}</a>`,
  )}<span class="push"></span>${more}</nav>`;

/** A form that changes the filters of a view. It keeps the query parameters whose names are in `kept`. */
export function filterForm(
  { path, query }: Pick<PageContext, 'path' | 'query'>,
  {
    kept,
    inside,
    button,
    more = none,
  }: { kept: readonly string[]; inside: Html; button: string; more?: Html },
): Html {
  const hidden = kept.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [html`<input type="hidden" name="${name}" value="${value}">`];
  });
  return html`<form class="row form" method="get" action="${path}" role="search">${hidden}${inside}<button class="button" type="submit">${button}</button>${more}</form>`;
}

export const toListings = (context: PageContext): Html =>
  html`${listedResources.map((resource) => html`<a href="${to(context, `/${exportNameOf(resource)}`)}">${capital(inPlural(resource))}</a> `)}`;

export const searchField = (hint: string, q: string): Html =>
  html`<label><span class="away">${hint}</span><input class="long" type="search" name="q" value="${q}" maxlength="200" placeholder="${hint}"></label>`;

export const personHint = (details: boolean): string => (details ? 'Name, email, phone or id' : 'Id');

export const csvChip = (link: string, words = 'CSV'): Html =>
  html`<a class="chip" href="${link}" download>${words}</a>`;

/** A box with a command. One click selects the whole command, without the `$`. */
export const commandBox = (command: string): Html =>
  html`<div class="command"><pre tabindex="0" role="group" aria-label="Command"><span class="prompt" aria-hidden="true">$ </span><code>${command}</code></pre></div>`;

export interface Task {
  /** The anchor of this task. Alarms link to it. */
  readonly id: string;
  readonly title: Html;
  readonly text: Html;
  readonly ways: readonly { readonly label: Html; readonly command?: string }[];
}

/** The tasks that a person must do, each with its first step. @param foot says why the viewer cannot decide */
export const taskList = (all: readonly Task[], foot: Html): Html =>
  html`<section class="card flush todo" aria-label="To do">${all.map(
    (task) =>
      html`<div class="part thing" id="${task.id}"><div><h2 class="h3">${task.title}</h2><p class="dim">${task.text}</p></div><div>${task.ways.map(
        ({ label, command }) =>
          html`<p class="label">${label}</p>${command === undefined ? none : commandBox(command)}`,
      )}</div></div>`,
  )}${foot === none ? none : html`<div class="part">${foot}</div>`}</section>`;

/** A card for an empty view: nothing yet (dashed) or nothing wrong (tick), with a sentence and the next step. */
export const empty = (shape: IconShape, title: string, text: string | Html, more: Html = none): Html =>
  html`<div class="card stack empty">${icon(shape, shape === 'tick' ? 'ok' : 'dim', 28)}<h2 class="h3">${title}</h2><p class="dim">${text}</p>${more}</div>`;

export const heading = (title: Html | string, text: Html | string, before: Html | false = false): Html =>
  html`<header class="heading">${before}<h1>${title}</h1><p class="dim lead">${text}</p></header>`;

/** The headline of the first view. When musterd stops answering, its sign for "all is well" disappears. */
export const verdict = (
  [shape, tone]: readonly [IconShape, Tone],
  title: string,
  text: Html | string,
): Html =>
  html`<header class="heading verdict">${tone === 'ok' ? html`<span data-now>${icon(shape, tone, 30)}</span><span data-late hidden>${icon('dashed', 'dim', 30)}</span>` : icon(shape, tone, 30)}<div><h1>${title}</h1><p class="dim lead">${text}</p></div></header>`;

export const section = (
  title: string,
  inner: Html,
  { note = none, more = none }: { readonly note?: Html; readonly more?: Html } = {},
): Html =>
  html`<section><div class="row over"><h2>${title}</h2><p class="note">${note}</p><span class="push"></span>${more}</div>${inner}</section>`;

/** The team's name on the service. It is empty if the settings have the same name. */
export const serviceName = ({ team, name }: SeenTeam): string => (name === team ? '' : (name ?? ''));

/** The team's cell in a table of several teams: its name in the settings, with its name on the service below. */
export const teamCells = (context: PageContext, teamId: Id | null): readonly Html[] => {
  const team = teamOf(context, teamId);
  const below = serviceName(team) !== '' && html`<span class="note">${named(serviceName(team))}</span>`;
  return context.team === null ? [html`${named(team.team)}${below}`] : [];
};

export const inTeam = (context: PageContext, { team }: SeenTeam): Html =>
  context.team === null ? html` in ${named(team)}` : none;

export const teamColumns = ({ team }: PageContext): readonly string[] => (team === null ? ['Team'] : []);

/** Columns of numbers after a first column of labels. */
export const numbers = (...labels: readonly string[]): readonly Column[] =>
  labels.map((label, i) => ({ label, isNumber: i > 0 }));

/** A link to a person of a team. It shows the name or "no name", or the id if names are not shown. */
export function person(
  context: PageContext,
  teamId: Id | null,
  { id, name }: { readonly id: bigint; readonly name: string | null },
  withId = false,
): Html {
  const link = to(context, `/people/${encodeURIComponent(teamOf(context, teamId).team)}/${id}`);
  if (!context.details) return html`<a href="${link}" class="mono">${id.toString()}</a>`;
  const nameWords = name === null || name === '' ? html`no name` : named(name);
  return html`<a href="${link}">${nameWords}</a>${withId ? html` <span class="mono quiet">${id.toString()}</span>` : none}`;
}
