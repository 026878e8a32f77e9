/**
 * Reads a paged listing to its end. The number of the first page, the largest `limit` and the order are "not shown"
 * (interface.md, Endpoints, note 5; Limits). So pages 0, 1, 2 … are read, until two pages in a row are empty. In the
 * table, a row is new if no earlier page has its id, and "incomplete" is the status of the listing.
 *
 * | the page                                           | the consequence                                         |
 * |----------------------------------------------------|---------------------------------------------------------|
 * | page 0 is refused, or empty, and page 1 is filled  | pages begin at 1; an empty page 0 is asked for again    |
 * | page 1 has nothing new                             | page 0 and page 1 are the same page                     |
 * | a later page has nothing new                       | incomplete; two such pages end the reading              |
 * | the first has fewer rows than asked for            | the service may lower `limit`, and skip rows: all pages |
 * |                                                    | are read again with that number of rows, at least 10    |
 * | page 1 is refused                                  | `limit` is too large: half of it is tried, down to 10   |
 * | a later page is refused, or follows an empty one   | incomplete                                              |
 */
import type { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { Listing, ListingMemory, ListingSink } from '../model/listing.ts';
import type { ListingOptions } from '../model/service-request.ts';
import { type Collector, createCollector, createRowMap } from './collector.ts';
import { countRows, type FetchPage, fetchOrRefused, type Page } from './page.ts';

interface ReadListingOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  /** The facts about this listing that earlier runs have stored. */
  readonly memory: ListingMemory;
  /** Rows to ask for per page; if absent, the most that the service gives, up to 1,000. */
  readonly size?: number | undefined;
  /** The most pages that are read. A longer listing is incomplete. */
  readonly maxPages: number;
  /** Receives the rows. Without a sink the listing itself contains them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** Called after each page with the number of rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}

export const firstLimit = ({ memory, size = largestSize }: Pick<ListingOptions, 'memory' | 'size'>): number =>
  Math.min(size, memory.limit ?? size);

const leastLimit = 10;
const usualLimit = 100;
const largestSize = 1_000;

/** The result of a reading: its rows, or another `limit`, with which the reading must begin again. */
type Reading<Row> =
  | Pick<Progress<Row>, 'collector' | 'flaws'>
  | { readonly limit: number; readonly error?: ServiceError };

/** Half of the limit. A limit above `usualLimit`, which most services accept, is first lowered to `usualLimit`. */
const smallerThan = (limit: number) => Math.max(Math.floor(limit / 2), limit > usualLimit ? usualLimit : 0);

/** The facts about the pages so far. */
interface Progress<Row> {
  readonly collector: Collector<Row>;
  readonly flaws: string[];
  /** The number of rows of the first page with rows; 0 before it. */
  first: number;
  /** Empty pages in a row. */
  empty: number;
  /** Pages in a row without a new row. */
  repeats: number;
}

type Numbered = { readonly limit: number; readonly page: number };

/** @returns the result of the reading; `undefined` if it continues */
function takePage<Row extends { readonly id: Id }>(
  so: Progress<Row>,
  { limit, page }: Numbered,
  fetched: Page<Row>,
): Reading<Row> | undefined {
  const rows = countRows(fetched);
  const isNew = so.collector.add(fetched) > 0;
  if (so.first > 0 && so.first < limit && isNew) return { limit: so.first };
  // A page with fewer rows than requested can mean that the service skips rows, even if the next page has no new row.
  if (so.first === 0 && rows < limit && limit > leastLimit) return { limit: Math.max(rows, leastLimit) };
  so.first ||= rows;
  so.repeats = isNew ? 0 : so.repeats + 1;
  if (isNew || page < 2) return undefined;
  const isLeft = so.repeats > 1;
  so.flaws.push(
    isLeft
      ? `pages ${page - 2} to ${page} are the same: the service ignores \`page\``
      : `page ${page} brought nothing new`,
  );
  return isLeft ? so : undefined;
}

/** Handles a page with rows after an empty page. If pages begin at 1, page 0 is empty, so page 0 is requested again. */
async function checkEmpty<Row extends { readonly id: Id }>(
  { collector, flaws }: Progress<Row>,
  { limit, page }: Numbered,
  fetchPage: FetchPage<Row>,
): Promise<void> {
  if (page > 1) {
    flaws.push(`page ${page - 1} was empty and page ${page} was not`);
    return;
  }
  const again = await fetchOrRefused(fetchPage, { limit, page: 0 });
  if ('page' in again && collector.add(again.page) > 0) flaws.push('page 0 was empty at first');
}

async function readPages<Row extends { readonly id: Id }>(
  { fetchPage, maxPages, onPage }: ReadListingOptions<Row>,
  sink: ListingSink<Row>,
  limit: number,
): Promise<Reading<Row>> {
  const so: Progress<Row> = { collector: createCollector(sink), flaws: [], first: 0, empty: 0, repeats: 0 };
  for (let page = 0; page <= maxPages; page += 1) {
    const fetched = await fetchOrRefused(fetchPage, { limit, page });
    if ('refused' in fetched) {
      if (page === 0) continue;
      if (page === 1) return { limit: smallerThan(limit), error: fetched.refused };
      so.flaws.push(`page ${page} was refused (400)`);
      return so;
    }
    if (countRows(fetched.page) === 0) {
      so.empty += 1;
      if (so.empty > 1) return so;
      continue;
    }
    if (so.empty > 0) await checkEmpty(so, { limit, page }, fetchPage);
    so.empty = 0;
    const end = takePage(so, { limit, page }, fetched.page);
    onPage?.(so.collector.count);
    if (end !== undefined) return end;
  }
  so.flaws.push(`there are more than ${maxPages} pages`);
  return so;
}

/**
 * @returns `complete` only if every page up to the two empty pages was read and every row was taken
 * @throws ServiceError if a page gets no usable answer, or every `limit` down to 10 is refused
 */
export async function readListing<Row extends { readonly id: Id }>(
  options: ReadListingOptions<Row>,
): Promise<Listing<Row>> {
  const { memory } = options;
  const kept = createRowMap<Row>();
  let requests = 0;
  let isLargest = memory.isLargest === true;
  const counted = {
    ...options,
    fetchPage: (query: Parameters<FetchPage<Row>>[0]) => {
      requests += 1;
      return options.fetchPage(query);
    },
  };
  for (let limit = firstLimit(options); ; ) {
    const reading = await readPages(counted, options.sink ?? kept.sink, limit);
    if ('limit' in reading) {
      if (reading.error !== undefined && limit <= leastLimit) throw reading.error;
      ({ limit } = reading);
      isLargest = true;
      continue;
    }
    const { rejected, rejectedCount, count } = reading.collector;
    const flaws = [
      ...reading.flaws,
      ...(rejectedCount === 0 ? [] : [`${rejectedCount} rows could not be taken`]),
    ];
    // A listing that fits on one page does not show whether the service would have cut a longer listing.
    const fits = count <= limit;
    const learned = { ...memory, limit: fits || isLargest ? limit : null, isLargest: isLargest && !fits };
    const base = {
      rows: [...kept.rows.values()],
      count,
      rejected,
      requests,
      memory: learned,
      digests: null,
    };
    return flaws.length > 0
      ? { status: 'incomplete', because: flaws.join('; '), ...base }
      : { status: 'complete', ...base, isOffered: true, isKnown: false };
  }
}
