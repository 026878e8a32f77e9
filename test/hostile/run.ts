/**
 * `npm run hostile -- --answers 100000 --rows 1000000 --seed 1`: a service that says anything, to a client and to whole runs.
 * Ends with 1 if something is broken.
 */
import { parseArgs } from 'node:util';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { type OnProgress, type Played, playAnswers } from './play-answers.ts';
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

/** Says how far it is at each twentieth, on the other stream than what came of it. */
function tellProgress(what: string, count: number): OnProgress {
  let told = 0;
  return ({ answers, broken }) => {
    const part = Math.floor((20 * answers) / count);
    if (part <= told) return;
    told = part;
    const seconds = Math.round(performance.now() / 1_000);
    process.stderr.write(`${answers} of ${count} ${what} after ${seconds} s, broken: ${broken.length}\n`);
  };
}

if (Number(values.answers) > 0) {
  const count = Number(values.answers);
  const answers = await playAnswers(count, seed, tellProgress('answers', count));
  report(`${answers.answers} answers, seed ${seed}`, answers);
}
if (Number(values.rows) > 0) {
  const embedded = await openEmbedded({ ephemeral: true });
  const db = createDatabase({ url: embedded.url, applicationName: 'hostile' });
  try {
    await migrate(db);
    const count = Number(values.rows);
    const rows = await playRows(db, count, seed, 4_000, tellProgress('rows', count));
    report(`${rows.answers} rows, seed ${seed}`, rows);
  } finally {
    await db.close();
    await embedded.close();
  }
}
