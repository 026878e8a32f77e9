/** Publishes a listing as a run does once its pages are there, and prints what that took: rows, case. */
import { createDatabase } from '../src/mirror/database.ts';
import { takeLease } from '../src/mirror/lease.ts';
import { createMirror } from '../src/mirror/mirror.ts';
import { beginRun } from '../src/mirror/runs.ts';
import { type TagCase, tagsOf, teamId } from './tags.ts';

export interface Published {
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident memory at its peak, less what there was before the first row. */
  readonly memoryMb: number;
}

const [count = '0', what = 'new'] = process.argv.slice(2);
const db = createDatabase({ url: process.env['DATABASE_URL'] ?? '', applicationName: 'musterd bench' });
const lease = await takeLease(db, 'default', { ttlMs: 600_000 });
const runId = await beginRun(db, lease, 'reconcile', ['listings']);
const mirror = createMirror(db, lease, teamId, runId);
const restMb = process.memoryUsage().rss / 2 ** 20;
const rows = [...tagsOf(Number(count), what as TagCase)];
const cpuBefore = process.cpuUsage();
const began = performance.now();
await mirror.applyTags(rows);
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpuBefore);
await lease.release();
await db.close();
const published: Published = {
  ms,
  cpuMs: (user + system) / 1000,
  memoryMb: process.resourceUsage().maxRSS / 1024 - restMb,
};
process.stdout.write(JSON.stringify(published));
