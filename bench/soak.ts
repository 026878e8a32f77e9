/**
 * `npm run soak -- --minutes 60 [--users 500] [--seed 1] [--write]`: a daemon that reads all users every five seconds, and
 * an emulator of which one request in a hundred goes wrong, while people edit on both sides. Prints what the daemon
 * holds, what of it grows after the first quarter, and ends with 1 if something does; `--write` draws it into docs. All
 * samples are in coverage/soak.json.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { createEmulator, type Emulator } from '../src/emulator/create-emulator.ts';
import { parseFaults } from '../src/emulator/faults/faults.ts';
import { createRandom } from '../src/emulator/random.ts';
import { createDatabase } from '../src/mirror/db/database.ts';
import { runSqlText } from '../src/mirror/db/sql-text.ts';
import { migrate } from '../src/mirror/migrations.ts';
import { drawPlot } from './plot.ts';
import type { Holding } from './soak-probe.ts';

interface Sample extends Holding {
  readonly minute: number;
  readonly rssMb: number;
  readonly files: number;
  readonly connections: number;
}
type Measure = Exclude<keyof Sample, 'minute'>;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    users: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const everyMs = Math.min(10_000, minutes * 1_000);
const random = createRandom(Number(values.seed));
const began = performance.now();
const minute = () => (performance.now() - began) / 60_000;

/** What goes wrong, one after the other; `times` and `at` are given when it is its turn. */
const faults = [
  'too-many-requests',
  'status,code=503',
  'status,code=500,effect=applied',
  'html',
  'garbage',
  'reset-before',
  'reset-in',
  'reset-after',
  'truncate',
  'stall',
  'delay,ms=3000',
  'empty',
  'shrink,keep=90',
  'repeat',
  'late,requests=2,answer=reset',
];

const daemonSettings = {
  MUSTERD__schedule__users: '*/5 * * * * *',
  MUSTERD__schedule__listings: '*/30 * * * * *',
  MUSTERD__schedule__counts: '*/15 * * * * *',
  MUSTERD__push__quietPeriodMs: '30000',
  MUSTERD__http__totalDeadlineMs: '10000',
  MUSTERD__log__level: 'error',
};

function startDaemon(environment: Readonly<Record<string, string>>): ChildProcess {
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  return spawn(
    process.execPath,
    ['--expose-gc', '--import', file('soak-probe.ts'), file('../src/main.ts'), 'daemon'],
    {
      env: { ...environment, ...daemonSettings, SOAK_EVERY_MS: String(everyMs) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
}

/** One request in a hundred goes wrong: somewhere in the next 199 each time, and each time otherwise. */
function playFaults(emulator: Emulator) {
  let played = 0;
  let nextAt = 0;
  let turn = 0;
  return {
    played: () => played,
    step: () => {
      const seen = emulator.requests.at(-1)?.number ?? 0;
      if (seen < nextAt) return;
      if (nextAt > 0) played += 1;
      emulator.clearFaults();
      const at = random.between(1, 199);
      nextAt = seen + at;
      for (const fault of parseFaults([`${faults[turn % faults.length]},at=${at}`])) emulator.addFault(fault);
      turn += 1;
    },
  };
}

/** What people do in a second: those with an even id are edited in the mirror, the others in the web app. */
async function playPeople(
  second: number,
  { team }: Emulator,
  sql: (text: string) => Promise<unknown>,
  wanted: Map<number, string>,
): Promise<void> {
  const users = team.users();
  const pick = (even: boolean) => random.pick(users.filter(({ id }) => (id % 2 === 0) === even));
  const phone = `1555${String(1_000_000 + second)}`;
  if (second % 2 === 0) {
    const { id } = pick(true);
    wanted.set(id, phone);
    await sql(`update mirror.users set phone = '${phone}' where id = ${id}`);
  }
  if (second % 3 === 0) team.editUser(pick(false).id, { last: `Berg ${second}` });
  if (second % 20 === 0) team.editTag(random.pick(team.tags()).id, { tag: `tag ${second}` });
  if (second % 60 === 0) {
    team.removeUser(pick(false).id);
    // As many stay, and those who come have an odd id, too.
    const id = Math.max(...users.map((user) => user.id)) + 1;
    team.addUser({
      id: id + ((id + 1) % 2),
      first: 'Robin',
      last: 'New',
      phone: `1666${1_000_000 + second}`,
    });
  }
}

/** How much more there is after an hour, by the line of least squares. */
function growthOf(
  samples: readonly Sample[],
  measure: Measure,
): { readonly mean: number; readonly slope: number } {
  const mean = (of: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [x, y] = [mean((sample) => sample.minute), mean((sample) => sample[measure])];
  const slope =
    mean((sample) => (sample.minute - x) * (sample[measure] - y)) /
    mean((sample) => (sample.minute - x) ** 2);
  return { mean: y, slope: slope * 60 };
}

const measures: Readonly<Record<Measure, string>> = {
  rssMb: 'resident memory, MB',
  objectsMb: 'heap after a garbage collection, without compiled code, MB',
  codeMb: 'compiled code in the heap, MB',
  externalMb: 'memory outside of the heap, MB',
  files: 'open files and sockets',
  resources: 'active resources of Node',
  connections: 'connections to Postgres',
  lagMs: 'lag of the event loop (99th percentile), ms',
};

/** How much more, of the mean, an hour may bring. V8 goes on compiling whatever is called often enough by then. */
const allowed: Readonly<Partial<Record<Measure, number>>> = { codeMb: 0.5, lagMs: Number.POSITIVE_INFINITY };

/** @returns whether nothing grows. */
function report(samples: readonly Sample[]): boolean {
  const settled = samples.filter((sample) => sample.minute > minutes / 4);
  process.stdout.write(
    '| Measured after the first quarter | Mean | Least | Most | Growth per hour |\n|---|---|---|---|---|\n',
  );
  const grown = Object.entries(measures).filter(([name, words]) => {
    const all = settled.map((sample) => sample[name as Measure]);
    const { mean, slope } = growthOf(settled, name as Measure);
    const figures = [mean, Math.min(...all), Math.max(...all), slope].map((value) => value.toFixed(1));
    process.stdout.write(`| ${[words, ...figures].join(' | ')} |\n`);
    return slope > Math.max((allowed[name as Measure] ?? 0.1) * mean, 1);
  });
  for (const [, words] of grown) process.stdout.write(`It grows: ${words}\n`);
  return grown.length === 0;
}

function draw(samples: readonly Sample[]): void {
  const line = (measure: Measure) => ({
    name: measures[measure].split(',')[0] ?? measure,
    points: samples.map((sample) => ({ x: sample.minute, y: sample[measure] })),
  });
  const title = `A daemon over ${minutes} minutes, ${values.users} users, 1 % faults`;
  const plots = {
    'memory.svg': { y: 'MB', lines: (['rssMb', 'objectsMb', 'codeMb', 'externalMb'] as const).map(line) },
    'handles.svg': { y: '', lines: (['files', 'resources', 'connections'] as const).map(line) },
  };
  for (const [name, plot] of Object.entries(plots)) {
    writeFileSync(
      new URL(`../docs/reliability/${name}`, import.meta.url),
      drawPlot({ title, x: 'minutes', ...plot }),
    );
  }
}

const embedded = await openEmbedded({ ephemeral: true });
const db = createDatabase({ url: embedded.url, applicationName: 'soak' });
const emulator = await createEmulator({ http: true, users: Number(values.users), tags: 200, fields: 20 });
await migrate(db);
const sql = async (text: string) => (await runSqlText(db, text)).rows;
const port = 18_000 + random.between(0, 999);
const daemon = startDaemon({
  ...emulator.environment,
  DATABASE_URL: embedded.url,
  MUSTERD__status__port: String(port),
});
const ended = new Promise((resolve) => daemon.once('exit', resolve));
let isOver = false;
void ended.then(() => {
  isOver = true;
});

const samples: Sample[] = [];
const sample = async (holding: Holding) => {
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1]);
  const files = readdirSync(`/proc/${daemon.pid}/fd`).length;
  const [[connections = 0] = []] = await sql(
    `select count(*)::int from pg_stat_activity where backend_type = 'client backend' and application_name <> 'soak'`,
  );
  samples.push({
    ...holding,
    minute: minute(),
    rssMb: rssKb / 1024,
    files,
    connections: Number(connections),
  });
  const last = samples.at(-1);
  if (samples.length % 30 === 1) process.stderr.write(`${JSON.stringify(last)}\n`);
};
daemon.on('message', (holding: Holding) => void sample(holding));

const trouble = playFaults(emulator);
const wanted = new Map<number, string>();
let asked = 0;
for (let second = 1; minute() < minutes && !isOver; second += 1) {
  await delay(1_000);
  trouble.step();
  const [[isThere] = []] = second < 30 ? await sql('select count(*) > 100 from mirror.users') : [[true]];
  if (isThere === true) await playPeople(second, emulator, sql, wanted);
  if (second % 15 !== 0) continue;
  // As Prometheus and a person with the page would.
  for (const path of ['metrics', ...(second % 60 === 0 ? [''] : [])]) {
    asked += await fetch(`http://127.0.0.1:${port}/${path}`).then(
      async (answer) => ((await answer.text()) !== '' && answer.ok ? 1 : 0),
      () => 0,
    );
  }
}
emulator.clearFaults();
const lacking = () => [...wanted].filter(([id, phone]) => emulator.team.user(id).phone !== phone);
for (let second = 0; second < 120 && lacking().length > 0 && !isOver; second += 1) await delay(1_000);
const runs = await sql('select outcome, count(*)::int from sync.runs group by 1 order by 1');
const held = await sql('select reason, count(*)::int from sync.held_fields group by 1 order by 1');
const died = isOver;
daemon.kill('SIGTERM');
await ended;
const requests = emulator.requests.at(-1)?.number ?? 0;
const words = (rows: readonly (readonly unknown[])[]) =>
  rows.map((row) => row.join(' ')).join(', ') || 'none';
process.stdout.write(
  [
    `${minute().toFixed(1)} minutes, ${requests} requests, of which ${trouble.played()} went wrong; runs: ${words(runs)}`,
    `${wanted.size} users edited in the mirror; not on the service at the end: ${lacking().length}; held: ${words(held)}`,
    `${asked} answers of the status server; the daemon ended ${died ? 'by itself' : `with ${daemon.exitCode}`}`,
    '',
    '',
  ].join('\n'),
);
const isFlat = report(samples);
mkdirSync('coverage', { recursive: true });
writeFileSync('coverage/soak.json', JSON.stringify(samples));
if (values.write) draw(samples);
await emulator.close();
await db.close();
await embedded.close();
process.exitCode = isFlat && !died && lacking().length === 0 ? 0 : 1;
