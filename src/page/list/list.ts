/** A view that is a list: one relation, its columns, and everything that a reader can ask of it. */
import { type RawBuilder, sql } from 'kysely';
import { printable } from '../../model/in-words.ts';
import type { PageReader } from '../read/page-reader.ts';
import { chips, csvChip, empty, filterForm, heading, searchField, table } from '../render/components.ts';
import { type Html, html } from '../render/html.ts';
import { csvOf, href } from '../render/links.ts';
import {
  type Csv,
  csvFrom,
  type PageContext,
  type PageShown,
  type Tab,
  type View,
  type ViewRequest,
  view,
} from '../render/view.ts';
import { count, visible } from '../render/words.ts';

export interface ListColumn<Row> {
  readonly label: string;
  readonly cell: (row: Row, context: PageContext) => string | Html;
  /** Its name in `?sort=`, and what it is sorted by. */
  readonly sort?: readonly [string, RawBuilder<unknown>];
  readonly isNumber?: boolean;
  /** Absent from the page if this says no. */
  readonly if?: (context: PageContext) => boolean;
}

/** What is searched for; without details no personal value is looked at. */
export type Searched = Pick<ViewRequest, 'details'> & { readonly q: string };

export interface List<Row> {
  readonly path: string;
  readonly tab: Tab;
  readonly title: string;
  /** The rows r that match what is searched for; `r.state` is one of the words of the states. */
  readonly from: (reader: PageReader, searched: Searched) => RawBuilder<unknown>;
  readonly columns: readonly ListColumn<Row>[];
  /** The word of `?sort=` if nobody asks for another, and what decides in the end. */
  readonly order: string;
  readonly last: (request: ViewRequest) => readonly RawBuilder<unknown>[];
  /** Each word of `?state=` with the states that it shows, the first by default; another is offered if it has rows. */
  readonly states: Readonly<Record<string, { readonly label: string; readonly has: readonly string[] }>>;
  readonly hint: (details: boolean) => string;
  /** Further filters by a column, each with the words for any of them. */
  readonly choices?: Readonly<
    Record<string, { readonly any: string; readonly from: (reader: PageReader) => RawBuilder<unknown> }>
  >;
  readonly lead: (counts: ReadonlyMap<string, number>, context: PageContext) => string | Html;
  /** What stands where there is no row. */
  readonly none: string;
  readonly csv: (context: PageContext) => Readonly<Record<string, (row: Row) => unknown>>;
}

interface Option {
  readonly value: string;
  readonly label: string;
}

export interface ListRead<Row> {
  readonly rows: readonly Row[];
  readonly found: number;
  /** Of all rows, whatever is searched for. */
  readonly counts: ReadonlyMap<string, number>;
  readonly options: ReadonlyMap<string, readonly Option[]>;
}

const perPage = 50;
/** Most rows of a file, which is more than nearly all mirrors have. */
const mostInFile = 200_000;

/** What the address asks for; what there is not is ignored. */
function askedOf<Row>({ columns, order, states }: List<Row>, { query }: Pick<ViewRequest, 'query'>) {
  const known = columns.flatMap(({ sort }) => sort?.[0] ?? []);
  const wanted = query.get('sort') ?? order;
  const [first = ''] = Object.keys(states);
  const state = query.get('state') ?? '';
  return {
    q: (query.get('q') ?? '').trim().slice(0, 200),
    sort: known.includes(wanted.replace(/^-/, '')) ? wanted : order,
    state: Object.hasOwn(states, state) ? state : first,
    skip: Number(/^\d{1,8}$/.exec(query.get('page') ?? '')?.[0] ?? 0),
  };
}

const sumOf = (counts: ReadonlyMap<string, number>, states: readonly string[] = []) =>
  states.reduce((sum, state) => sum + (counts.get(state) ?? 0), 0);

async function readList<Row>(
  list: List<Row>,
  reader: PageReader,
  request: ViewRequest,
): Promise<ListRead<Row>> {
  const { db } = reader;
  const { q, sort, state, skip } = askedOf(list, request);
  const has = list.states[state]?.has ?? [];
  const by = list.columns.find((column) => column.sort?.[0] === sort.replace(/^-/, ''))?.sort?.[1];
  const way = sort.startsWith('-') ? sql`desc` : sql`asc`;
  const keys = [...(by === undefined ? [] : [by]), ...list.last(request)].map(
    (key) => sql`${key} ${way} nulls last`,
  );
  const options = new Map<string, readonly Option[]>();
  const chosen: RawBuilder<unknown>[] = [];
  for (const [name, choice] of Object.entries(list.choices ?? {})) {
    options.set(name, (await sql<Option>`${choice.from(reader)}`.execute(db)).rows);
    const value = request.query.get(name);
    if (value !== null && value !== '') chosen.push(sql`${sql.ref(`r.${name}`)}::text = ${value}`);
  }
  const from = list.from(reader, { q, details: request.details });
  const where = sql.join([sql`r.state = any (${has}::text[])`, ...chosen], sql` and `);
  const counted = await sql<{ state: string; rows: number }>`
    select r.state, count(*)::int as rows from ${list.from(reader, { q: '', details: true })} r group by 1`.execute(
    db,
  );
  const { rows } = await sql<Row>`
    select r.* from ${from} r where ${where}
    order by ${sql.join(keys)} limit ${request.isCsv ? mostInFile : perPage} offset ${request.isCsv ? 0 : skip}`.execute(
    db,
  );
  const counts = new Map(counted.rows.map((row) => [row.state, row.rows]));
  if (q === '' && chosen.length === 0) return { rows, found: sumOf(counts, has), counts, options };
  const found = await sql<{
    found: number;
  }>`select count(*)::int as found from ${from} r where ${where}`.execute(db);
  return { rows, found: found.rows[0]?.found ?? 0, counts, options };
}

function filters<Row>(list: List<Row>, { counts, options }: ListRead<Row>, context: PageContext): Html {
  const { q, state } = askedOf(list, context);
  const selects = [...options].map(([name, all]) => {
    const option = ({ value, label }: Option) =>
      html`<option value="${value}"${value === context.query.get(name) ? html` selected` : ''}>${visible(label)}</option>`;
    return html`<label><span class="away">${list.choices?.[name]?.any}</span><select name="${name}"><option value="">${list.choices?.[name]?.any}</option>${all.map(option)}</select></label>`;
  });
  const inside = html`${searchField(list.hint(context.details), q)}${selects}`;
  const form = filterForm(context, { kept: ['team', 'state', 'sort'], inside, button: 'Search' });
  const states = Object.entries(list.states).map(([word, { label, has }], i) => ({
    label,
    count: sumOf(counts, has),
    href: href(context, { state: i === 0 ? null : word }),
    isCurrent: word === state,
  }));
  const offered = states.filter((one, i) => i === 0 || one.count > 0 || one.isCurrent);
  return html`${form}${chips('Show', offered, csvChip(csvOf(context)))}`;
}

function body<Row>(list: List<Row>, { rows, found }: ListRead<Row>, context: PageContext): Html {
  const { q, sort, skip } = askedOf(list, context);
  if (rows.length === 0) {
    const title = q === '' ? 'Nothing is in this list' : `Nothing matches “${printable(q)}”`;
    const all = html`<p><a href="${href({ path: context.path, query: new URLSearchParams() }, { team: context.query.get('team') })}">All of it</a></p>`;
    return empty('dashed', title, list.none, all);
  }
  const columns = list.columns.filter((column) => column.if?.(context) ?? true);
  const page = (words: string, at: number) =>
    at < 0 || at >= found
      ? ''
      : html`<a href="${href(context, { page: at === 0 ? null : String(at) })}">${words}</a>`;
  return table(context, {
    caption: list.title,
    columns: columns.map(({ label, sort: key, isNumber = false }) => ({
      label,
      isNumber,
      ...(key === undefined ? {} : { sort: key[0] }),
    })),
    rows: rows.map((row) => ({ cells: columns.map(({ cell }) => cell(row, context)) })),
    foot: html`<span>${count(skip + 1)} to ${count(skip + rows.length)} of ${count(found)}</span><span class="push"></span>${page('Back', skip - perPage)}${page('Next', skip + perPage)}`,
    sort,
  });
}

export function renderList<Row>(list: List<Row>, read: ListRead<Row>, context: PageContext): PageShown {
  const { title } = list;
  const main = html`${heading(title, list.lead(read.counts, context))}${filters(list, read, context)}${body(list, read, context)}`;
  return { title, main };
}

export const listCsv = <Row>(
  list: List<Row>,
  { rows }: Pick<ListRead<Row>, 'rows'>,
  context: PageContext,
): Csv => csvFrom(rows, list.csv(context));

export const listView = <Row>(list: List<Row>): View =>
  view<ListRead<Row>>({
    path: list.path,
    tab: list.tab,
    read: (reader, request) => readList(list, reader, request),
    render: (read, context) => renderList(list, read, context),
    csv: (read, context) => listCsv(list, read, context),
  });
