import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { Listing, ListingMemory, ListingSink } from '../model/listing.ts';
import { type Collector, createCollector, createRowMap } from './collector.ts';
import { type DateRow, walkDates } from './messages/date-cursor.ts';
import { learnNumbering, type Numbering } from './numbering.ts';
import { countRows, type FetchPage, type Page } from './page.ts';
import { walkPages } from './walk.ts';

interface ReadListingOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  /** The memory of earlier runs about this listing. */
  readonly memory: ListingMemory;
  /** Rows to ask for per page. If absent, it is 100 at first, and up to 1,000 if the service gives as many. */
  readonly size?: number | undefined;
  /** Requests in flight at once. */
  readonly parallel: number;
  /** A listing of more pages than this is not read further. */
  readonly maxPages: number;
  /** A row's `updated`, if the resource has one: then a service that ignores `page` can be read by date. */
  readonly updatedOf?: DateRow<Row> | undefined;
  /** Takes the rows. Without it the listing itself has them. */
  readonly sink?: ListingSink<Row> | undefined;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}

/** The smallest `limit` that is tried. */
const leastLimit = 10;
/** The `limit` that is asked for at first if no size is set, and the largest one that is tried. */
const usualSize = 100;
const largestSize = 1_000;

function halve(limit: number): number {
  return Math.max(Math.min(leastLimit, limit), Math.floor(limit / 2));
}

/** The remembered limit, if it came from this size. Otherwise the size is tried again. */
function chooseLimit(size: number, largest: number, remembered: number | null): number {
  if (remembered !== null && remembered > size && remembered <= largest) return remembered;
  for (let limit = size; remembered !== null; limit = halve(limit)) {
    if (limit === remembered) return remembered;
    if (limit === halve(limit)) break;
  }
  return size;
}

interface Reading<Row> {
  readonly options: ReadListingOptions<Row>;
  readonly sink: ListingSink<Row>;
  readonly size: number;
  readonly largest: number;
  readonly fetchPage: FetchPage<Row>;
  readonly requests: () => number;
}

/** The result of a reading: the number of rows, what to remember, and what speaks against completeness. */
function conclude<Row>(
  reading: Reading<Row>,
  { count, rejected, rejectedCount }: Collector<Row>,
  memory: ListingMemory,
  flaws: readonly string[],
): Listing<Row> {
  const all = rejectedCount === 0 ? flaws : [...flaws, `${rejectedCount} rows could not be taken`];
  const base = { rows: [], count, rejected, memory, requests: reading.requests() };
  if (all.length > 0) return { status: 'incomplete', because: all.join('; '), ...base };
  return { status: 'complete', ...base, isOffered: true };
}

function collect<Row extends { readonly id: Id }>(
  { sink }: Reading<Row>,
  pages: readonly Page<Row>[],
): Collector<Row> {
  const collector = createCollector<Row>(sink);
  for (const page of pages) collector.add(page);
  return collector;
}

/** Whether this size is too much for the service, or for us: it was refused, or its answer could not be taken. */
const isTooMuch = (error: unknown) =>
  error instanceof ServiceError && error.status !== undefined && (error.status === 400 || error.status < 300);

/**
 * Asks for a larger first page, and for half of that if it is refused. A page that is no larger than before shows
 * that there is a cap. From then on only a size is asked for that came in full, because a service that cuts pages
 * short may still skip as many rows as were asked for.
 */
async function grow<Row>(
  { fetchPage, largest }: Reading<Row>,
  limit: number,
  firstPage: 0 | 1,
): Promise<{ readonly limit: number; readonly page: Page<Row> } | null> {
  for (let tried = largest; tried > limit; tried = Math.floor(tried / 2)) {
    const page = await fetchPage({ limit: tried, page: firstPage }).catch((error: unknown) => {
      if (isTooMuch(error)) return null;
      throw error;
    });
    if (page === null) continue;
    return countRows(page) > limit ? { limit: countRows(page), page } : null;
  }
  return null;
}

interface Start<Row> {
  readonly known: readonly Page<Row>[];
  readonly expected: number;
  /** Whether a larger `limit` was tried. */
  readonly isTried: boolean;
}

/** The result is `null` if what was remembered contradicts itself, or the service no longer grants a larger `limit`. */
async function readNumbered<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  limit: number,
  firstPage: 0 | 1,
  { isTried, ...start }: Start<Row>,
): Promise<Listing<Row> | null> {
  const { options, fetchPage, size, sink } = reading;
  const { maxPages, parallel, memory } = options;
  const isGrown = limit > size;
  const how = { fetchPage, limit, firstPage, maxPages, parallel, sink };
  const walk = await walkPages({ ...how, ...start }).catch((error: unknown) => {
    if (isGrown && isTooMuch(error)) return { kind: 'contradiction' as const };
    throw error;
  });
  if (walk.kind === 'contradiction' || (isGrown && walk.isRagged)) return null;
  const isSame = memory.limit === limit && memory.firstPage === firstPage;
  const pages = walk.flaws.length === 0 ? walk.filled : isSame ? memory.pages : null;
  // A page that is no larger tells something only if there are more rows.
  const largest = isTried && walk.filled > 1 ? { isLargest: true } : {};
  return conclude(
    reading,
    walk.collector,
    { firstPage, limit, pages, cursor: 'page', ...largest },
    walk.flaws,
  );
}

async function readByDate<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  limit: number,
  first: Page<Row> | null,
): Promise<Listing<Row>> {
  const { options, fetchPage, sink } = reading;
  const { updatedOf, maxPages } = options;
  const memory: ListingMemory = { firstPage: null, limit, pages: null, cursor: 'page' };
  if (updatedOf === undefined) {
    const because = 'the service ignores `page`, and these rows have no date to go by';
    return conclude(reading, collect(reading, first === null ? [] : [first]), memory, [because]);
  }
  const walk = await walkDates({ fetchPage, limit, updatedOf, maxPages, sink, first });
  // Only a cursor that led to the end is remembered: drift can make numbered pages look all alike.
  const cursor = walk.flaws.length === 0 ? 'date' : 'page';
  return conclude(reading, walk.collector, { ...memory, cursor }, walk.flaws);
}

async function readUnknown<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  size: number,
): Promise<Listing<Row>> {
  const { fetchPage, options } = reading;
  let limit = size;
  let numbering: Numbering<Row> = await learnNumbering(fetchPage, limit);
  while (numbering.kind === 'refused') {
    if (limit === halve(limit)) throw numbering.error;
    limit = halve(limit);
    numbering = await learnNumbering(fetchPage, limit);
  }
  const memory: ListingMemory = { firstPage: null, limit, pages: null, cursor: 'page' };
  switch (numbering.kind) {
    case 'nothing-listed': {
      const { firstPage } = options.memory;
      return conclude(reading, collect(reading, []), { ...memory, firstPage, pages: 0 }, []);
    }
    case 'unclear':
      return conclude(reading, collect(reading, numbering.pages), memory, [numbering.because]);
    case 'page-ignored':
      return await readByDate(reading, limit, numbering.page);
    case 'numbered': {
      const { firstPage, pages: known } = numbering;
      const [first, second] = known.map(countRows);
      const isFull = first === limit && limit === reading.size && second !== 0;
      const grown = isFull ? await grow(reading, limit, firstPage) : null;
      const start = { known, expected: 0, isTried: limit < reading.largest };
      const large =
        grown === null
          ? null
          : await readNumbered(reading, grown.limit, firstPage, { ...start, known: [grown.page] });
      const listing = large ?? (await readNumbered(reading, limit, firstPage, start));
      return (
        listing ??
        conclude(reading, collect(reading, known), memory, ['the numbers of the pages are unclear'])
      );
    }
    default:
      return numbering satisfies never;
  }
}

/** How to begin if the numbering is known. A larger `limit` is tried once there is more than one page. */
async function growRemembered<Row>(
  reading: Reading<Row>,
  limit: number,
  firstPage: 0 | 1,
  expected: number,
): Promise<Start<Row> & { readonly limit: number }> {
  const { isLargest = false } = reading.options.memory;
  const asIs = { limit, known: [], expected, isTried: isLargest };
  if (expected < 2 || isLargest || limit < reading.size || limit >= reading.largest) return asIs;
  const grown = (await grow(reading, limit, firstPage)) ?? { limit };
  const rows = (expected - 1) * limit + 1;
  return { ...asIs, limit: grown.limit, expected: Math.ceil(rows / grown.limit), isTried: true };
}

/**
 * Reads a listing to its end. Nothing is assumed of its pages: numbering, largest `limit` and order are
 * "not shown" (interface.md, Endpoints, note 5; Limits). What was learned comes back as `memory`; with it,
 * n rows in pages of L cost ceil(n / L) + 1 requests, which all leave at once.
 *
 * @returns `complete` only if every page up to the empty one was read and every row was taken
 * @throws ServiceError when a page cannot be had, or every `limit` down to 10 is refused
 */
export async function readListing<Row extends { readonly id: Id }>(
  options: ReadListingOptions<Row>,
): Promise<Listing<Row>> {
  if (options.sink !== undefined) return await readInto(options, options.sink);
  const { sink, rows } = createRowMap<Row>();
  return { ...(await readInto(options, sink)), rows: [...rows.values()] };
}

async function readInto<Row extends { readonly id: Id }>(
  options: ReadListingOptions<Row>,
  sink: ListingSink<Row>,
): Promise<Listing<Row>> {
  const { memory, size = usualSize } = options;
  const largest = options.size ?? largestSize;
  let requests = 0;
  let rows = 0;
  const fetchPage: FetchPage<Row> = async (query) => {
    requests += 1;
    const page = await options.fetchPage(query);
    rows += page.rows.length;
    options.onPage?.(rows);
    return page;
  };
  const reading: Reading<Row> = { options, sink, size, largest, fetchPage, requests: () => requests };
  const limit = chooseLimit(size, largest, memory.limit);
  if (memory.cursor === 'date' && options.updatedOf !== undefined) {
    return await readByDate(reading, limit, null);
  }
  if (memory.firstPage !== null) {
    const expected = limit === memory.limit ? (memory.pages ?? 0) : 0;
    const start = await growRemembered(reading, limit, memory.firstPage, expected);
    rows = 0;
    const listing = await readNumbered(reading, start.limit, memory.firstPage, start);
    if (listing !== null) return listing;
  }
  rows = 0;
  return await readUnknown(reading, Math.min(limit, size));
}
