/** Publishes a listing as a run does once its pages are there, and prints what that took: rows, case. */
import { sql } from 'kysely';
import { createDatabase } from '../src/mirror/database.ts';
import { publishListing, tagTable } from '../src/mirror/listings.ts';
import { createSpool } from '../src/mirror/spool.ts';
import type { ListingMemory } from '../src/model/listing.ts';
import type { Tag } from '../src/model/tag.ts';
import { readListing } from '../src/service/pages.ts';
import { type TagCase, tagsOf, teamId } from './tags.ts';

export interface Published {
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident memory at its peak, less what there was before the first row. */
  readonly memoryMb: number;
}

const rowsPerPage = 1_000;
const [count = '0', what = 'new'] = process.argv.slice(2);
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

const spool = createSpool(tagTable);
const memory: ListingMemory = { firstPage: 0, limit: rowsPerPage, pages: null, cursor: 'page' };
let since = now();
// Page by page, as they come from a service: nobody holds all of them.
await readListing<Tag>({
  memory,
  size: rowsPerPage,
  parallel: 1,
  maxPages: Number(count),
  sink: spool,
  fetchPage: ({ page = 0 }) => {
    take(since);
    const from = page * rowsPerPage;
    const rows = [...tagsOf(Math.min(Number(count), from + rowsPerPage), what as TagCase, from)];
    since = now();
    return Promise.resolve({ rows, rejected: [] });
  },
});
await db.transaction(async (tx) => {
  await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
  return await publishListing(tx, { teamId, runId: 1n }, spool);
});
take(since);
spool.close();
await db.close();
const published: Published = { ...taken, memoryMb: process.resourceUsage().maxRSS / 1024 - restMb };
process.stdout.write(JSON.stringify(published));
