import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/listing.ts';
import { countRows, type Page, rowKeys } from './page.ts';

/** Rejected rows that are kept with their excerpts; beyond this only their number is. */
const keptRejected = 1_000;

/** The rows of a listing while its pages come in: each id once, the later page's row for the earlier one's. */
export interface Collector<Row> {
  /** @returns how many of the page's rows were not there before */
  add(page: Page<Row>): number;
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  readonly rejectedCount: number;
}

export function createCollector<Row extends { readonly id: Id }>(): Collector<Row> {
  const rows = new Map<Id, Row>();
  const rejected: RejectedRow[] = [];
  const seen = new Set<string>();
  let rejectedCount = 0;
  return {
    add: (page) => {
      const before = seen.size;
      for (const key of rowKeys(page)) seen.add(key);
      for (const row of page.rows) rows.set(row.id, row);
      const fresh = seen.size - before;
      if (fresh > 0 || countRows(page) === 0) {
        rejectedCount += page.rejected.length;
        rejected.push(...page.rejected.slice(0, keptRejected - rejected.length));
      }
      return fresh;
    },
    get rows() {
      return [...rows.values()];
    },
    get rejected() {
      return rejected;
    },
    get rejectedCount() {
      return rejectedCount;
    },
  };
}
