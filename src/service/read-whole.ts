import type { Id } from '../model/id.ts';
import type { Listing } from '../model/listing.ts';
import type { ListingOptions } from '../model/service-request.ts';
import { createCollector, createRowMap } from './collector.ts';
import type { Page } from './page.ts';

interface ReadWholeOptions<Row> extends Pick<ListingOptions<Row>, 'memory' | 'sink' | 'onPage'> {
  readonly fetchAll: () => Promise<Page<Row>>;
}

/** Reads a listing that has no pages: its one answer has all rows. */
export async function readWhole<Row extends { readonly id: Id }>({
  fetchAll,
  memory,
  sink,
  onPage,
}: ReadWholeOptions<Row>): Promise<Listing<Row>> {
  const kept = createRowMap<Row>();
  const page = await fetchAll();
  const collector = createCollector<Row>(sink ?? kept.sink);
  collector.add(page);
  onPage?.(collector.count);
  const { count, rejected, rejectedCount } = collector;
  const base = { rows: [...kept.rows.values()], count, rejected, memory, requests: 1, digests: null };
  return rejectedCount > 0
    ? { status: 'incomplete', because: `${rejectedCount} rows could not be taken`, ...base }
    : { status: 'complete', ...base, isOffered: true, isKnown: false };
}
