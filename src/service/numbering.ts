/**
 * Learns how a listing numbers its pages, from pages 0 and 1, and from 2 if these are equal. "Page numbering of the
 * pagination body: not shown" (interface.md, Endpoints, note 5).
 *
 * | page 0          | page 1         | page 2    | conclusion                                  |
 * |-----------------|----------------|-----------|---------------------------------------------|
 * | refused         | refused        |           | a smaller `limit` is tried                  |
 * | refused         | filled         |           | pages start at 1                            |
 * | empty, twice    | filled         |           | pages start at 1                            |
 * | refused, empty  | empty          |           | nothing is listed; the base stays unknown   |
 * | filled          | the same       | the same  | `page` is ignored                           |
 * | filled          | the same       | otherwise | pages start at 1; page 0 is page 1          |
 * | filled          | another, empty |           | pages start at 0                            |
 * | filled, empty   | refused        |           | unclear: incomplete                         |
 *
 * The two mistakes are not equally bad. Pages 0, 1, 2 … of a listing that starts at 1 contain all rows;
 * pages 1, 2 … of one that starts at 0 do not. So starting at 1 needs proof: page 0 must repeat page 1 exactly
 * (if rows are added between the two requests, they differ, and starting at 0 is harmless), and an empty
 * page 0 is requested a second time, because an empty answer may be a mistake.
 */
import type { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { countRows, type Fetched, type FetchPage, fetchOrRefused, type Page, samePage } from './page.ts';

export type Numbering<Row> =
  /** `pages` are the pages read so far, from `firstPage` on. */
  | { readonly kind: 'numbered'; readonly firstPage: 0 | 1; readonly pages: readonly Page<Row>[] }
  | { readonly kind: 'nothing-listed' }
  | { readonly kind: 'page-ignored'; readonly page: Page<Row> }
  | { readonly kind: 'unclear'; readonly pages: readonly Page<Row>[]; readonly because: string }
  | { readonly kind: 'refused'; readonly error: ServiceError };

function contentOf<Row>(fetched: Fetched<Row>): 'refused' | 'empty' | 'filled' {
  if ('refused' in fetched) return 'refused';
  return countRows(fetched.page) === 0 ? 'empty' : 'filled';
}

function pageOf<Row>(fetched: Fetched<Row>): readonly Page<Row>[] {
  return 'page' in fetched ? [fetched.page] : [];
}

/** The conclusion from pages 0 and 1; `null` if page 2 is needed. */
function judgeTwo<Row extends { readonly id: Id }>(
  zero: Fetched<Row>,
  one: Fetched<Row>,
): Numbering<Row> | null {
  if ('refused' in one) {
    if ('refused' in zero) return { kind: 'refused', error: one.refused };
    return { kind: 'unclear', pages: [zero.page], because: 'page 1 was refused, and page 0 was not' };
  }
  if (contentOf(zero) !== 'filled') {
    if (contentOf(one) === 'empty') return { kind: 'nothing-listed' };
    return { kind: 'numbered', firstPage: 1, pages: [one.page] };
  }
  const pages = [...pageOf(zero), one.page];
  const [first] = pages;
  if (first !== undefined && samePage(first, one.page)) return null;
  return { kind: 'numbered', firstPage: 0, pages };
}

/**
 * Two requests; three if page 0 is empty or equals page 1. They are sent one after the other: if rows
 * are added at the front meanwhile, rows repeat and none is missed.
 */
export async function learnNumbering<Row extends { readonly id: Id }>(
  fetchPage: FetchPage<Row>,
  limit: number,
): Promise<Numbering<Row>> {
  let zero = await fetchOrRefused(fetchPage, { limit, page: 0 });
  const one = await fetchOrRefused(fetchPage, { limit, page: 1 });
  if (contentOf(zero) === 'empty' && contentOf(one) === 'filled') {
    zero = await fetchOrRefused(fetchPage, { limit, page: 0 });
    if (contentOf(zero) === 'filled') {
      return {
        kind: 'unclear',
        pages: [...pageOf(zero), ...pageOf(one)],
        because: 'page 0 was empty at first',
      };
    }
  }
  const verdict = judgeTwo(zero, one);
  if (verdict !== null || !('page' in one)) return verdict ?? { kind: 'nothing-listed' };
  const two = await fetchOrRefused(fetchPage, { limit, page: 2 });
  if ('refused' in two) {
    return { kind: 'unclear', pages: [one.page], because: 'page 1 repeats page 0, and page 2 was refused' };
  }
  if (samePage(one.page, two.page)) return { kind: 'page-ignored', page: one.page };
  return { kind: 'numbered', firstPage: 1, pages: [one.page, two.page] };
}
