/**
 * `npm run simulate -- --seeds N --from S [--seed K] [--trace] [--off FAULT,…] [--twice] [--stop]` plays seeds, and the last one
 * of a series twice; with `--stop` only until one breaks an invariant.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A process keeps some memory of each seed. */
const seedsOfProcess = 200;
/** Postgres is WebAssembly here: V8 is to optimise its functions early, since most of a seed's time is theirs. */
const optimisesEarly = '--wasm-tiering-budget=300000';

const { values: given } = parseArgs({
  options: {
    seeds: { type: 'string', default: '25' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    off: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
    stop: { type: 'boolean', default: false },
    within: { type: 'boolean', default: false },
  },
});
const say = (text: string) => writeSync(1, `${text}\n`);

/** Plays these seeds in this process. @returns how many broke an invariant */
async function play(from: number, count: number): Promise<number> {
  const { prepare } = await import('./ground.ts');
  const { simulate } = await import('./simulate.ts');
  const ground = await prepare();
  const off = new Set(given.off.split(',').filter(Boolean));
  let failed = 0;
  // What is read and made once is there from then on.
  await simulate(ground, 0, off);
  ground.keepPlans();
  for (let seed = from; seed < from + count; seed += 1) {
    const cpu = process.cpuUsage();
    const played = await simulate(ground, seed, off);
    // Of many, the last one shows that the same seed is the same trace.
    const isTwice = given.twice || (count > 1 && seed === from + count - 1 && !given.stop);
    const again = isTwice ? await simulate(ground, seed, off) : played;
    const isSame = again.digest === played.digest;
    if (played.violation !== undefined || !isSame) failed += 1;
    if (!isSame) {
      const at = played.lines.findIndex((line, of) => line !== again.lines[of]);
      for (const lines of [played.lines, again.lines]) say(`  ${lines[at - 1]}\n  ${lines[at]}`);
    }
    if (given.trace) for (const line of played.lines) say(line);
    const seconds = (process.cpuUsage(cpu).user / 1e6).toFixed(2);
    const result = played.violation ?? (isSame ? 'ok' : 'not the same twice');
    say(
      JSON.stringify({
        seed,
        result,
        digest: played.digest.slice(0, 16),
        ...played.counts,
        checks: [...played.checked.values()].reduce((a, b) => a + b, 0),
        seconds,
      }),
    );
    if (failed > 0 && given.stop) break;
  }
  return failed;
}

const own = fileURLToPath(import.meta.url);

/** Plays them in a child process, so that the memory of one is given back. */
function playInChild(from: number, count: number): Promise<number> {
  const flags = [
    '--off',
    given.off,
    ...(given.trace ? ['--trace'] : []),
    ...(given.twice ? ['--twice'] : []),
    ...(given.stop ? ['--stop'] : []),
  ];
  const child = spawn(
    process.execPath,
    [optimisesEarly, own, '--within', '--from', String(from), '--seeds', String(count), ...flags],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

const from = Number(given.seed ?? given.from);
const count = given.seed === undefined ? Number(given.seeds) : 1;

/** @returns what the process ends with */
async function playAll(): Promise<number> {
  let worst = 0;
  for (let at = from; at < from + count && (worst === 0 || !given.stop); at += seedsOfProcess)
    worst = Math.max(worst, await playInChild(at, Math.min(seedsOfProcess, from + count - at)));
  return worst;
}

if (given.within) process.exit((await play(from, count)) > 0 ? 1 : 0);
else process.exitCode = await playAll();
