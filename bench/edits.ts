/**
 * How long an edit takes from the end of its statement to the service: `node bench/edits.ts [edits] [users]`.
 * What it prints stands in docs/operations.md.
 */
import { createEmulator } from '../src/emulator/create-emulator.ts';
import { createDatabase } from '../src/mirror/database.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { migrate } from '../src/mirror/migrations.ts';
import { runSqlText } from '../src/mirror/sql-text.ts';
import { eventually } from '../test/support/eventually.ts';
import { startMusterd } from '../test/system/run-musterd.ts';

const [edits = 40, users = 200] = process.argv.slice(2).map(Number);
const embedded = await openEmbedded({ ephemeral: true, onProgress: () => {} });
const db = createDatabase({ url: embedded.url, applicationName: 'musterd bench' });
const emulator = await createEmulator({ http: true, users, tags: 10, fields: 5 });
await migrate(db);
const daemon = startMusterd(['daemon'], {
  ...emulator.environment,
  DATABASE_URL: embedded.url,
  MUSTERD__schedule__users: '0 0 1 1 *',
  MUSTERD__guard__maxSharePerDay: '1',
});
const isDone = async (what: string) => (await runSqlText(db, `select ${what}`)).rows[0]?.[0] === true;
try {
  await eventually('the first run', () =>
    isDone(`exists (select from sync.runs where outcome = 'complete')`),
  );
  const team = emulator.team.users().filter(({ email }) => email !== null);
  const took: number[] = [];
  for (let turn = 0; turn < edits; turn += 1) {
    const id = team[turn % team.length]?.id ?? 0;
    await eventually('a push may leave at once', () =>
      isDone(
        `coalesce(max(started_at), '-infinity') < clock_timestamp() - interval '5.5 seconds' from sync.due where run_group = 'edits'`,
      ),
    );
    await runSqlText(db, `update mirror.users set email = 'edit${turn}@example.com' where id = ${id}`);
    const began = performance.now();
    await eventually('the edit', () => emulator.team.user(id).email === `edit${turn}@example.com`);
    took.push(Math.round(performance.now() - began));
  }
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  process.stdout.write(
    `${JSON.stringify({ edits, users, medianMs: at(0.5), p99Ms: at(0.99), mostMs: sorted.at(-1) })}\n`,
  );
} finally {
  daemon.process.kill('SIGTERM');
  await daemon.ended;
  await emulator.close();
  await db.close();
  await embedded.close();
}
