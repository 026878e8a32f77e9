import type { Id } from '../model/id.ts';
import type { ListingSink } from '../model/listing.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import { countRows, type Page } from './page.ts';

/** The most rejected rows that are kept with excerpts. Further rejected rows are only counted. */
const keptRejected = 1_000;

/** Passes on the rows of a listing as its pages arrive. If an id comes twice, the later row replaces the earlier one. */
export interface Collector<Row> {
  /** @returns the number of rows of the page that are new */
  add(page: Page<Row>): number;
  readonly count: number;
  readonly rejected: readonly RejectedRow[];
  readonly rejectedCount: number;
}

/** @param sink receives the rows; its previous content is dropped */
export function createCollector<Row extends { readonly id: Id }>(sink: ListingSink<Row>): Collector<Row> {
  const ids = new Set<Id>();
  const rejected: RejectedRow[] = [];
  const seenRejected = new Set<Id | string>();
  let rejectedCount = 0;
  sink.clear();
  const take = (rows: readonly Row[]): readonly Row[] => {
    const again: Row[] = [];
    const first = rows.filter((row) => {
      if (ids.has(row.id)) return again.push(row) === 0;
      ids.add(row.id);
      return true;
    });
    sink.add(first);
    for (const row of again) sink.replace(row);
    return first;
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
      const fresh = taken.length + page.rejected.filter(isFreshRejected).length;
      if (fresh > 0 || countRows(page) === 0) {
        rejectedCount += page.rejected.length;
        rejected.push(...page.rejected.slice(0, keptRejected - rejected.length));
      }
      return fresh;
    },
    get count() {
      return ids.size;
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
