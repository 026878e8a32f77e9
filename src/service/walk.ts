/**
 * Reads numbered pages to the empty one. Only an empty page ends a listing: a short one proves nothing,
 * since the service may give fewer rows than asked for ("Maximum page size (limit): not shown",
 * interface.md, Limits).
 */
import { setImmediate } from 'node:timers/promises';
import type { Id } from '../model/id.ts';
import type { ListingSink } from '../model/listing.ts';
import { type Collector, createCollector } from './collector.ts';
import { countRows, type Fetched, type FetchPage, fetchOrRefused, type Page, samePage } from './page.ts';

export interface Walk<Row> {
  readonly kind: 'walked';
  readonly collector: Collector<Row>;
  /** Pages that had rows. */
  readonly filled: number;
  /** Whether a page before the last was not full. */
  readonly isRagged: boolean;
  /** Why rows may be missing, although the walk is over; empty if none can be. */
  readonly flaws: readonly string[];
}

/** The remembered numbering of the pages is wrong, or no longer right. */
interface Contradiction {
  readonly kind: 'contradiction';
}

interface WalkOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  readonly limit: number;
  readonly firstPage: 0 | 1;
  /** The first pages, if they are known already. */
  readonly known: readonly Page<Row>[];
  /**
   * The number of pages that are likely to be filled. They are requested at once, with the one after them. It is 0 if
   * nobody knows.
   */
  readonly expected: number;
  readonly sink: ListingSink<Row>;
  readonly maxPages: number;
  /** Requests in flight at once. */
  readonly parallel: number;
}

/**
 * The pages in the order of `numbers`, of which several are under way at once. After a failure no further request
 * leaves.
 */
async function* fetchInOrder<Row>(
  { fetchPage, limit, parallel }: WalkOptions<Row>,
  numbers: readonly number[],
): AsyncGenerator<Fetched<Row>> {
  const underWay: Promise<Fetched<Row>>[] = [];
  let failed = false;
  try {
    const start = (page: number) => {
      const fetched = fetchOrRefused(fetchPage, { limit, page });
      fetched.catch(() => {
        failed = true;
      });
      underWay.push(fetched);
    };
    for (const page of numbers) {
      const arrived = underWay.length === parallel ? await underWay.shift() : undefined;
      if (!failed) start(page);
      if (arrived !== undefined) yield arrived;
      if (failed) break;
    }
    for (const fetched of underWay) yield await fetched;
  } finally {
    // A caller that does not want them any more makes other requests, but not while these are under way.
    if (!failed) await Promise.allSettled(underWay);
  }
}

const filledPage = <Row>(fetched: Fetched<Row> | undefined): Page<Row> | null =>
  fetched !== undefined && 'page' in fetched && countRows(fetched.page) > 0 ? fetched.page : null;

/**
 * Tells, page by page, whether the numbering begins elsewhere: the first page was refused, or is empty with rows
 * after it, or is repeated by the second.
 */
function createDoubt<Row extends { readonly id: Id }>(): (fetched: Fetched<Row>) => boolean {
  let first: Page<Row> | null | undefined;
  let count = 0;
  return (fetched) => {
    count += 1;
    const page = filledPage(fetched);
    if (count === 1) {
      first = page;
      return 'refused' in fetched;
    }
    if (page === null || first === undefined) return false;
    const contradicts = first === null || (count === 2 && samePage(first, page));
    if (first !== null) first = undefined;
    return contradicts;
  };
}

/** Takes pages in their order, and notes what speaks against completeness. */
function createTaker<Row extends { readonly id: Id }>(
  firstPage: number,
  limit: number,
  sink: ListingSink<Row>,
) {
  const collector = createCollector<Row>(sink);
  const flaws: string[] = [];
  let number = firstPage;
  let filled = 0;
  let emptyAt: number | null = null;
  let repeats = 0;
  let over = false;
  let isShort = false;
  let isRagged = false;
  const take = (fetched: Fetched<Row>) => {
    const page = number;
    number += 1;
    if ('refused' in fetched) {
      // Nobody needs an answer from past the end.
      if (emptyAt !== null) return;
      flaws.push(`page ${page} was refused (400)`);
      over = true;
    } else if (countRows(fetched.page) === 0) {
      emptyAt ??= page;
      over = true;
    } else {
      if (emptyAt !== null) flaws.push(`page ${emptyAt} was empty and page ${page} was not`);
      filled += 1;
      isRagged ||= isShort;
      isShort = countRows(fetched.page) < limit;
      repeats = collector.add(fetched.page) > 0 ? 0 : repeats + 1;
      if (repeats > 0) flaws.push(`page ${page} brought nothing new`);
      if (repeats > 1) over = true;
    }
  };
  return {
    take,
    next: () => number,
    isFull: () => !isShort,
    over: () => over,
    end: (): Walk<Row> => ({ kind: 'walked', collector, filled, isRagged, flaws }),
    flaw: (text: string) => {
      flaws.push(text);
      over = true;
    },
  };
}

/** @throws ServiceError when a page cannot be had; 400s are part of the result */
export async function walkPages<Row extends { readonly id: Id }>(
  options: WalkOptions<Row>,
): Promise<Walk<Row> | Contradiction> {
  const { firstPage, known, maxPages, limit, parallel, sink } = options;
  const taker = createTaker<Row>(firstPage, Math.min(limit, ...known.map(countRows)), sink);
  for (const page of known) taker.take({ page });
  const wanted = Math.min(Math.max(options.expected + 1, known.length), maxPages);
  const numbers = Array.from({ length: wanted - known.length }, (_, i) => firstPage + known.length + i);
  // A numbering that was learned just now is not questioned again.
  const doubt = known.length > 0 ? () => false : createDoubt<Row>();
  const fetchAll = async (some: readonly number[]) => {
    for await (const fetched of fetchInOrder(options, some)) {
      if (doubt(fetched)) return false;
      taker.take(fetched);
      // Pages that came together are one long piece of work.
      await setImmediate();
    }
    return true;
  };
  if (!(await fetchAll(numbers))) return { kind: 'contradiction' };
  // If nobody knows how many there are, twice as many are asked for at once while they come back full.
  for (let width = 1; !taker.over(); ) {
    const left = maxPages - (taker.next() - firstPage);
    if (left <= 0) {
      taker.flaw(`there are more than ${maxPages} pages`);
      break;
    }
    const next = Array.from({ length: Math.min(width, left) }, (_, i) => taker.next() + i);
    if (!(await fetchAll(next))) return { kind: 'contradiction' };
    width = options.expected === 0 && taker.isFull() ? Math.min(width * 2, parallel) : 1;
  }
  return taker.end();
}
