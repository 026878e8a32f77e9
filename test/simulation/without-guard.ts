/** Plays what is to notice that a guard is missing, on a copy of the project in which it is taken out. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILED, copyCheckout, ROOT, temporaryFolder } from '../support/checkout.ts';
import { type Guard, players, specification } from './guards.ts';

/** What has noticed it, in words; `null`: nothing that was played. */
type Noticed = string | null;

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** The project's files, in which the piece of the guard is replaced. */
function copyWithout({ file, find, replace }: Guard, folder: string): void {
  copyCheckout(folder);
  const place = join(folder, file);
  writeFileSync(
    place,
    readFileSync(place, 'utf8').replace(find, () => replace),
  );
  // The bundle of before spares a build; only whole commands are played with it.
  const built = join(ROOT, '.cache');
  if (existsSync(built)) cpSync(built, join(folder, '.cache'), { recursive: true });
}

/** @returns how it ended */
function run(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...env },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 2)));
}

/** Finds the tests of a title, which may be a template of several. */
const patternOf = (title: string) =>
  title
    .split(/%[a-z]|%%|\$\{?\w+\}?/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('.*');

async function playTests(
  folder: string,
  file: string,
  title: string,
  env: Readonly<Record<string, string>>,
): Promise<Noticed> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const report = join(folder, 'report.json');
  // One server is enough to see it.
  const server = { TEST_PG_BINDIR: join(folder, 'none'), ...env };
  const flags = ['-t', patternOf(title), '--reporter=json', `--outputFile=${report}`, '--bail=1'];
  await run(folder, [vitest, 'run', file, ...flags], server);
  const { testResults, numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const red = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ status }) => status === 'failed');
  if (red !== undefined) return red.fullName;
  const broken = testResults.find(({ message }) => message !== '');
  if (broken !== undefined || numPassedTests === 0)
    throw new Error(`${file} could not be played: ${broken?.message ?? `it has no test "${title}"`}`);
  return null;
}

/**
 * @param seeds at most so many are played, from `from` on, or so many thousands of states; a file of tests is run once
 */
export async function playWithout(guard: Guard, from: number, seeds: number): Promise<Noticed> {
  using folder = temporaryFolder();
  copyWithout(guard, folder.path);
  const { watch } = guard;
  if (watch.tier === 'specification')
    return await playTests(folder.path, specification, watch.by, {
      SPECIFICATION_STATES: String(1_000 * seeds),
    });
  if (watch.tier === 'test') return await playTests(folder.path, watch.file, watch.by, {});
  const flags = ['--from', String(from), '--seeds', String(seeds), '--stop'];
  const code = await run(folder.path, [players[watch.tier].script, ...flags], {});
  if (code > 1) throw new Error(`the ${watch.tier} could not be played: it ended with ${code}`);
  return code === 0 ? null : 'see the seed above';
}
