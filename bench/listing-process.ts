/**
 * Publishes a listing as a run does, and prints what that took: rows, case, file. In the case `all` all rows are compared,
 * as a run does once a day; `unchanged` and `1 % changed` are given the answers, and the digests that the file has of them
 * since the first run.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { createDatabase } from '../src/mirror/db/database.ts';
import { type ListingSpool, publishListing, tableOf } from '../src/mirror/listings/listings.ts';
import { readListingRests } from '../src/mirror/team/read-rest.ts';
import { createSpool } from '../src/mirror/db/spool.ts';
import type { Listing, ListingMemory } from '../src/model/listing.ts';
import type { ListedRow } from '../src/model/listed-resource.ts';
import tags from '../src/model/listed/tags.ts';
import { createListingEndpoints } from '../src/service/listing-endpoints.ts';
import { readListing } from '../src/service/pages.ts';
import { readList } from '../src/service/parse-json.ts';
import { type TagCase, tagsOf, teamId, toWire } from './tags.ts';

export interface Published {
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident memory at its peak, less what there was before the first row. */
  readonly memoryMb: number;
}

const rowsPerPage = 1_000;
const longestAnswer = 33_554_432;
const [given = '0', what = 'new', file = ''] = process.argv.slice(2);
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

const memory: ListingMemory = { firstPage: 0, limit: rowsPerPage, pages: null, cursor: 'page' };
const rowsOf = (page: number, of: TagCase) => {
  const from = page * rowsPerPage;
  return [...tagsOf(Math.min(count, from + rowsPerPage), of, from)];
};
const pages = { maxPages: count + 1, parallel: 1 };

/** Page by page, as they come from a service: nobody holds all of them. */
async function readRows(sink: ListingSpool): Promise<Listing<ListedRow>> {
  const fetchPage = ({ page = 0 }) =>
    Promise.resolve({ rows: made(() => rowsOf(page, what === 'new' ? 'new' : 'unchanged')), rejected: [] });
  return await readListing<ListedRow>({ memory, size: rowsPerPage, ...pages, sink, fetchPage });
}

/** In a buffer of its own, as an answer is: it is let go once it is read. */
function bytesOf(rows: readonly ListedRow[]): Buffer {
  const text = JSON.stringify(rows.map(toWire));
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The same from the bytes of the answers. */
async function readAnswers(
  of: TagCase,
  sink: ListingSpool,
  known?: readonly string[],
): Promise<Listing<ListedRow>> {
  const endpoints = createListingEndpoints(async ({ body, list }) => {
    const { page = 0 } = body as { readonly page?: number };
    const bytes = made(() => bytesOf(rowsOf(page, of)));
    const parsed = await readList({ take: () => bytes }, longestAnswer, list ?? {});
    if (parsed === null || 'excess' in parsed) throw new Error('a page could not be read');
    return { operation: 'tags', status: 200, requestId: null, headers: {}, body: parsed };
  }, pages);
  return await endpoints.list(tags, { memory, size: rowsPerPage, sink, known });
}

async function publish(spool: ListingSpool): Promise<void> {
  await db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return await publishListing(tx, { teamId, runId: 1n }, spool);
  });
}

/** What a run keeps of a listing. */
async function keep(): Promise<void> {
  const spool = createSpool(tableOf(tags));
  const listing = await readAnswers('new', spool);
  spool.close();
  if (listing.status !== 'complete') throw new Error('nothing to keep');
  writeFileSync(file, JSON.stringify(listing.digests ?? []));
}

const spool = createSpool(tableOf(tags));
if (what === 'new' || what === 'all') {
  await readRows(spool);
  await publish(spool);
} else {
  await readListingRests(db.kysely, teamId);
  const kept = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
  const listing = await readAnswers(what as TagCase, spool, kept);
  if (listing.status !== 'complete' || listing.isAsKnown !== true) await publish(spool);
}
take(since);
spool.close();
const published: Published = { ...taken, memoryMb: process.resourceUsage().maxRSS / 1024 - restMb };
if (what === 'new') await keep();
await db.close();
process.stdout.write(JSON.stringify(published));
