/**
 * Learns how a listing numbers its pages, from pages 0, 1 and, where 0 equals 1, 2. "Page numbering of the
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
 * The two errors do not weigh the same. Pages 0, 1, 2 … of a listing that starts at 1 hold all its rows;
 * pages 1, 2 … of one that starts at 0 do not. So base 1 needs proof: page 0 must repeat page 1 exactly
 * (rows added between the two requests make them differ, and base 0 is taken, harmlessly), and an empty
 * page 0 is asked for a second time, since an empty answer may be a mistake.
 */
import type { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { countRows, type Fetched, type FetchPage, fetchOrRefused, type Page, samePage } from './page.ts';

export type Numbering<Row> =
  /** `pages` are those from `firstPage` on that are known by now. */
  | { readonly kind: 'numbered'; readonly firstPage: 0 | 1; readonly pages: readonly Page<Row>[] }
  | { readonly kind: 'nothing-listed' }
  | { readonly kind: 'page-ignored'; readonly page: Page<Row> }
  | { readonly kind: 'unclear'; readonly pages: readonly Page<Row>[]; readonly because: string }
  | { readonly kind: 'refused'; readonly error: ServiceError };

type Look = 'refused' | 'empty' | 'filled';

function look<Row>(fetched: Fetched<Row>): Look {
  if ('refused' in fetched) return 'refused';
  return countRows(fetched.page) === 0 ? 'empty' : 'filled';
}

function pageOf<Row>(fetched: Fetched<Row>): readonly Page<Row>[] {
  return 'page' in fetched ? [fetched.page] : [];
}

/** What pages 0 and 1 say on their own; `null` where page 2 has to be asked as well. */
function judgeTwo<Row extends { readonly id: Id }>(
  zero: Fetched<Row>,
  one: Fetched<Row>,
): Numbering<Row> | null {
  if ('refused' in one) {
    if ('refused' in zero) return { kind: 'refused', error: one.refused };
    return { kind: 'unclear', pages: [zero.page], because: 'page 1 was refused, and page 0 was not' };
  }
  if (look(zero) !== 'filled') {
    if (look(one) === 'empty') return { kind: 'nothing-listed' };
    return { kind: 'numbered', firstPage: 1, pages: [one.page] };
  }
  const pages = [...pageOf(zero), one.page];
  const [first] = pages;
  if (first !== undefined && samePage(first, one.page)) return null;
  return { kind: 'numbered', firstPage: 0, pages };
}

/**
 * Two requests, three where page 0 is empty or equals page 1. They leave one after the other: rows that
 * are added at the front meanwhile then repeat, and none is passed over.
 */
export async function learnNumbering<Row extends { readonly id: Id }>(
  fetchPage: FetchPage<Row>,
  limit: number,
): Promise<Numbering<Row>> {
  let zero = await fetchOrRefused(fetchPage, { limit, page: 0 });
  const one = await fetchOrRefused(fetchPage, { limit, page: 1 });
  if (look(zero) === 'empty' && look(one) === 'filled') {
    zero = await fetchOrRefused(fetchPage, { limit, page: 0 });
    if (look(zero) === 'filled') {
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
