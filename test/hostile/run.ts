/**
 * `npm run hostile -- --answers 100000 --rows 1000000 --seed 1`: a service that says anything, to a client and to whole runs.
 * Ends with 1 if something is broken.
 */
import { parseArgs } from 'node:util';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { type Played, playAnswers } from './play-answers.ts';
import { playRows } from './play-rows.ts';

const { values } = parseArgs({
  options: {
    answers: { type: 'string', default: '100000' },
    rows: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
  },
});
const seed = Number(values.seed);

function report(what: string, { outcomes, broken, heapMb }: Played): void {
  const parts = [...outcomes].toSorted(([, a], [, b]) => b - a).map(([name, times]) => `${name} ${times}`);
  process.stdout.write(
    [
      `${what}: ${parts.join(', ')}`,
      `heap ${heapMb.map((mb) => mb.toFixed(1)).join(' → ')} MB; broken: ${broken.length}`,
      ...broken.slice(0, 10),
      '',
    ].join('\n'),
  );
  if (broken.length > 0) process.exitCode = 1;
}

if (Number(values.answers) > 0) {
  const answers = await playAnswers(Number(values.answers), seed);
  report(`${answers.answers} answers, seed ${seed}`, answers);
}
if (Number(values.rows) > 0) {
  const embedded = await openEmbedded({ ephemeral: true, closePatienceMs: 0 });
  const db = createDatabase({ url: embedded.url, applicationName: 'hostile' });
  try {
    await migrate(db);
    const rows = await playRows(db, Number(values.rows), seed, 4_000);
    report(`${rows.answers} rows, seed ${seed}`, rows);
  } finally {
    await db.close();
    await embedded.close();
  }
}
