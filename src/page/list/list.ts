/** A view that is a list: one relation, its columns, and the search, filters and order that a viewer can choose. */
import { type RawBuilder, sql } from 'kysely';
import { printable } from '../../model/in-words.ts';
import type { Searched } from '../read/page-people.ts';
import type { PageReader } from '../read/page-reader.ts';
import {
  chips,
  csvChip,
  empty,
  filterForm,
  heading,
  searchField,
  type TableRow,
  table,
} from '../render/components.ts';
import { type Html, html, none } from '../render/html.ts';
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
  readonly label: string | Html;
  readonly cell: (row: Row, context: PageContext) => string | Html;
  /** The column's name in `?sort=`, and the expression that sorts by it. */
  readonly sort?: readonly [string, RawBuilder<unknown>];
  readonly isNumber?: boolean;
  /** If this returns false, the page does not show the column. */
  readonly if?: (context: PageContext) => boolean;
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** A relation, with the columns, search and filters that the page offers for its rows. */
export interface Rows<Row> {
  readonly title: string;
  /** The relation that the page shows: all rows that match the search. The query calls it `r`. */
  readonly from: (reader: PageReader, searched: Searched) => RawBuilder<unknown>;
  readonly columns: readonly ListColumn<Row>[];
  /** The default of `?sort=`. `last` has the expressions that sort rows with equal values. */
  readonly order: string;
  readonly last: (request: ViewRequest) => readonly RawBuilder<unknown>[];
  readonly hint: (details: boolean) => string;
  /** Further filters, each by one column. `any` is the text that means no filter. */
  readonly choices?: Readonly<
    Record<
      string,
      { readonly any: string; readonly from: (reader: PageReader) => Promise<readonly Option[]> }
    >
  >;
  /** Rows per page; 50 by default. */
  readonly perPage?: number;
  /** The anchor of a row, and the note below it. Only lists with ticks have these. */
  readonly ticked?: (row: Row, context: PageContext) => { readonly id: string; readonly note: Html };
  readonly csv: (context: PageContext) => Readonly<Record<string, (row: Row) => unknown>>;
}

/** A value of `r.state`: a word, or a number that sorts the list. */
type State = string | number;

export interface List<Row> extends Rows<Row> {
  readonly path: string;
  readonly tab: Tab;
  /** The values of `?state=`, each with the values of `r.state` that it shows. An empty list offers only the first. */
  readonly states: Readonly<Record<string, { readonly label: string; readonly has: readonly State[] }>>;
  readonly lead: (counts: ReadonlyMap<State, number>, context: PageContext) => string | Html;
  readonly none: string;
}

export interface RowsRead<Row> {
  readonly rows: readonly Row[];
  readonly found: number;
  readonly options: ReadonlyMap<string, readonly Option[]>;
}

export interface ListRead<Row> extends RowsRead<Row> {
  /** The number of rows in each state, including rows that do not match the search. */
  readonly counts: ReadonlyMap<State, number>;
}

/** The most rows of a CSV file. Nearly all mirrors have fewer rows. */
const mostInFile = 200_000;

/** The search, order and page that the address requests. An unknown order is ignored. */
function askedOf<Row>({ columns, order, perPage = 50 }: Rows<Row>, { query }: Pick<ViewRequest, 'query'>) {
  const known = columns.flatMap(({ sort }) => sort?.[0] ?? []);
  const wanted = query.get('sort') ?? order;
  return {
    q: (query.get('q') ?? '').trim().slice(0, 200),
    sort: known.includes(wanted.replace(/^-/, '')) ? wanted : order,
    skip: Number(/^\d{1,8}$/.exec(query.get('page') ?? '')?.[0] ?? 0),
    perPage,
  };
}

function stateOf<Row>({ states }: List<Row>, { query }: Pick<ViewRequest, 'query'>): string {
  const [first = ''] = Object.keys(states);
  const state = query.get('state') ?? '';
  return Object.hasOwn(states, state) ? state : first;
}

const sumOf = (counts: ReadonlyMap<State, number>, states: readonly State[] = []) =>
  states.reduce<number>((sum, state) => sum + (counts.get(state) ?? 0), 0);

/** Reads one page of the rows that match `has`; for a file, all of these rows. @param all how many rows match `has` */
export async function readListRows<Row>(
  list: Rows<Row>,
  reader: PageReader,
  request: ViewRequest,
  all: number,
  has: RawBuilder<unknown> = sql`true`,
): Promise<RowsRead<Row>> {
  const { db } = reader;
  const { q, sort, skip, perPage } = askedOf(list, request);
  const { details, isCsv } = request;
  const by = list.columns.find((column) => column.sort?.[0] === sort.replace(/^-/, ''))?.sort?.[1];
  const way = sort.startsWith('-') ? sql`desc` : sql`asc`;
  const keys = [...(by === undefined ? [] : [by]), ...list.last(request)].map(
    (key) => sql`${key} ${way} nulls last`,
  );
  const options = new Map<string, readonly Option[]>();
  const chosen: RawBuilder<unknown>[] = [];
  for (const [name, choice] of Object.entries(list.choices ?? {})) {
    options.set(name, await choice.from(reader));
    const value = request.query.get(name);
    if (value !== null && value !== '') chosen.push(sql`${sql.ref(`r.${name}`)}::text = ${value}`);
  }
  const from = list.from(reader, { q, details });
  const where = sql.join([has, ...chosen], sql` and `);
  const isSome = q !== '' || chosen.length > 0;
  const { rows } = await sql<Row & { readonly found: number }>`
    select r.*${isSome ? sql`, count(*) over ()::int as found` : sql``} from ${from} r where ${where}
    order by ${sql.join(keys)} limit ${isCsv ? mostInFile : perPage} offset ${isCsv ? 0 : skip}`.execute(db);
  return { rows, found: isSome ? (rows[0]?.found ?? 0) : all, options };
}

async function readList<Row>(
  list: List<Row>,
  reader: PageReader,
  request: ViewRequest,
): Promise<ListRead<Row>> {
  const all = list.from(reader, { q: '', details: true });
  const counted = await sql<{ state: State; rows: number }>`
    select r.state, count(*)::int as rows from ${all} r group by 1`.execute(reader.db);
  const counts = new Map(counted.rows.map(({ state, rows }) => [state, rows]));
  const states = list.states[stateOf(list, request)]?.has ?? [];
  const has = sql`r.state = any (${states})`;
  return { ...(await readListRows(list, reader, request, sumOf(counts, states), has)), counts };
}

export function listFilters<Row>(list: Rows<Row>, { options }: RowsRead<Row>, context: PageContext): Html {
  const selects = [...options].map(([name, all]) => {
    const { any = '' } = list.choices?.[name] ?? {};
    const option = ({ value, label }: Option) =>
      html`<option value="${value}"${value === context.query.get(name) ? html` selected` : ''}>${visible(label)}</option>`;
    return all.length < 2
      ? none
      : html`<label><span class="away">${any}</span><select name="${name}"><option value="">${any}</option>${all.map(option)}</select></label>`;
  });
  const inside = html`${searchField(list.hint(context.details), askedOf(list, context).q)}${selects}`;
  return filterForm(context, { kept: ['team', 'state', 'sort'], inside, button: 'Search' });
}

function stateChips<Row>(list: List<Row>, { counts }: ListRead<Row>, context: PageContext): Html {
  const state = stateOf(list, context);
  const states = Object.entries(list.states).map(([word, { label, has }], i) => ({
    label,
    count: sumOf(counts, has),
    href: href(context, { state: i === 0 ? null : word }),
    isCurrent: word === state,
  }));
  const offered = states.filter((one, i) => i === 0 || one.count > 0 || one.isCurrent);
  return chips('Show', offered, csvChip(csvOf(context)));
}

export function pagesOf<Row>(list: Rows<Row>, { rows, found }: RowsRead<Row>, context: PageContext): Html {
  const { skip, perPage } = askedOf(list, context);
  const page = (words: string, at: number) =>
    at < 0 || at >= found
      ? none
      : html`<a href="${href(context, { page: at === 0 ? null : String(at) })}">${words}</a>`;
  const shown =
    rows.length === 0
      ? 'Nothing matches'
      : `${count(skip + 1)} to ${count(skip + rows.length)} of ${count(found)}`;
  return html`<span>${shown}</span><span class="push"></span>${page('Back', skip - perPage)}${page('Next', skip + perPage)}`;
}

export function rowsTable<Row>(
  list: Rows<Row>,
  { rows }: RowsRead<Row>,
  context: PageContext,
  foot: Html,
): Html {
  const columns = list.columns.filter((column) => column.if?.(context) ?? true);
  return table(context, {
    caption: list.title,
    ...(list.ticked === undefined ? {} : { kind: 'rows' }),
    columns: columns.map(({ sort: key, ...column }) => ({ ...column, ...(key && { sort: key[0] }) })),
    rows: rows.flatMap((row): readonly TableRow[] => {
      const cells = columns.map(({ cell }) => cell(row, context));
      const { id, note = none } = list.ticked?.(row, context) ?? {};
      return [{ cells, ...(id && { id }) }, ...(note === none ? [] : [{ details: note }])];
    }),
    foot,
    sort: askedOf(list, context).sort,
  });
}

function body<Row>(list: List<Row>, read: ListRead<Row>, context: PageContext): Html {
  if (read.rows.length > 0) return rowsTable(list, read, context, pagesOf(list, read, context));
  const { q } = askedOf(list, context);
  const title = q === '' ? 'Nothing is in this list' : `Nothing matches “${printable(q)}”`;
  const all = html`<p><a href="${href({ path: context.path, query: new URLSearchParams() }, { team: context.query.get('team') })}">All of it</a></p>`;
  return empty('dashed', title, list.none, all);
}

export function renderList<Row>(list: List<Row>, read: ListRead<Row>, context: PageContext): PageShown {
  const { title } = list;
  const main = html`${heading(title, list.lead(read.counts, context))}${listFilters(list, read, context)}${stateChips(list, read, context)}${body(list, read, context)}`;
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
