/** The rows of a listing: how they grew, and each of them. */
import type { ListedFilter, ListedRowsRead, RowOnPage } from '../read/page-listed.ts';
import { printable } from '../../model/in-words.ts';
import { toJson } from '../../model/json.ts';
import { inPlural, type ListedResource, shownColumnsOf } from '../../model/listed-resource.ts';
import {
  chips,
  csvChip,
  empty,
  filterForm,
  heading,
  searchField,
  section,
  table,
  teamCells,
  teamColumns,
} from './components.ts';
import { cameOrWent, monthsChart, toListings } from './growth.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { type Csv, csvFrom, type ViewRequest, type PageContext, type PageShown, teamOf } from './view.ts';
import { capital, count, day, many, named, time, visible } from './words.ts';

const perPage = 100;
const mostInFile = 100_000;
const sorts = ['name', 'first', 'id'] as const;
/** Columns beside the name; the file has all of them. */
const mostColumns = 3;

const otherColumns = (resource: ListedResource) =>
  shownColumnsOf(resource)
    .slice(1)
    .filter((column) => column !== 'created' && column !== 'updated')
    .slice(0, mostColumns);

function inCell(value: unknown): Html {
  const text = Array.isArray(value)
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : toJson(value ?? '');
  return value === null || text === ''
    ? html`<span class="none">none</span>`
    : html`<span class="value">${visible(text)}</span>`;
}

export function listedFilter({ query, isCsv }: Pick<ViewRequest, 'query' | 'isCsv'>): ListedFilter {
  const sort = query.get('sort') ?? '';
  const page = query.get('page') ?? '';
  return {
    q: (query.get('q') ?? '').trim().slice(0, 200),
    hasGone: query.get('state') === 'gone',
    sort: sorts.find((word) => word === sort.replace(/^-/, '')) ?? 'name',
    isDown: sort.startsWith('-'),
    before: /^\d{1,6}$/.test(page) && !isCsv ? Number(page) : 0,
    limit: isCsv ? mostInFile : perPage,
  };
}

function filters(context: PageContext, noun: string, { now, gone }: ListedRowsRead): Html {
  const { q, hasGone } = listedFilter(context);
  const inside = searchField(`Name of ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`, q);
  const form = filterForm(context, { kept: ['team', 'state', 'sort'], inside, button: 'Search' });
  const all = [
    { label: 'There', count: now, href: href(context, { state: null }), isCurrent: !hasGone },
    { label: 'Gone', count: gone, href: href(context, { state: 'gone' }), isCurrent: hasGone },
  ];
  return html`${form}${chips('Show', all, csvChip(csvOf(context)))}`;
}

function list(context: PageContext, resource: ListedResource, { rows, found }: ListedRowsRead): Html {
  const { q, before, hasGone } = listedFilter(context);
  const [name = 'id'] = shownColumnsOf(resource);
  const title = capital(inPlural(resource));
  if (rows.length === 0)
    return empty(
      'dashed',
      q === '' ? `No ${inPlural(resource)}` : `No ${resource.noun} matches “${printable(q)}”`,
      `${title} are read with the listings of the team.`,
    );
  const next =
    before + rows.length < found
      ? html`<a href="${href(context, { page: `${before + rows.length}` })}" rel="next">Next ${Math.min(perPage, found - before - rows.length)}</a>`
      : none;
  return table(context, {
    caption: hasGone ? `${title} that are gone` : title,
    columns: [
      { label: capital(resource.noun), sort: 'name' },
      ...teamColumns(context),
      { label: 'Id', sort: 'id' },
      ...otherColumns(resource).map((column) => ({ label: capital(column.replaceAll('_', ' ')) })),
      { label: 'First seen', sort: 'first' },
      ...(hasGone ? [{ label: 'Gone' }] : []),
    ],
    rows: rows.map((row) => ({
      cells: [
        typeof row[name] === 'string' && row[name] !== ''
          ? named(row[name])
          : html`<span class="none">no name</span>`,
        ...teamCells(context, row.team_id),
        html`<span class="mono">${row.id}</span>`,
        ...otherColumns(resource).map((column) => inCell(row[column])),
        time(row.first_seen_at, day(row.first_seen_at, context.now)),
        ...(hasGone ? [row.gone_at === null ? none : time(row.gone_at, day(row.gone_at, context.now))] : []),
      ],
    })),
    foot: html`<span>${count(before + 1)} to ${count(before + rows.length)} of ${count(found)}</span><span class="push"></span>${next}`,
    sort: 'name',
  });
}

export function listedRows(resource: ListedResource, read: ListedRowsRead, context: PageContext): PageShown {
  const title = capital(inPlural(resource));
  const back = html`<p class="note"><a href="${to(context, '/counts')}">Counts</a> ${toListings(context)}</p>`;
  const lead = `${many(read.now, resource.noun, inPlural(resource))} now${read.gone === 0 ? '' : `, and ${count(read.gone)} that are gone`}.`;
  const growth = section('By month', monthsChart(context, read, title), {
    note: cameOrWent(read.months) ? html`added above, gone below the line` : none,
  });
  return {
    title,
    main: html`${heading(title, lead, back)}${growth}${filters(context, resource.noun, read)}${list(context, resource, read)}`,
  };
}

const inFile = (value: unknown) => (typeof value === 'object' && value !== null ? toJson(value) : value);

export const listedCsv = (
  resource: ListedResource,
  { rows }: ListedRowsRead,
  context: Pick<PageContext, 'teams'>,
): Csv =>
  csvFrom(rows, {
    team: (row) => teamOf(context, row.team_id).team || null,
    id: (row) => row.id,
    ...Object.fromEntries(
      shownColumnsOf(resource).map((column) => [column, (row: RowOnPage) => inFile(row[column])]),
    ),
    first_seen_at: (row) => row.first_seen_at,
    gone_at: (row) => row.gone_at,
  });
