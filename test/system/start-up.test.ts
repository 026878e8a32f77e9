import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MUSTERD, SOURCES } from '../support/built.ts';
import { createTestDatabase } from '../support/database.ts';
import { spawnMusterd } from './run-musterd.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'musterd-start-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const note = fileURLToPath(new URL('../support/note-modules.ts', import.meta.url));

/** Packages that a command has loaded by its end, and rooms and files of src. */
async function modulesOf(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program = SOURCES,
) {
  const noted = join(folder, 'modules');
  const options = { NODE_OPTIONS: `--import=${note}`, NOTED_MODULES: noted, ...env };
  expect(await spawnMusterd(args, options, '', program)).toMatchObject({ code: 0 });
  const urls = readFileSync(noted, 'utf8').split('\n');
  const found = (pattern: RegExp) => new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []));
  return {
    packages: found(/^file:.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    rooms: found(/\/src\/([^/]+)\//),
    builtins: found(/^node:(.*)/),
    files: found(/^file:.*\/([^/]+\.js)$/),
    count: urls.length,
  };
}

describe('modules loaded at start-up', () => {
  it.each([['--help'], ['--version']])('musterd %s loads no package except commander', async (option) => {
    const { packages, rooms, count } = await modulesOf([option]);
    expect([...packages]).toEqual(['commander']);
    expect(rooms.difference(new Set(['commands', 'model', 'config', 'runs', 'service']))).toEqual(new Set());
    expect(count).toBeLessThan(50);
  });

  it('the built musterd --help loads only five files, and imports no module of Node', async () => {
    const { files, builtins } = await modulesOf(['--help'], {}, MUSTERD);
    const every = [
      'main.js',
      'compile-cache.js',
      'command-line.js',
      'command-line2.js',
      'rolldown-runtime.js',
    ];
    expect([...files].toSorted()).toEqual(every.toSorted());
    expect([...builtins]).toEqual([]);
  });

  it('built files get modules of Node by getBuiltinModule, never by import', () => {
    const folder = dirname(MUSTERD);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        // What others import is no part of a command.
        file.endsWith('.js') && !/^(?:library|emulator)\b/.test(file),
    );
    const lines = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
    expect(lines.filter((line) => /^(?:import|export)\b.*["']node:/.test(line))).toEqual([]);
    const asked = lines.filter((line) => line.includes('getBuiltinModule'));
    expect(asked.length).toBeGreaterThan(50);
    expect(asked.filter((line) => line.includes(' as '))).toEqual([]);
  });

  it('musterd status loads no package for the service, a web server or tables', async () => {
    const database = await createTestDatabase();
    const { packages, rooms, builtins } = await modulesOf(['status'], { DATABASE_URL: database.url });
    await database.close();
    const idle =
      'undici jose p-limit fastify pg-boss prom-client string-width cli-progress csv-stringify node-forge';
    expect(idle.split(' ').filter((name) => packages.has(name))).toEqual([]);
    expect(packages).toContain('kysely');
    expect(
      ['emulator', 'embedded', 'reconcile', 'verify', 'files'].filter((room) => rooms.has(room)),
    ).toEqual([]);
    // Whose names, imported, make Node load its own fetch.
    expect(builtins).not.toContain('http');
  });
});

describe('the compile cache of Node', () => {
  const none = { NODE_COMPILE_CACHE: '', NODE_OPTIONS: '' };
  const help = async (env: Readonly<Record<string, string>>) => {
    expect(await spawnMusterd(['--help'], { ...none, ...env })).toMatchObject({ code: 0, stderr: '' });
  };
  const filesIn = (place: string) =>
    readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

  it('stores files in ~/.cache/musterd, which only the owner may enter', async () => {
    await help({ HOME: folder });
    const cache = join(folder, '.cache', 'musterd');
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(filesIn(cache).length).toBeGreaterThan(1);
  });

  it('stores files below XDG_CACHE_HOME if this variable is set', async () => {
    await help({ HOME: folder, XDG_CACHE_HOME: join(folder, 'caches') });
    expect(readdirSync(folder)).toEqual(['caches']);
    expect(filesIn(join(folder, 'caches', 'musterd')).length).toBeGreaterThan(1);
  });

  it.each([0o777, 0o720])('stores nothing in a folder others can write (mode %i, decimal)', async (mode) => {
    const cache = join(folder, '.cache', 'musterd');
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, mode);
    await help({ HOME: folder });
    expect(readdirSync(cache)).toEqual([]);
  });

  it('stores nothing if HOME is empty, missing or not a directory', async () => {
    await help({ HOME: '' });
    await help({ HOME: join(folder, 'nobody') });
    await help({ HOME: note });
    expect(existsSync(join(folder, 'nobody'))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('stores nothing in HOME if NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE is set', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await help({ HOME: folder, NODE_COMPILE_CACHE: elsewhere });
    expect(readdirSync(folder)).toEqual(['elsewhere']);
    rmSync(elsewhere, { recursive: true });
    await help({ HOME: folder, NODE_DISABLE_COMPILE_CACHE: '1' });
    expect(readdirSync(folder)).toEqual([]);
  });
});
