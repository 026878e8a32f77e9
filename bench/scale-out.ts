/**
 * Many teams on several daemons, one of them killed: `node bench/scale-out.ts [teams] [users] [replicas]`.
 * What it prints stands in docs/scale-out.md.
 */
import { createDatabase } from '../src/mirror/db/database.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { migrate } from '../src/mirror/migrations.ts';
import { playScaleOut } from '../test/support/scale-out.ts';

const [teams = 200, users = 500, replicas = 3, intervalS = 60] = process.argv.slice(2).map(Number);
const say = (text: string) => process.stderr.write(`${text}\n`);
const options = {
  teams,
  users,
  replicas,
  schedule: intervalS === 60 ? '0 * * * * *' : `*/${intervalS} * * * * *`,
  intervals: 4,
  concurrency: 4,
  ratePerMinute: 500,
};
const embedded = await openEmbedded({ ephemeral: true, onProgress: say });
const db = createDatabase({ url: embedded.url, applicationName: 'musterd bench' });
try {
  await migrate(db);
  const result = await playScaleOut(options, { url: embedded.url, db }, say);
  process.stdout.write(`${JSON.stringify({ ...options, ...result }, null, 2)}\n`);
} finally {
  await db.close();
  await embedded.close();
}
