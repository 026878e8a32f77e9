import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));

interface SourceFile {
  readonly path: string;
  /** The folder under src; the file's own name where it lies at the top. */
  readonly place: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name ?? '');
    return { path, place: placeOf(path), imports };
  });

function placeOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : path;
}

/** What each place may import of the rest of src. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  model: [],
  emulator: [],
  service: ['model', 'errors.ts', 'clock.ts', 'secret.ts'],
  reconcile: ['model', 'errors.ts', 'clock.ts'],
  mirror: ['model', 'errors.ts', 'clock.ts', 'secret.ts'],
  // An independent check: it shares no code with a run but the client, which it is handed.
  verify: ['model', 'errors.ts'],
  daemon: ['model', 'errors.ts', 'clock.ts'],
  status: ['model', 'errors.ts'],
  'healthcheck.ts': ['status'],
  'errors.ts': [],
  'clock.ts': [],
  'secret.ts': [],
  'stop.ts': [],
  'log.ts': ['secret.ts'],
  config: ['errors.ts'],
  'config.ts': ['config'],
  'config-teams.ts': ['config', 'config.ts'],
  'config-checks.ts': ['config', 'config.ts', 'daemon', 'errors.ts', 'mirror', 'model', 'service'],
  'config-sources.ts': ['config', 'config.ts', 'config-checks.ts', 'config-teams.ts', 'errors.ts'],
  'config-compare.ts': ['config.ts'],
  'log-events.ts': ['log.ts', 'reconcile', 'service'],
  'places.ts': [
    'clock.ts',
    'config.ts',
    'errors.ts',
    'log.ts',
    'log-events.ts',
    'mirror',
    'secret.ts',
    'service',
  ],
  'app.ts': [
    'clock.ts',
    'config.ts',
    'errors.ts',
    'log.ts',
    'log-events.ts',
    'mirror',
    'model',
    'places.ts',
    'reconcile',
    'service',
  ],
  'undo.ts': ['config.ts', 'errors.ts', 'mirror', 'model'],
  'resync-plan.ts': ['model', 'reconcile'],
  'resync.ts': [
    'app.ts',
    'clock.ts',
    'config.ts',
    'log-events.ts',
    'mirror',
    'model',
    'places.ts',
    'reconcile',
    'resync-plan.ts',
    'service',
  ],
};

/** The only place of each package; zod, fastify and pino's types may be anywhere they are needed. */
const fences: Readonly<Record<string, readonly string[]>> = {
  pg: ['mirror'],
  kysely: ['mirror'],
  undici: ['service'],
  jose: ['service'],
  'p-limit': ['service'],
  'node-cron': ['daemon'],
  'prom-client': ['daemon'],
  pino: ['log.ts'],
  commander: ['command-line.ts', 'program.ts'],
  'cli-table3': ['commands'],
  'cli-progress': ['commands'],
  yaml: ['config-sources.ts'],
};

const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

describe('the structure of src', () => {
  it.each(Object.keys(arrows))('%s imports only what it may', (place) => {
    const mine = files.filter((file) => file.place === place);
    expect(mine).not.toEqual([]);
    const strangers = mine.flatMap(({ path, imports }) =>
      imports
        .filter((name) => name.startsWith('.'))
        .map((name) => placeOf(relative(root, join(root, dirname(path), name))))
        .filter((target) => target !== place && !arrows[place]?.includes(target))
        .map((target) => `${path} → ${target}`),
    );
    expect(strangers).toEqual([]);
  });

  it('has each package in one place', () => {
    const strays = files.flatMap(({ path, place, imports }) =>
      imports
        .map(packageOf)
        .filter((name) => fences[name] !== undefined && !fences[name].includes(place))
        .map((name) => `${path} imports ${name}`),
    );
    expect(strays).toEqual([]);
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
});
