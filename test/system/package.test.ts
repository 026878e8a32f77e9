import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyCheckout, plainEnvironment, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import { run, runWell } from '../support/run.ts';
import { measureSlowness } from '../support/slowness.ts';

/** What `npm pack` makes, installed into an empty project, run by plain Node. */
const folder = temporaryFolder();
const checkout = join(folder.path, 'checkout');
const project = join(folder.path, 'project');
let packed: readonly string[] = [];

beforeAll(async () => {
  mkdirSync(checkout);
  copyCheckout(checkout);
  const answer = await runWell('npm', ['pack', '--json', '--pack-destination', folder.path], {
    cwd: checkout,
    env: plainEnvironment(),
  });
  const [tarball] = JSON.parse(answer.slice(answer.indexOf('['))) as {
    filename: string;
    files: { path: string }[];
  }[];
  packed = tarball?.files.map(({ path }) => path) ?? [];
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name": "somebody-elses", "version": "1.0.0"}');
  await runWell('npm', ['install', join(folder.path, tarball?.filename ?? ''), '--no-audit', '--no-fund'], {
    cwd: project,
    env: plainEnvironment(),
  });
}, 300_000 * measureSlowness());
afterAll(() => folder[Symbol.dispose]());

const musterd = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  await run(join(project, 'node_modules', '.bin', 'musterd'), args, {
    cwd: project,
    env: plainEnvironment(environment),
  });

test('holds what runs, and no source, test or setting of ours', () => {
  const config = ['musterd.service', 'grafana-dashboard.json', 'prometheus-alerts.yaml'];
  const wanted = ['package.json', 'dist/main.js', ...config.map((name) => `config/${name}`)];
  expect(packed).toEqual(expect.arrayContaining(wanted));
  expect(packed.filter((path) => path.startsWith('migrations/')).length).toBeGreaterThan(0);
  expect(packed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
  expect(packed.filter((path) => /^(src|test|\.)/.test(path))).toEqual([]);
});

test('holds whatever its README links to', () => {
  const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
  expect(links.length).toBeGreaterThan(10);
  const dead = links.filter((link) => !packed.some((path) => path === link || path.startsWith(`${link}/`)));
  expect(dead).toEqual([]);
});

test('has no map without its sources, and tells nobody to use npm run', () => {
  const installed = join(project, 'node_modules', 'musterd');
  const maps = packed.filter((path) => path.endsWith('.map'));
  for (const path of maps) {
    const map = JSON.parse(readFileSync(join(installed, path), 'utf8')) as { sourcesContent?: unknown[] };
    expect(map.sourcesContent?.length).toBeGreaterThan(0);
  }
  const advice = packed
    .filter((path) => path.endsWith('.js') && path.startsWith('dist/') && path !== 'dist/commands/demo.js')
    .filter((path) => readFileSync(join(installed, path), 'utf8').includes('npm run'));
  expect(advice).toEqual([]);
});

test('brings no development tools along', () => {
  const has = (name: string) => existsSync(join(project, 'node_modules', name));
  expect(['pg', 'node-forge'].filter(has)).toEqual(['pg', 'node-forge']);
  expect(['typescript', 'vitest', 'node24', '@biomejs'].filter(has)).toEqual([]);
});

test('shows its help and its version', async () => {
  const help = await musterd(['--help']);
  expect(help).toMatchObject({ status: 0, stderr: '' });
  expect(help.stdout).toMatch(/reconcile/);
  expect((await musterd(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await musterd(['no-such-command'])).status).toBe(64);
});

/** The Nodes of this machine that are too old, outside of what npm brought. */
const oldNodes = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((path) => path !== '' && !path.includes('node_modules') && path !== dirname(process.execPath))
  .map((path) => join(path, 'node'))
  .filter((path) => existsSync(path))
  .filter((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    return Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 24) < 24;
  });

test.runIf(oldNodes.length > 0)('says in one sentence that Node is too old, and ends with 78', async () => {
  const main = join(project, 'node_modules', 'musterd', 'dist', 'main.js');
  for (const node of oldNodes) {
    const answer = await run(node, [main, 'status'], { cwd: project, env: plainEnvironment() });
    expect(answer).toMatchObject({ status: 78, stdout: '' });
    expect(answer.stderr).toMatch(/^musterd: Node 24 or newer is needed, and this is Node \d+\.\d+\.\d+\n$/);
  }
});

test('migrates a database', async () => {
  const database = await createTestDatabase({ empty: true });
  try {
    const first = await musterd(['migrate', '--json'], { DATABASE_URL: database.url });
    expect(first).toMatchObject({ status: 0 });
    const { applied } = JSON.parse(first.stdout) as { applied: string[] };
    expect(applied.map((name) => `migrations/${name}.sql`)).toEqual(
      packed.filter((path) => path.startsWith('migrations/')).toSorted((a, b) => (a < b ? -1 : 1)),
    );
    const second = await musterd(['migrate', '--json'], { DATABASE_URL: database.url });
    expect(JSON.parse(second.stdout)).toEqual({ applied: [] });
  } finally {
    await database.close();
  }
});

test('runs the embedded Postgres that came with it, and leaves no process behind', async () => {
  const data = join(folder.path, 'data');
  const ran = await musterd(['migrate', '--json'], { MUSTERD_DATA_DIR: data });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringContaining('applied') as string });
  expect(existsSync(join(data, 'cluster', 'data', 'PG_VERSION'))).toBe(true);
  expect(existsSync(join(data, 'cluster', 'data', 'postmaster.pid'))).toBe(false);
});
