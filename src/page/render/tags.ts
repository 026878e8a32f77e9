/** Tags: how they grew, and each of them. */
import type { TagsFilter, TagsRead } from '../read/page-tags.ts';
import { printable } from '../../model/in-words.ts';
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
import { cameOrWent, monthsChart } from './growth.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { type Csv, csvFrom, type ViewRequest, type PageContext, type PageShown, teamOf } from './view.ts';
import { count, day, many, named, time, visible } from './words.ts';

const perPage = 100;
const mostInFile = 100_000;
const sorts = ['tag', 'first', 'id'] as const;

export function tagsFilter({ query, isCsv }: Pick<ViewRequest, 'query' | 'isCsv'>): TagsFilter {
  const sort = query.get('sort') ?? '';
  const page = query.get('page') ?? '';
  return {
    q: (query.get('q') ?? '').trim().slice(0, 200),
    hasGone: query.get('state') === 'gone',
    sort: sorts.find((one) => one === sort.replace(/^-/, '')) ?? 'tag',
    isDown: sort.startsWith('-'),
    before: /^\d{1,6}$/.test(page) && !isCsv ? Number(page) : 0,
    limit: isCsv ? mostInFile : perPage,
  };
}

function filters(context: PageContext, { now, gone }: TagsRead): Html {
  const { q, hasGone } = tagsFilter(context);
  const inside = searchField('Name of a tag', q);
  const form = filterForm(context, { kept: ['team', 'state', 'sort'], inside, button: 'Search' });
  const all = [
    { label: 'There', count: now, href: href(context, { state: null }), isCurrent: !hasGone },
    { label: 'Gone', count: gone, href: href(context, { state: 'gone' }), isCurrent: hasGone },
  ];
  return html`${form}${chips('Show', all, csvChip(csvOf(context)))}`;
}

function list(context: PageContext, { rows, found }: TagsRead): Html {
  const { q, before, hasGone } = tagsFilter(context);
  if (rows.length === 0)
    return empty(
      'dashed',
      q === '' ? 'No tags' : `No tag matches “${printable(q)}”`,
      'Tags are read with the listings of the team.',
    );
  const next =
    before + rows.length < found
      ? html`<a href="${href(context, { page: `${before + rows.length}` })}" rel="next">Next ${Math.min(perPage, found - before - rows.length)}</a>`
      : none;
  return table(context, {
    caption: hasGone ? 'Tags that are gone' : 'Tags',
    columns: [
      { label: 'Tag', sort: 'tag' },
      ...teamColumns(context),
      { label: 'Id', sort: 'id' },
      { label: 'Colour' },
      { label: 'First seen', sort: 'first' },
      ...(hasGone ? [{ label: 'Gone' }] : []),
    ],
    rows: rows.map((row) => ({
      cells: [
        row.tag === null || row.tag === '' ? html`<span class="none">no name</span>` : named(row.tag),
        ...teamCells(context, row.team_id),
        html`<span class="mono">${row.id}</span>`,
        row.color === null
          ? html`<span class="none">none</span>`
          : html`<span class="value">${visible(row.color)}</span>`,
        time(row.first_seen_at, day(row.first_seen_at, context.now)),
        ...(hasGone ? [row.gone_at === null ? none : time(row.gone_at, day(row.gone_at, context.now))] : []),
      ],
    })),
    foot: html`<span>${count(before + 1)} to ${count(before + rows.length)} of ${count(found)}</span><span class="push"></span>${next}`,
    sort: 'tag',
  });
}

export function tags(read: TagsRead, context: PageContext): PageShown {
  const back = html`<p class="note"><a href="${to(context, '/counts')}">Counts</a></p>`;
  const lead = `${many(read.now, 'tag')} now${read.gone === 0 ? '' : `, and ${count(read.gone)} that are gone`}.`;
  const growth = section('By month', monthsChart(context, read, 'Tags'), {
    note: cameOrWent(read.months) ? html`added above, gone below the line` : none,
  });
  return {
    title: 'Tags',
    main: html`${heading('Tags', lead, back)}${growth}${filters(context, read)}${list(context, read)}`,
  };
}

export const tagsCsv = ({ rows }: TagsRead, context: Pick<PageContext, 'teams'>): Csv =>
  csvFrom(rows, {
    team: (row) => teamOf(context, row.team_id).team || null,
    id: (row) => row.id,
    tag: (row) => row.tag,
    color: (row) => row.color,
    first_seen_at: (row) => row.first_seen_at,
    gone_at: (row) => row.gone_at,
  });
