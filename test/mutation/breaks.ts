/**
 * `npm run breaks` carries out one break of `breaks.txt` after another in a copy of the project, plays the tests that concern it,
 * and says who noticed. It ends with 1 if nobody did. What `npm run mutate` does for the decisions it does for SQL, and for what
 * has a database or a page behind it, with breaks that somebody chose.
 *
 * `--only 3,10-20` is for some by their number, `--in sync.held` for those whose file, name or text contains that; `--all` names
 * every test file that notices, and not only the first; `--guards` plays guards by what notices them in `docs/reliability.md`,
 * with `--from` and `--seeds` for the seeds of those that have some.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMPILED, copyCheckout, ROOT, temporaryFolder } from '../support/checkout.ts';
import { type Break, placesOf, players, readBreaks, specification, type Watch } from './read-breaks.ts';

const hungAfterMs = 240_000;

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const { values: given } = parseArgs({
  options: {
    only: { type: 'string' },
    in: { type: 'string', default: '' },
    all: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string' },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
using copy = temporaryFolder();
const folder = copy.path;
copyCheckout(folder);
// The bundle of before spares a build for each break: it counts as newer. Only whole commands are played with it.
const [built, ownBuilt] = [join(ROOT, '.cache'), join(folder, '.cache')];
const later = new Date(Date.now() + 86_400_000);
if (existsSync(built)) {
  cpSync(built, ownBuilt, { recursive: true });
  utimesSync(join(ownBuilt, 'main.js'), later, later);
}

/** @returns how it ended; `null`: not at all */
function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number | null> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', given.guards ? 'inherit' : 'ignore', 'ignore'],
    timeout: hungAfterMs,
    // The embedded server alone is enough to see it.
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, TEST_PG_BINDIR: join(folder, 'none'), ...env },
  });
  // Told to stop, vitest ends with a code of its own.
  return new Promise((resolve) => child.once('exit', (code) => resolve(child.killed ? null : code)));
}

function failedIn(report: string): readonly string[] {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name, assertionResults }) => {
      const first = assertionResults.find(({ status }) => status === 'failed');
      return `${name.slice(name.lastIndexOf('/test/') + 1)} › ${first?.fullName ?? 'as a whole'}`;
    });
}

/** @returns which tests failed, the first of each file; empty if none did; `null` if nothing began */
async function playTests(files: readonly string[], flags: readonly string[], env = {}) {
  const report = join(folder, 'report.json');
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const options = ['--reporter=json', `--outputFile.json=${report}`];
  let failed: readonly string[] | null = null;
  // On a busy machine nothing begins, or a run that bails out loses what failed: it is played again, as a whole.
  for (const more of given.all ? [[], []] : [['--bail=1'], []]) {
    rmSync(report, { force: true });
    const code = await run([vitest, 'run', ...files, ...flags, ...options, ...more], env);
    if (code === null) return ['it went on for ever'];
    // What is broken so that nothing begins would be noticed by anything, and shows nothing.
    failed = existsSync(report) ? failedIn(report) : null;
    if (failed !== null && (code === 0 || failed.length > 0)) break;
  }
  return failed;
}

/** Finds the tests of a title, which may be a template of several. */
const patternOf = (title: string) =>
  title
    .split(/%[a-z]|%%|\$\{?\w+\}?/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('.*');

async function playWatch(watch: Watch): Promise<readonly string[] | null> {
  const flags = ['-t', patternOf(watch.by)];
  if (watch.tier === 'test') return await playTests([watch.file], flags);
  const seeds = Number(given.seeds ?? watch.seeds);
  if (watch.tier === 'specification')
    return await playTests([specification], flags, { SPECIFICATION_STATES: String(1_000 * seeds) });
  const code = await run(
    [players[watch.tier].script, '--from', given.from, '--seeds', String(seeds), '--stop'],
    {},
  );
  if (code === null || code > 1) throw new Error(`the ${watch.tier} could not be played: ${code}`);
  return code === 0 ? [] : [`the ${watch.tier}: ${watch.by}`];
}

async function noticedBy(one: Break): Promise<readonly string[] | null> {
  const place = join(folder, one.file);
  const before = readFileSync(place, 'utf8');
  try {
    writeFileSync(
      place,
      before.replace(one.from, () => one.to),
    );
    const { guard, tests } = one;
    return given.guards && guard !== undefined ? await playWatch(guard.watch) : await playTests(tests, []);
  } finally {
    writeFileSync(place, before);
  }
}

const ranges = given.only?.split(',').map((part) => part.split('-').map(Number));
const isChosen = ({ nr, file, from, guard }: Break) =>
  (ranges?.some(([first = 0, last = first]) => nr >= first && nr <= last) ?? true) &&
  `${file} ${guard?.name ?? ''} ${from}`.includes(given.in) &&
  (!given.guards || guard !== undefined);
const chosen = readBreaks().filter(isChosen);
const counts = new Map<string, readonly [all: number, noticed: number]>();
for (const one of chosen) {
  const { nr, file, from, to, guard } = one;
  const startMs = performance.now();
  const by = placesOf(one) === 1 ? await noticedBy(one) : [];
  const found = by === null ? 'nothing began' : by.join('; ') || 'NOBODY';
  const words = placesOf(one) === 1 ? found : `its text stands there ${placesOf(one)} times`;
  const seconds = Math.round((performance.now() - startMs) / 1000);
  say([nr, words, `${seconds} s`, guard?.name ?? '', `- ${from}`, `+ ${to}`].join('\t'));
  const [all, noticed] = counts.get(file) ?? [0, 0];
  counts.set(file, [all + 1, noticed + Number((by?.length ?? 0) > 0)]);
}
for (const [file, [all, noticed]] of counts) say(`${file}: ${noticed} of ${all}`);
const noticed = [...counts.values()].reduce((sum, [, one]) => sum + one, 0);
say(`${noticed} of ${chosen.length} breaks were noticed`);
process.exitCode = noticed === chosen.length ? 0 : 1;
