/**
 * `npm run step -- --seeds N --from S [--seed K] [--trace] [--twice] [--stop] [--postgres 15]` plays seeds on a real Postgres,
 * each on every version there is; with `--stop` only until one breaks a promise.
 */
import { spawn, spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: given } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    postgres: { type: 'string' },
    trace: { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
    stop: { type: 'boolean', default: false },
    /** Of a child: the server on which it plays. */
    url: { type: 'string' },
  },
});
const say = (text: string) => writeSync(1, `${text}\n`);
const from = Number(given.seed ?? given.from);
const to = given.seed === undefined ? from + Number(given.seeds) : from + 1;

/** Plays in this process, whose time is virtual from now on. @returns whether a seed failed */
async function play(url: string, postgres: string): Promise<boolean> {
  const { prepare, step } = await import('./step.ts');
  const server = prepare();
  const ground = { url, template: 'stepped_template' };
  let hasFailed = false;
  for (let seed = from; seed < to && !(hasFailed && given.stop); seed += 1) {
    const started = process.hrtime();
    const { violation, lines, counts } = await step(server, ground, seed);
    const again = given.twice ? (await step(server, ground, seed)).lines : lines;
    const [s, ns] = process.hrtime(started);
    // Since when another run is under way, as it says, is told in the machine's time.
    const timeless = (line: string | undefined) => line?.replace(/since \S+/, '');
    const differs = lines.findIndex((line, at) => timeless(line) !== timeless(again[at]));
    const result = violation ?? (differs < 0 ? 'ok' : `not the same twice: ${lines[differs]}`);
    hasFailed ||= result !== 'ok';
    if (given.trace) for (const line of lines) say(line);
    say(JSON.stringify({ seed, postgres, result, ...counts, seconds: (s + ns / 1e9).toFixed(2) }));
  }
  await server.close();
  return hasFailed;
}

/** A server of its own, with a migrated database and the roles of people. */
async function open(bindir: string) {
  const { openEmbedded } = await import('../../src/embedded/embedded.ts');
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { migrate } = await import('../../src/mirror/migrations.ts');
  const { sql } = await import('kysely');
  const embedded = await openEmbedded({ ephemeral: true, bindir });
  const work = async (url: string, statements: readonly string[], isMigrated = false) => {
    const db = createDatabase({ url });
    if (isMigrated) await migrate(db);
    for (const text of statements) await sql.raw(text).execute(db.asTyped);
    await db.close();
  };
  await work(embedded.url, [
    'alter system set autovacuum = off',
    "alter system set deadlock_timeout = '1ms'",
    'select pg_reload_conf()',
    'create database stepped_template',
  ]);
  const people = ['anna', 'bob', 'carol'].map(
    (name) => `create role ${name}; grant musterd_reader to ${name}`,
  );
  const rights =
    'grant musterd_editor, musterd_role_editor to anna, bob; grant musterd_approver to anna, carol';
  await work(new URL('/stepped_template', embedded.url).href, [...people, rights], true);
  return embedded;
}

async function playOn({ bindir, major }: { bindir: string; major: string }): Promise<number> {
  const embedded = await open(bindir);
  const own = ['--url', embedded.url, '--postgres', major];
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [self, ...process.argv.slice(2), ...own], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await new Promise<number>((resolve) => child.once('exit', (of) => resolve(of ?? 1)));
  await embedded.close();
  return code;
}

/** On each version at once. */
async function playEverywhere(): Promise<number> {
  const { findBinaries } = await import('../../src/embedded/binaries.ts');
  const { installedBindir } = await import('../support/servers.ts');
  const folders = new Set(
    [findBinaries(() => undefined), installedBindir()].filter((of) => of !== undefined),
  );
  const versions = [...folders].map((bindir) => {
    const told = spawnSync(join(bindir, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout;
    return { bindir, major: /\d+/.exec(told)?.[0] ?? '' };
  });
  const chosen = versions.filter(({ major }) => given.postgres === undefined || given.postgres === major);
  return Math.max(...(await Promise.all(chosen.map(playOn))));
}

process.exitCode =
  given.url === undefined ? await playEverywhere() : (await play(given.url, given.postgres ?? '')) ? 1 : 0;
