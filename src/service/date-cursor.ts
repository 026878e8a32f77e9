/**
 * Reads a listing by its `date` cursor, where `page` turned out to be ignored: rows with `updated` before
 * `date`, newest first (service-notes.md; the interface names `date` in the shared pagination body and says
 * no more of it).
 *
 * Rows that share one `updated` can lie on both sides of a page's edge, and "before" would pass over them.
 * So the next `date` is not the last row's `updated` but the next newer one on the page: the rows with the
 * last `updated` come a second time, and their fellows with them. When that brings nothing new, the last
 * `updated` itself is asked for, and the listing ends if that page is empty.
 */
import type { Id } from '../model/id.ts';
import { type Collector, createCollector } from './collector.ts';
import { countRows, type FetchPage, fetchOrRefused, type Page } from './page.ts';

/** A row's `updated`, as the service wrote it; `null` where it has none. */
export type DateRow<Row> = (row: Row) => string | null;

export interface DateWalk<Row> {
  readonly collector: Collector<Row>;
  readonly flaws: readonly string[];
}

export interface DateWalkOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  readonly limit: number;
  readonly updatedOf: DateRow<Row>;
  readonly maxPages: number;
  /** The page without a `date`, where it is known already. */
  readonly first: Page<Row> | null;
}

interface Edge {
  /** The oldest `updated` of a page. */
  readonly last: string;
  /** The one next to it; `null` where all rows of the page share one. */
  readonly newer: string | null;
}

/** Where a page ends, verbatim; `null` where that can not be told. */
function findEdge<Row>(page: Page<Row>, updatedOf: DateRow<Row>): Edge | null {
  const dates = page.rows.map(updatedOf);
  const last = dates.at(-1) ?? null;
  if (last === null) return null;
  return { last, newer: dates.findLast((date) => date !== null && date !== last) ?? null };
}

/** @throws ServiceError when a page can not be had; 400s are part of the result */
export async function walkDates<Row extends { readonly id: Id }>(
  options: DateWalkOptions<Row>,
): Promise<DateWalk<Row>> {
  const { fetchPage, limit, updatedOf, maxPages } = options;
  const collector = createCollector<Row>();
  const flaws: string[] = [];
  const end = (flaw?: string): DateWalk<Row> => ({
    collector,
    flaws: flaw === undefined ? flaws : [...flaws, flaw],
  });
  let page = options.first;
  let date: string | undefined;
  let edge: Edge | null = null;
  let strict = false;
  let largest = 0;
  for (let pages = 0; pages < maxPages; pages += 1) {
    if (page === null) {
      const fetched = await fetchOrRefused(fetchPage, date === undefined ? { limit } : { limit, date });
      if ('refused' in fetched) return end('the `date` cursor was refused (400)');
      page = fetched.page;
    }
    const fresh = collector.add(page);
    if (countRows(page) === 0) {
      return date === undefined || strict ? end() : end('a page that should repeat rows was empty');
    }
    if (strict && fresh === 0) return end('the `date` cursor does not go on');
    largest = Math.max(largest, countRows(page));
    if (fresh > 0) {
      edge = findEdge(page, updatedOf);
      if (edge === null) return end('a row at the edge of a page has no `updated`');
      if (edge.newer === null && page.rows.length > 1 && countRows(page) === largest) {
        flaws.push('a whole page shares one `updated`; rows that share it as well may be missing');
      }
    }
    if (edge === null) return end('the `date` cursor does not go on');
    // Nothing new among those that share the edge's date, or no way to ask for them: go past it.
    strict = fresh === 0 || edge.newer === null;
    date = strict ? edge.last : (edge.newer ?? edge.last);
    page = null;
  }
  return end(`there are more than ${maxPages} pages`);
}
