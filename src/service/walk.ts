/**
 * Reads numbered pages to the empty one. Only an empty page ends a listing: a short one proves nothing,
 * since the service may give fewer rows than asked for ("Maximum page size (limit): not shown",
 * interface.md, Limits).
 */
import type { Id } from '../model/id.ts';
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

/** What was remembered about the numbers of the pages cannot be right (any more). */
export interface Contradiction {
  readonly kind: 'contradiction';
}

export interface WalkOptions<Row> {
  readonly fetchPage: FetchPage<Row>;
  readonly limit: number;
  readonly firstPage: 0 | 1;
  /** The first pages, where they are known already. */
  readonly known: readonly Page<Row>[];
  /** Pages that are likely to be filled: asked for at once, with the one after them; 0 where nobody knows. */
  readonly expected: number;
  readonly maxPages: number;
  /** Requests in flight at once. */
  readonly parallel: number;
}

/** All of `numbers`, some at once; after a failure no further one leaves. */
async function fetchAll<Row>(options: WalkOptions<Row>, numbers: readonly number[]): Promise<Fetched<Row>[]> {
  const { fetchPage, limit, parallel } = options;
  const fetched = new Map<number, Fetched<Row>>();
  const waiting = [...numbers].reverse();
  const work = async () => {
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      try {
        fetched.set(page, await fetchOrRefused(fetchPage, { limit, page }));
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, numbers.length) }, work));
  return numbers.flatMap((page) => fetched.get(page) ?? []);
}

const filledPage = <Row>(fetched: Fetched<Row> | undefined): Page<Row> | null =>
  fetched !== undefined && 'page' in fetched && countRows(fetched.page) > 0 ? fetched.page : null;

/** The first page refused, or empty with rows after it, or repeated by the second: the base is another one. */
function contradicts<Row extends { readonly id: Id }>(pages: readonly Fetched<Row>[]): boolean {
  const [first, second] = pages;
  if (first === undefined) return false;
  if ('refused' in first) return true;
  const firstPage = filledPage(first);
  if (firstPage === null) return pages.some((page) => filledPage(page) !== null);
  const secondPage = filledPage(second);
  return secondPage !== null && samePage(firstPage, secondPage);
}

/** Takes pages in their order and keeps book of what speaks against completeness. */
function createTaker<Row extends { readonly id: Id }>(firstPage: number, limit: number) {
  const collector = createCollector<Row>();
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
      // Past the end nobody needs an answer.
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
  const { firstPage, known, maxPages, limit, parallel } = options;
  const taker = createTaker<Row>(firstPage, Math.min(limit, ...known.map(countRows)));
  const wanted = Math.min(Math.max(options.expected + 1, known.length), maxPages);
  const numbers = Array.from({ length: wanted - known.length }, (_, i) => firstPage + known.length + i);
  const start = [...known.map((page) => ({ page })), ...(await fetchAll(options, numbers))];
  // What was learned just now is not questioned again.
  let unquestioned = known.length > 0;
  if (!unquestioned && contradicts(start)) return { kind: 'contradiction' };
  unquestioned ||= start.length > 1;
  for (const fetched of start) taker.take(fetched);
  // Where nobody knows how many there are, twice as many are asked for at once while they come back full.
  for (let width = 1; !taker.over(); ) {
    const left = maxPages - (taker.next() - firstPage);
    if (left <= 0) {
      taker.flaw(`there are more than ${maxPages} pages`);
      break;
    }
    const next = Array.from({ length: Math.min(width, left) }, (_, i) => taker.next() + i);
    const fetched = await fetchAll(options, next);
    if (!unquestioned && contradicts([...start, ...fetched])) return { kind: 'contradiction' };
    unquestioned = true;
    for (const one of fetched) taker.take(one);
    width = options.expected === 0 && taker.isFull() ? Math.min(width * 2, parallel) : 1;
  }
  return taker.end();
}
