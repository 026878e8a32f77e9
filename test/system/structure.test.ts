import { describe, expect, it } from 'vitest';
import {
  closureOf,
  findCircles,
  readArrows,
  readSourceFiles,
  repeated,
  roomOf,
  type SourceFile,
} from '../support/source-files.ts';

const files = readSourceFiles();

/** Every room of src, from the ground up, and what it may import of the rest. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'clock.ts': [],
  'secret.ts': [],
  'log.ts': ['errors.ts', 'secret.ts'],
  model: [],
  files: ['model', 'errors.ts'],
  // It stands for the service, and shares nothing with what it is to try.
  emulator: [],
  embedded: ['errors.ts'],
  config: ['errors.ts', 'model', 'secret.ts'],
  service: ['model', 'errors.ts', 'clock.ts', 'secret.ts'],
  mirror: ['model', 'errors.ts'],
  reconcile: ['model', 'errors.ts'],
  // An independent check: it shares no code with a run but the client, which it is handed.
  verify: ['model', 'errors.ts'],
  // What daemon and page share: it knows of the page no more than that there is one.
  http: ['model'],
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
  page: ['config', 'errors.ts', 'files', 'http', 'log.ts', 'mirror', 'model', 'runs'],
  daemon: [
    'clock.ts',
    'config',
    'errors.ts',
    'http',
    'log.ts',
    'mirror',
    'model',
    'page',
    'reconcile',
    'runs',
    'service',
  ],
  commands: [
    'config',
    'daemon',
    'embedded',
    'emulator',
    'errors.ts',
    'files',
    'log.ts',
    'model',
    'page',
    'reconcile',
    'runs',
    'service',
    'verify',
  ],
  'healthcheck.ts': ['http'],
  'main.ts': ['commands'],
};

/** The wings of the mirror, from the ground up: each may import those before it, and `mirror.ts` all of them. */
const wings = ['db', 'team', 'users', 'listings', 'runs', 'tools'];

/** The only places of each package. */
const fences: Readonly<Record<string, readonly string[]>> = {
  pg: ['mirror', 'embedded'],
  'pg-copy-streams': ['mirror'],
  'pg-cursor': ['mirror'],
  kysely: ['mirror', 'page'],
  undici: ['service'],
  jose: ['service'],
  'p-limit': ['service', 'reconcile'],
  'node-cron': ['daemon'],
  'pg-boss': ['daemon'],
  'prom-client': ['daemon'],
  pino: ['log.ts'],
  commander: ['commands'],
  '@bomb.sh/tab': ['commands'],
  'string-width': ['commands'],
  'cli-progress': ['commands'],
  yaml: ['config', 'files'],
  'csv-parse': ['files'],
  'csv-stringify': ['files'],
  zod: ['config', 'emulator', 'runs'],
  fastify: ['emulator', 'http', 'page'],
  'node-forge': ['emulator'],
  'd3-array': ['page'],
  'd3-scale': ['page'],
  'd3-shape': ['page'],
  hono: ['page'],
  '@fastify/compress': ['page'],
  '@fastify/etag': ['page'],
};

/** The package of an import such as `pg-boss/types` or `@scope/name/part`. */
const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

const outside = ({ imports }: SourceFile) =>
  imports.filter((name) => !name.startsWith('.') && !name.startsWith('node:')).map(packageOf);

describe('the structure of src', () => {
  it('contains only the folders that the table of this test lists', () => {
    expect(new Set(files.map(({ room }) => room))).toEqual(new Set(Object.keys(arrows)));
  });

  it('uses every import between folders that the table of this test allows', () => {
    const followed = readArrows(files);
    const idle = Object.entries(arrows).flatMap(([room, targets]) =>
      targets
        .filter((target) => followed.get(room)?.has(target) !== true)
        .map((target) => `${room} → ${target}`),
    );
    expect(idle).toEqual([]);
  });

  it.each(Object.keys(arrows))('%s imports only folders that the table of this test allows', (room) => {
    const strangers = files
      .filter((file) => file.room === room)
      .flatMap(({ path, inside }) =>
        inside
          .map(roomOf)
          .filter((target) => target !== room && arrows[room]?.includes(target) !== true)
          .map((target) => `${path} → ${target}`),
      );
    expect(strangers).toEqual([]);
  });

  it('lets no subfolder of src/mirror import a subfolder that comes later in the list of this test', () => {
    const wingOf = (path: string) => /^mirror\/([^/]+)\/(?!.*\/)/.exec(path)?.[1];
    const inWings = files.filter(({ path }) => wings.includes(wingOf(path) ?? ''));
    expect(new Set(inWings.map(({ path }) => wingOf(path)))).toEqual(new Set(wings));
    const rising = inWings.flatMap(({ path, inside }) =>
      inside
        .filter((target) => wings.indexOf(wingOf(target) ?? '') > wings.indexOf(wingOf(path) ?? ''))
        .map((target) => `${path} → ${target}`),
    );
    expect(rising).toEqual([]);
  });

  it('imports each npm package only in the folders that may use it (S34)', () => {
    const strays = files.flatMap((file) =>
      outside(file)
        .filter((name) => fences[name]?.includes(file.room) !== true)
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(strays).toEqual([]);
    const used = new Set(files.flatMap(outside));
    expect(Object.keys(fences).filter((name) => !used.has(name))).toEqual([]);
  });

  it('keeps page/read free of rendering, and lets page/render import only types from page/read', () => {
    const partOf = (path: string) => /^page\/(read|render|list|serve)\//.exec(path)?.[1];
    const parts = files.filter(({ path }) => partOf(path) !== undefined);
    const stray = parts.flatMap(({ path, inside, text }) => {
      const part = partOf(path);
      if (part === 'serve' || part === 'list') return [];
      const allowed =
        part === 'read' ? /^(page\/read|mirror|model)\// : /^(page\/(render|read)|mirror|model)\//;
      const values =
        part === 'read'
          ? []
          : [...text.matchAll(/^(?:import|export) (?!type )[^;]*from '[./]+(?:read|mirror)\/.*$/gm)].map(
              ([line]) => line,
            );
      return [...inside.filter((target) => !allowed.test(target)), ...values].map(
        (what) => `${path}: ${what}`,
      );
    });
    expect(stray).toEqual([]);
  });

  it('contains no import cycle', () => {
    expect(findCircles(files)).toEqual([]);
  });

  it('defines no exported name twice', () => {
    expect(repeated(files.flatMap(({ names }) => names))).toEqual([]);
  });

  it('uses process.exit and process.argv only in main.ts and healthcheck.ts', () => {
    const programs = ['main.ts', 'healthcheck.ts'];
    const strays = files.filter(
      ({ path, text }) => !programs.includes(path) && /process\.(exit|argv)\b/.test(text),
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('contains no class except errors, and no file named utils, helpers, common or misc', () => {
    const classes = files.filter(({ text }) => /^\s*(export )?(abstract )?class (?!\w*Error\b)/m.test(text));
    expect(classes.map(({ path }) => path)).toEqual([]);
    const drawers = files.filter(({ path }) => /(^|\/)(utils?|helpers?|common|managers?|misc)\b/.test(path));
    expect(drawers.map(({ path }) => path)).toEqual([]);
  });

  it('keeps all merge rules in reconcile/merge, which imports only src/model', () => {
    const others = closureOf(files, 'reconcile/merge/plan-user.ts').filter(
      ({ path }) => !/^(reconcile\/merge|model)\//.test(path),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});
