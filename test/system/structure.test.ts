import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));

interface SourceFile {
  readonly path: string;
  /** The folder under src; the file's own name where it lies at the top. */
  readonly place: string;
  readonly imports: readonly string[];
  /** What it imports of src, as paths under it. */
  readonly inside: readonly string[];
}

/** An import or export from a file or package, or one that is loaded where it is used. */
const importing = /(?:^(?:import|export)\b[^;']*?\bfrom\s*|^import\s*|\bimport\()'([^']+)'/gm;

const exporting = /^export (?:async )?(?:abstract )?(?:function|const|let|interface|type|class|enum) (\w+)/gm;

const files: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const imports = [...text.matchAll(importing)].map(([, name]) => name ?? '');
    const inside = imports
      .filter((name) => name.startsWith('.'))
      .map((name) => relative(root, join(root, dirname(path), name)));
    return { path, place: placeOf(path), imports, inside };
  });

function placeOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : path;
}

/** Every place of src, from the ground up, and what it may import of the rest. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'clock.ts': [],
  'secret.ts': [],
  'stop.ts': [],
  'log.ts': ['secret.ts'],
  model: [],
  // It stands for the service, and shares nothing with what it is to try.
  emulator: [],
  embedded: ['errors.ts'],
  config: ['errors.ts', 'secret.ts'],
  service: ['model', 'errors.ts', 'clock.ts', 'secret.ts'],
  mirror: ['model', 'errors.ts'],
  reconcile: ['model', 'errors.ts'],
  // An independent check: it shares no code with a run but the client, which it is handed.
  verify: ['model', 'errors.ts'],
  status: ['model'],
  runs: [
    'clock.ts',
    'config',
    'embedded',
    'errors.ts',
    'log.ts',
    'mirror',
    'model',
    'reconcile',
    'secret.ts',
    'service',
    'verify',
  ],
  daemon: [
    'clock.ts',
    'config',
    'errors.ts',
    'log.ts',
    'mirror',
    'model',
    'reconcile',
    'runs',
    'service',
    'status',
  ],
  commands: [
    'clock.ts',
    'config',
    'daemon',
    'embedded',
    'emulator',
    'errors.ts',
    'log.ts',
    'mirror',
    'model',
    'reconcile',
    'runs',
    'service',
    'stop.ts',
    'verify',
  ],
  'healthcheck.ts': ['status'],
  'main.ts': ['commands'],
};

/** The only places of each package. */
const fences: Readonly<Record<string, readonly string[]>> = {
  pg: ['mirror', 'embedded'],
  kysely: ['mirror'],
  undici: ['service'],
  jose: ['service'],
  'p-limit': ['service'],
  'node-cron': ['daemon'],
  'pg-boss': ['daemon'],
  'prom-client': ['daemon'],
  pino: ['log.ts'],
  commander: ['commands'],
  'cli-table3': ['commands'],
  'cli-progress': ['commands'],
  yaml: ['config'],
  zod: ['config', 'emulator'],
  fastify: ['emulator', 'status'],
  'node-forge': ['emulator'],
};

const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

const outside = ({ imports }: SourceFile) =>
  imports.filter((name) => !name.startsWith('.') && !name.startsWith('node:')).map(packageOf);

describe('the structure of src', () => {
  it('has no place that is not listed here', () => {
    expect(new Set(files.map(({ place }) => place))).toEqual(new Set(Object.keys(arrows)));
  });

  it('has no arrow on the list that nothing follows', () => {
    const idle = Object.entries(arrows).flatMap(([place, targets]) =>
      targets
        .filter(
          (target) =>
            !files.some(
              (file) => file.place === place && file.inside.some((path) => placeOf(path) === target),
            ),
        )
        .map((target) => `${place} → ${target}`),
    );
    expect(idle).toEqual([]);
  });

  it.each(Object.keys(arrows))('%s imports only what it may', (place) => {
    const mine = files.filter((file) => file.place === place);
    expect(mine).not.toEqual([]);
    const strangers = mine.flatMap(({ path, inside }) =>
      inside
        .map(placeOf)
        .filter((target) => target !== place && !arrows[place]?.includes(target))
        .map((target) => `${path} → ${target}`),
    );
    expect(strangers).toEqual([]);
  });

  it('has each package in one place', () => {
    const strays = files.flatMap((file) =>
      outside(file)
        .filter((name) => fences[name]?.includes(file.place) !== true)
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(strays).toEqual([]);
    const used = new Set(files.flatMap(outside));
    expect(Object.keys(fences).filter((name) => !used.has(name))).toEqual([]);
  });

  it('has no circle, of places or of files', () => {
    const insideOf = new Map(files.map(({ path, inside }) => [path, inside]));
    const over = new Set<string>();
    const circles: string[] = [];
    const visit = (path: string, way: readonly string[]) => {
      if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
      if (way.includes(path) || over.has(path)) return;
      for (const next of insideOf.get(path) ?? []) visit(next, [...way, path]);
      over.add(path);
    };
    for (const { path } of files) visit(path, []);
    expect(circles).toEqual([]);
    const below = (place: string, way: readonly string[]): readonly string[] =>
      way.includes(place)
        ? [[...way, place].join(' → ')]
        : (arrows[place] ?? []).flatMap((next) => below(next, [...way, place]));
    expect(Object.keys(arrows).flatMap((place) => below(place, []))).toEqual([]);
  });

  it('exits and reads the arguments in main.ts alone, but for what a container asks with', () => {
    const programs = ['main.ts', 'healthcheck.ts'];
    const strays = files.filter(
      ({ path }) =>
        !programs.includes(path) && /process\.(exit|argv)\b/.test(readFileSync(join(root, path), 'utf8')),
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('has no classes but errors, and no drawer of odds and ends', () => {
    const classes = files.filter(({ path }) =>
      /^\s*(export )?(abstract )?class (?!\w*Error\b)/m.test(readFileSync(join(root, path), 'utf8')),
    );
    expect(classes.map(({ path }) => path)).toEqual([]);
    expect(files.filter(({ path }) => /(^|\/)(utils?|helpers?|common|managers?|misc)\b/.test(path))).toEqual(
      [],
    );
  });

  it('keeps what has to be read to change the merge in one folder, and short', () => {
    const read = new Set(['reconcile/merge/plan-user.ts']);
    for (const path of read) {
      const { imports = [] } = files.find((file) => file.path === path) ?? {};
      for (const name of imports.filter((one) => one.startsWith('.')))
        read.add(relative(root, join(root, dirname(path), name)));
    }
    const linesOf = (paths: readonly string[]) =>
      paths
        .flatMap((path) => readFileSync(join(root, path), 'utf8').split('\n'))
        .filter((line) => line.trim() !== '');
    const [rules, nouns] = [true, false].map((isRule) =>
      [...read].filter((path) => path.startsWith('reconcile/merge/') === isRule),
    ) as [string[], string[]];
    expect(nouns.filter((path) => !path.startsWith('model/'))).toEqual([]);
    expect(rules.length).toBeLessThanOrEqual(7);
    expect(linesOf(rules).length).toBeLessThanOrEqual(650);
    // The nouns, which are read for much else: without their comments.
    const isCode = (line: string) => !/^\s*(\/\*|\*|\/\/)/.test(line);
    expect(linesOf(nouns).filter(isCode).length).toBeLessThanOrEqual(450);
  });

  it('defines no exported name twice', () => {
    const names = files.flatMap(({ path }) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(exporting)].map(([, name]) => name ?? ''),
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('has hardly a name of a file twice', () => {
    const names = files.map(({ path }) => basename(path));
    expect(names.filter((name, at) => names.indexOf(name) !== at).length).toBeLessThanOrEqual(3);
  });
});
