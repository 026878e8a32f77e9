import type { Id } from '../model/id.ts';
import type { Listing, ListingMemory } from '../model/listing.ts';
import { type Collector, createCollector } from './collector.ts';
import { type DateRow, walkDates } from './messages/date-cursor.ts';
import { learnNumbering, type Numbering } from './numbering.ts';
import type { FetchPage, Page } from './page.ts';
import { walkPages } from './walk.ts';

export interface ReadListingOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  /** What earlier runs learned of this listing. */
  readonly memory: ListingMemory;
  /** Rows to ask for per page. */
  readonly size: number;
  /** Requests in flight at once. */
  readonly parallel: number;
  /** A listing of more pages than this is not read further. */
  readonly maxPages: number;
  /** A row's `updated`, where the resource has one: then a service that ignores `page` can be read by date. */
  readonly updatedOf?: DateRow<Row>;
  /** Called after each page with the rows so far. */
  readonly onPage?: ((rows: number) => void) | undefined;
}

/** The smallest `limit` that is tried. */
const leastLimit = 10;

function halve(limit: number): number {
  return Math.max(Math.min(leastLimit, limit), Math.floor(limit / 2));
}

/** The remembered limit, where it is what refusals made of this size; otherwise the size is tried again. */
function chooseLimit(size: number, remembered: number | null): number {
  for (let limit = size; remembered !== null; limit = halve(limit)) {
    if (limit === remembered) return remembered;
    if (limit === halve(limit)) break;
  }
  return size;
}

interface Reading<Row> {
  readonly options: ReadListingOptions<Row>;
  readonly fetchPage: FetchPage<Row>;
  readonly requests: () => number;
}

/** What is known in the end: the rows, what to remember, and what speaks against completeness. */
function conclude<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  collector: Collector<Row>,
  memory: ListingMemory,
  flaws: readonly string[],
): Listing<Row> {
  const { rows, rejected, rejectedCount } = collector;
  const all = rejectedCount === 0 ? flaws : [...flaws, `${rejectedCount} rows could not be taken`];
  const base = { rows, rejected, memory, requests: reading.requests() };
  return all.length === 0
    ? { status: 'complete', ...base }
    : { status: 'incomplete', because: all.join('; '), ...base };
}

function collect<Row extends { readonly id: Id }>(pages: readonly Page<Row>[]): Collector<Row> {
  const collector = createCollector<Row>();
  for (const page of pages) collector.add(page);
  return collector;
}

/** `null`: what was remembered contradicts itself. */
async function readNumbered<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  limit: number,
  firstPage: 0 | 1,
  start: { readonly known: readonly Page<Row>[]; readonly expected: number },
): Promise<Listing<Row> | null> {
  const { options, fetchPage } = reading;
  const { maxPages, parallel } = options;
  const walk = await walkPages({ fetchPage, limit, firstPage, maxPages, parallel, ...start });
  if (walk.kind === 'contradiction') return null;
  const same = options.memory.limit === limit && options.memory.firstPage === firstPage;
  const pages = walk.flaws.length === 0 ? walk.filled : same ? options.memory.pages : null;
  return conclude(reading, walk.collector, { firstPage, limit, pages, cursor: 'page' }, walk.flaws);
}

async function readByDate<Row extends { readonly id: Id }>(
  reading: Reading<Row>,
  limit: number,
  first: Page<Row> | null,
): Promise<Listing<Row>> {
  const { options, fetchPage } = reading;
  const { updatedOf, maxPages } = options;
  const memory: ListingMemory = { firstPage: null, limit, pages: null, cursor: 'page' };
  if (updatedOf === undefined) {
    const because = 'the service ignores `page`, and these rows have no date to go by';
    return conclude(reading, collect(first === null ? [] : [first]), memory, [because]);
  }
  const walk = await walkDates({ fetchPage, limit, updatedOf, maxPages, first });
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
      return conclude(reading, collect<Row>([]), { ...memory, firstPage, pages: 0 }, []);
    }
    case 'unclear':
      return conclude(reading, collect(numbering.pages), memory, [numbering.because]);
    case 'page-ignored':
      return await readByDate(reading, limit, numbering.page);
    case 'numbered': {
      const { firstPage, pages: known } = numbering;
      const listing = await readNumbered(reading, limit, firstPage, { known, expected: 0 });
      return listing ?? conclude(reading, collect(known), memory, ['the numbers of the pages are unclear']);
    }
    default:
      return numbering satisfies never;
  }
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
  const { memory, size } = options;
  let requests = 0;
  let rows = 0;
  const fetchPage: FetchPage<Row> = async (query) => {
    requests += 1;
    const page = await options.fetchPage(query);
    rows += page.rows.length;
    options.onPage?.(rows);
    return page;
  };
  const reading: Reading<Row> = { options, fetchPage, requests: () => requests };
  const limit = chooseLimit(size, memory.limit);
  if (memory.cursor === 'date' && options.updatedOf !== undefined) {
    return await readByDate(reading, limit, null);
  }
  if (memory.firstPage !== null) {
    const expected = limit === memory.limit ? (memory.pages ?? 0) : 0;
    const listing = await readNumbered(reading, limit, memory.firstPage, { known: [], expected });
    if (listing !== null) return listing;
  }
  rows = 0;
  return await readUnknown(reading, limit);
}
