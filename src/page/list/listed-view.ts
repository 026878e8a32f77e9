/** The rows of each listing: tags, contact fields, inboxes, surveys. */
import { sql } from 'kysely';
import { toJson } from '../../model/json.ts';
import { exportNameOf, inPlural, type ListedResource, shownColumnsOf } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { contains } from '../../mirror/users/find-user.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { Id } from '../../model/id.ts';
import { teamCells, toListings } from '../render/components.ts';
import { type Html, html } from '../render/html.ts';
import { to } from '../render/links.ts';
import { type List, listView } from './list.ts';
import { type PageContext, teamOf } from '../render/view.ts';
import { at, capital, count, named, visible } from '../render/words.ts';

export interface RowOfListing {
  readonly team_id: Id;
  readonly id: Id;
  readonly first_seen_at: Date;
  readonly gone_at: Date | null;
  readonly [column: string]: unknown;
}

/** The most columns to show beside the name. The CSV file has all columns. */
const mostColumns = 3;

const textIn = (value: unknown): string =>
  Array.isArray(value)
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : value === null || value === undefined
        ? ''
        : toJson(value);
const cellOf = (value: unknown, show: (text: string) => Html): Html =>
  textIn(value) === '' ? html`<span class="none">none</span>` : show(textIn(value));
const when = (date: Date | null, { now }: PageContext) => (date === null ? '' : at(date, now));

export function listingOf(resource: ListedResource): List<RowOfListing> {
  const [name = 'id', ...others] = shownColumnsOf(resource);
  const shown = others.filter((column) => column !== 'created' && column !== 'updated').slice(0, mostColumns);
  return {
    path: `/${exportNameOf(resource)}`,
    tab: 'Counts',
    title: capital(inPlural(resource)),
    from: (
      { teamIds },
      { q },
    ) => sql`(select t.*, case when gone_at is null then 'there' else 'gone' end as state
      from ${sql.table(`mirror.${resource.name}`)} t where t.id is not null and t.team_id = any (${idArray(teamIds)})
        and ${contains(sql`${sql.ref(`t.${name}`)}::text`, readUserQuery(q))})`,
    order: 'name',
    last: () => [sql`r.id`, sql`r.team_id`],
    columns: [
      {
        label: capital(resource.noun),
        sort: ['name', sql`lower(${sql.ref(`r.${name}`)}::text)`],
        cell: (row) => cellOf(row[name], named),
      },
      {
        label: 'Team',
        if: ({ team }) => team === null,
        cell: (row, context) => html`${teamCells(context, row.team_id)}`,
      },
      { label: 'Id', sort: ['id', sql`r.id`], cell: ({ id }) => html`<span class="mono">${id}</span>` },
      ...shown.map((column) => ({
        label: capital(column.replaceAll('_', ' ')),
        cell: (row: RowOfListing) =>
          cellOf(row[column], (text) => html`<span class="value">${visible(text)}</span>`),
      })),
      {
        label: 'First seen',
        sort: ['first', sql`r.first_seen_at`],
        cell: (row, context) => when(row.first_seen_at, context),
      },
      {
        label: 'Gone',
        if: ({ query }) => query.get('state') === 'gone',
        cell: (row, context) => when(row.gone_at, context),
      },
    ],
    states: { there: { label: 'There', has: ['there'] }, gone: { label: 'Gone', has: ['gone'] } },
    hint: () => `Name, of ${inPlural(resource)}`,
    lead: (counts, context) =>
      html`Now: ${count(counts.get('there') ?? 0)}, gone: ${count(counts.get('gone') ?? 0)}. <a href="${to(context, '/counts')}">Counts</a> ${toListings(context)}`,
    none: 'They are read with the listings of the team.',
    csv: ({ teams }) => ({
      team: (row) => teamOf({ teams }, row.team_id).team || null,
      id: (row) => row.id,
      ...Object.fromEntries(
        [name, ...others].map((column) => [
          column,
          (row: RowOfListing) =>
            typeof row[column] === 'object' && row[column] !== null ? toJson(row[column]) : row[column],
        ]),
      ),
      first_seen_at: (row) => row.first_seen_at,
      gone_at: (row) => row.gone_at,
    }),
  };
}

export const listings = listedResources.map((resource) => listView(listingOf(resource)));
