/** Publishes a listing as a run does, and prints what that took: rows, case. */
import { sql } from 'kysely';
import { createDatabase } from '../src/mirror/db/database.ts';
import { type ListingSpool, publishListing, tableOf } from '../src/mirror/listings/listings.ts';
import { createSpool } from '../src/mirror/db/spool.ts';
import type { Listing, ListingMemory } from '../src/model/listing.ts';
import type { ListedRow } from '../src/model/listed-resource.ts';
import tags from '../src/model/listed/tags.ts';
import { readListing } from '../src/service/pages.ts';
import { type TagCase, tagsOf, teamId } from './tags.ts';

export interface Published {
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident memory at its peak, less what there was before the first row. */
  readonly memoryMb: number;
}

const rowsPerPage = 1_000;
const [given = '0', what = 'new'] = process.argv.slice(2);
const count = Number(given);
const db = createDatabase({ url: process.env['DATABASE_URL'] ?? '', applicationName: 'musterd bench' });
await sql`select 1`.execute(db.kysely);
const restMb = process.memoryUsage().rss / 2 ** 20;
/** What this process has taken, but for the making of the rows: the file of COPY was made before, too. */
const taken = { ms: 0, cpuMs: 0 };
function take(since: ReturnType<typeof now>): void {
  const { ms, cpuMs } = now();
  taken.ms += ms - since.ms;
  taken.cpuMs += cpuMs - since.cpuMs;
}
function now() {
  const { user, system } = process.cpuUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1000 };
}
let since = now();
/** Its making takes no time. */
function made<T>(make: () => T): T {
  take(since);
  const value = make();
  since = now();
  return value;
}

const memory: ListingMemory = { limit: null };
const rowsOf = (page: number, of: TagCase) => {
  const from = page * rowsPerPage;
  return [...tagsOf(Math.min(count, from + rowsPerPage), of, from)];
};
const pages = { maxPages: count + 1 };

/** Page by page, as they come from a service: nobody holds all of them. */
async function readRows(sink: ListingSpool): Promise<Listing<ListedRow>> {
  const fetchPage = ({ page = 0 }) =>
    Promise.resolve({ rows: made(() => rowsOf(page, what as TagCase)), rejected: [] });
  return await readListing<ListedRow>({ memory, size: rowsPerPage, ...pages, sink, fetchPage });
}

async function publish(spool: ListingSpool): Promise<void> {
  await db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return await publishListing(tx, { teamId, runId: 1n }, spool);
  });
}

const spool = createSpool(tableOf(tags));
await readRows(spool);
await publish(spool);
take(since);
spool.close();
const published: Published = { ...taken, memoryMb: process.resourceUsage().maxRSS / 1024 - restMb };
await db.close();
process.stdout.write(JSON.stringify(published));
