/**
 * Reads a listing by its `date` cursor if `page` is ignored: rows with `updated` before
 * `date`, newest first (seen in deployments; the interface only names `date` in the shared pagination body).
 *
 * Rows with the same `updated` can be on both sides of a page's end, and "before" would skip some of them.
 * So the next `date` is not the last row's `updated` but the next newer one on the page: the rows with the
 * last `updated` come a second time, now all of them. If that brings nothing new, the last
 * `updated` itself is requested, and the listing ends if that page is empty. If one `updated` fills a
 * whole page, as after an import, larger pages are requested.
 */
import type { Id } from '../../model/id.ts';
import type { ListingSink } from '../../model/listing.ts';
import { type Collector, createCollector } from '../collector.ts';
import { countRows, type Fetched, type FetchPage, fetchOrRefused, type Page } from '../page.ts';

/** Largest page size. */
const largestLimit = 5_000;

/** A row's `updated`, as the service wrote it; `null` if it has none. */
export type DateRow<Row> = (row: Row) => string | null;

interface DateWalk<Row> {
  readonly collector: Collector<Row>;
  readonly flaws: readonly string[];
}

interface DateWalkOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  readonly limit: number;
  readonly updatedOf: DateRow<Row>;
  readonly maxPages: number;
  readonly sink: ListingSink<Row>;
  /** The page without a `date`, if already read. */
  readonly first: Page<Row> | null;
}

interface Edge {
  /** The oldest `updated` of a page. */
  readonly last: string;
  /** The next newer one; `null` if all rows of the page share one. */
  readonly newer: string | null;
}

function isUndated(date: string | null): boolean {
  return Number.isNaN(Date.parse(date ?? ''));
}

/**
 * Whether a page's rows are sorted by `updated`, newest first, as far as they have one. In any other order
 * "before the last one" would silently skip rows.
 */
function isNewestFirst<Row>(page: Page<Row>, updatedOf: DateRow<Row>): boolean {
  const dates = page.rows.map(updatedOf).filter((date) => !isUndated(date));
  const times = dates.map((date) => Date.parse(date ?? ''));
  return times.every((time, i) => i === 0 || time <= (times[i - 1] ?? time));
}

/** The last `updated` of a page, verbatim; `null` if unknown. */
function findEdge<Row>(page: Page<Row>, updatedOf: DateRow<Row>): Edge | null {
  const dates = page.rows.map(updatedOf).filter((date) => date !== null);
  const last = dates.at(-1);
  return last === undefined ? null : { last, newer: dates.findLast((date) => date !== last) ?? null };
}

/** The state of the walk: the next request, and what the pages have shown so far. */
interface Position {
  readonly date: string | undefined;
  readonly limit: number;
  /** No row newer than `date` is missing: if the next page is empty, the listing is complete. */
  readonly strict: boolean;
  /** Number of rows of the page that is requested again with a larger `limit`. */
  readonly again: number | null;
  /** A larger `limit` brings no more rows. */
  readonly capped: boolean;
  /** Number of rows of the fullest page so far. */
  readonly largest: number;
  readonly edge: Edge | null;
}

type Next = { readonly to: Position; readonly flaw: string | undefined } | { readonly end: string | null };

/** @returns why the walk cannot go on after this page; `null` if all rows were read; `undefined` if it can go on */
function endAt<Row>(
  { date, strict, again }: Position,
  page: Page<Row>,
  fresh: number,
  updatedOf: DateRow<Row>,
): string | null | undefined {
  if (countRows(page) === 0)
    return date === undefined || strict ? null : 'a page that should repeat rows was empty';
  if (!isNewestFirst(page, updatedOf)) return 'the rows are not sorted by `updated`';
  return strict && fresh === 0 && again === null ? 'the `date` cursor does not go on' : undefined;
}

/** The next state after a page. Pure. */
function move<Row>(from: Position, page: Page<Row>, fresh: number, updatedOf: DateRow<Row>): Next {
  const rows = countRows(page);
  const end = endAt(from, page, fresh, updatedOf);
  if (end !== undefined) return { end };
  const edge = fresh > 0 ? findEdge(page, updatedOf) : from.edge;
  if (edge === null) return { end: 'no row of a page has an `updated`' };
  const largest = Math.max(from.largest, rows);
  const capped = from.capped || (from.again !== null && rows <= from.again);
  const crowded = edge.newer === null && page.rows.length > 1 && rows === largest;
  if (crowded && !capped && from.limit < largestLimit) {
    return { to: { ...from, limit: from.limit * 2, again: rows, largest, edge }, flaw: undefined };
  }
  // If there is nothing new among the rows with the last date, or they cannot be requested, the walk goes on past it.
  const strict = fresh === 0 || edge.newer === null;
  const date = strict ? edge.last : (edge.newer ?? edge.last);
  const to = { date, limit: from.limit, strict, again: null, capped, largest, edge };
  const flaw = 'a whole page shares one `updated`; rows that share it as well may be missing';
  return { to, flaw: crowded ? flaw : undefined };
}

/** @throws ServiceError if a page cannot be read, except for 400s, which are part of the result */
export async function walkDates<Row extends { readonly id: Id }>(
  options: DateWalkOptions<Row>,
): Promise<DateWalk<Row>> {
  const { fetchPage, updatedOf, maxPages } = options;
  const collector = createCollector<Row>(options.sink);
  const flaws = new Set<string>();
  const start = { date: undefined, strict: false, again: null, capped: false, largest: 0, edge: null };
  let at: Position = { ...start, limit: options.limit };
  let known = options.first;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const { limit, date } = at;
    const fetched: Fetched<Row> =
      known === null
        ? await fetchOrRefused(fetchPage, date === undefined ? { limit } : { limit, date })
        : { page: known };
    known = null;
    if ('refused' in fetched) {
      if (at.again === null) return { collector, flaws: [...flaws, 'the `date` cursor was refused (400)'] };
      at = { ...at, limit: limit / 2, capped: true };
      continue;
    }
    const { page } = fetched;
    if (page.rows.some((row) => isUndated(updatedOf(row)))) {
      flaws.add('some rows have no `updated`; others without one may be missing');
    }
    const next = move(at, page, collector.add(page), updatedOf);
    if ('end' in next) return { collector, flaws: next.end === null ? [...flaws] : [...flaws, next.end] };
    if (next.flaw !== undefined) flaws.add(next.flaw);
    at = next.to;
  }
  return { collector, flaws: [...flaws, `there are more than ${maxPages} pages`] };
}
