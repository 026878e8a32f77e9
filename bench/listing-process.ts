/** Publishes a listing as a run does once its pages are there, and prints what that took: rows, case. */
import { sql } from 'kysely';
import { createDatabase } from '../src/mirror/database.ts';
import { publishListing, tagTable } from '../src/mirror/listings.ts';
import { withSpool } from '../src/mirror/spool.ts';
import { type TagCase, tagsOf, teamId } from './tags.ts';

export interface Published {
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident memory at its peak, less what there was before the first row. */
  readonly memoryMb: number;
}

const [count = '0', what = 'new'] = process.argv.slice(2);
const db = createDatabase({ url: process.env['DATABASE_URL'] ?? '', applicationName: 'musterd bench' });
await sql`select 1`.execute(db.kysely);
const restMb = process.memoryUsage().rss / 2 ** 20;
const cpuBefore = process.cpuUsage();
const began = performance.now();
// Row by row, as pages come: nobody holds all of them.
await withSpool(tagTable, tagsOf(Number(count), what as TagCase), (spool) =>
  db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return await publishListing(tx, { teamId, runId: 1n }, spool);
  }),
);
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpuBefore);
await db.close();
const published: Published = {
  ms,
  cpuMs: (user + system) / 1000,
  memoryMb: process.resourceUsage().maxRSS / 1024 - restMb,
};
process.stdout.write(JSON.stringify(published));
