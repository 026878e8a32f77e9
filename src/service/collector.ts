import type { Id } from '../model/id.ts';
import type { ListingSink } from '../model/listing.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import { createIdSet } from './id-set.ts';
import { countRows, type Page } from './page.ts';

/** Number of rejected rows to keep with excerpts; further ones are only counted. */
const keptRejected = 1_000;

/** Passes on the rows of a listing while its pages come in. If an id comes twice, the later row counts. */
export interface Collector<Row> {
  /** @returns the number of rows of the page that are new */
  add(page: Page<Row>): number;
  readonly count: number;
  readonly rejected: readonly RejectedRow[];
  readonly rejectedCount: number;
  has(id: Id): boolean;
  /** How many rows went to the sink. */
  readonly added: number;
  /** How many rows had the id of an earlier one. */
  readonly repeated: number;
}

/**
 * @param sink its previous content is dropped
 * @param isNews whether rows that are the same are known by their ids alone
 */
export function createCollector<Row extends { readonly id: Id }>(
  sink: ListingSink<Row>,
  isNews = false,
): Collector<Row> {
  const ids = createIdSet();
  const added = isNews ? createIdSet() : ids;
  const rejected: RejectedRow[] = [];
  const seenRejected = new Set<Id | string>();
  let rejectedCount = 0;
  let repeated = 0;
  sink.clear();
  const take = (rows: readonly Row[]): readonly Row[] => {
    const again: Row[] = [];
    const fresh: Row[] = [];
    const first = rows.filter((row) => {
      const isFresh = ids.add(row.id);
      const isFirst = added === ids ? isFresh : added.add(row.id);
      if (isFresh) fresh.push(row);
      if (!isFirst) again.push(row);
      return isFirst;
    });
    sink.add(first);
    for (const row of again) sink.replace(row);
    repeated += rows.length - fresh.length;
    return fresh;
  };
  const isFreshRejected = ({ id, excerpt }: RejectedRow): boolean => {
    const key = id ?? excerpt;
    const isNew = !seenRejected.has(key) && (id === null || !ids.has(id));
    seenRejected.add(key);
    return isNew;
  };
  return {
    add: (page) => {
      const taken = take(page.rows).filter(({ id }) => !seenRejected.has(id));
      const known = page.same ?? [];
      const same = known.filter((id) => ids.add(id)).length;
      repeated += known.length - same;
      const fresh = taken.length + same + page.rejected.filter(isFreshRejected).length;
      if (fresh > 0 || countRows(page) === 0) {
        rejectedCount += page.rejected.length;
        rejected.push(...page.rejected.slice(0, keptRejected - rejected.length));
      }
      return fresh;
    },
    get count() {
      return ids.size;
    },
    has: (id) => ids.has(id),
    get added() {
      return added.size;
    },
    get repeated() {
      return repeated;
    },
    get rejected() {
      return rejected;
    },
    get rejectedCount() {
      return rejectedCount;
    },
  };
}

/** Keeps all rows in memory. */
export function createRowMap<Row extends { readonly id: Id }>() {
  const rows = new Map<Id, Row>();
  const replace = (row: Row) => {
    rows.set(row.id, row);
  };
  const sink: ListingSink<Row> = { clear: () => rows.clear(), add: (some) => some.forEach(replace), replace };
  return { rows, sink };
}
