import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { bundledPackages } from '../support/bundled.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  buildImage,
  canBecome,
  type Inside,
  type Stage,
  sentPaths,
  startInside,
} from '../support/dockerfile.ts';
import { eventually } from '../support/eventually.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { freePort } from '../support/postgres-process.ts';

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly version: string } };
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

const readPackage = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;

const withEnd = (child: Inside): Promise<Ended> =>
  Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    }),
  ]).then(([stdout, stderr, status]) => ({ stdout, stderr, status }));

describe.skipIf(process.platform !== 'linux')('the container image', () => {
  const folder = temporaryFolder();
  let image: Stage;
  let bom: Bom;
  const inImage = (path: string) => join(image.root, image.workdir, path);

  beforeAll(async () => {
    image = await buildImage(folder.path, { VERSION: '1.2.3', REVISION: 'abc' });
    bom = JSON.parse(readFileSync(inImage('sbom.cdx.json'), 'utf8')) as Bom;
  }, longHungAfterMs);
  afterAll(() => folder[Symbol.dispose]());

  const start = (words: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    startInside(image, words, environment);
  const musterd = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    withEnd(start([...image.entrypoint, ...args], environment));

  it('sends the sources to the build, without secrets and local settings', () => {
    expect(
      sentPaths().filter((path) => /^(src|scripts|migrations|config\/checkout)$/.test(path)).length,
    ).toBe(4);
    expect(sentPaths().filter((path) => /env|yaml|secret|\.git$/.test(path))).toEqual([]);
  });

  it('starts the daemon directly, without a shell, as a user other than root', () => {
    expect(image.entrypoint).toEqual(['node', '--disable-sigusr1', 'dist/main.js']);
    expect(image.command).toEqual(['daemon']);
    expect(image.user).toMatch(/^[1-9]\d+:[1-9]\d+$/);
  });

  it('starts from a distroless Node image, and adds only the folder of musterd', () => {
    expect(image.from).toMatch(/^gcr\.io\/distroless\/nodejs24-debian\d+:nonroot$/);
    expect(image.environment['PATH']).toBe('/nodejs/bin');
    expect(readdirSync(image.root).toSorted()).toEqual(['musterd', 'nodejs']);
  });

  it('contains the program and its migrations, but neither sources, tests nor the emulator', () => {
    const has = (name: string) => existsSync(inImage(name));
    const files = [
      'dist/main.js',
      'dist/healthcheck.js',
      'dist/third-party-licences.txt',
      'migrations',
      'package.json',
      'LICENSE',
    ];
    expect(files.filter((name) => !has(name))).toEqual([]);
    expect(
      ['src', 'test', 'package-lock.json', 'node_modules', 'dist/emulator', 'dist/library'].filter(has),
    ).toEqual([]);
    const bundled = bundledPackages(inImage('dist'));
    expect(bundled).toEqual(expect.arrayContaining(['pg', 'pg-boss', 'prom-client', 'fastify', 'yaml']));
  });

  it('carries labels for title, version, revision and licence', () => {
    expect(image.labels).toEqual({
      'org.opencontainers.image.title': 'musterd',
      'org.opencontainers.image.description': expect.stringMatching(/Postgres/) as string,
      'org.opencontainers.image.licenses': 'MIT',
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'musterd.sbom': `${image.workdir}/sbom.cdx.json`,
    });
  });

  it('lists every package with its version in a bill of materials (S35)', () => {
    const { version, dependencies } = readPackage(ROOT);
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { version } } });
    const named = new Map(bom.components.map((one) => [one.name, one.version]));
    expect(bundledPackages(inImage('dist')).filter((name) => !named.has(name))).toEqual([]);
    for (const [name, exact] of Object.entries(dependencies)) expect(named.get(name)).toBe(exact);
    // Nothing of the machine that made it.
    expect(JSON.stringify(bom)).not.toContain(folder.path);
  });

  it.each([['emulator', '--http'], ['emulator', '--list'], ['demo']])(
    'ends "musterd %s" with 64 and a hint to the npm package',
    async (...args) => {
      const { status, stdout, stderr } = await musterd(args);
      expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
      expect(stderr).toMatch(/^musterd: The emulator is not in this image\n.*npm package or a checkout/);
    },
  );

  it('fails with a hint to DATABASE_URL if no database is configured', async () => {
    const { status, stderr } = await musterd(['migrate'], { MUSTERD_DATA_DIR: '/musterd/data' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/DATABASE_URL/);
  });

  it('fails its health check if the status server does not answer or is switched off', async () => {
    const port = String(await freePort());
    const ask = (environment: Readonly<Record<string, string>>) =>
      withEnd(start(image.healthcheck, environment));
    expect(image.healthcheck[0]).toBe('node');
    expect(await ask({ MUSTERD__status__port: port })).toMatchObject({
      status: 1,
      stdout: '/healthz: ECONNREFUSED\n',
    });
    expect(await ask({ MUSTERD__status__port: '0' })).toMatchObject({ status: 1 });
  });

  it('migrates a database, reconciles, answers its health check, and ends with 0 at SIGTERM', async () => {
    const emulator = await createEmulator({ http: true, users: 30, tags: 5, fields: 3, ratePerMinute: 0 });
    const database = await createTestDatabase({ empty: true });
    const environment = {
      ...emulator.environment,
      DATABASE_URL: database.url,
      MUSTERD__status__port: String(await freePort()),
    };
    const daemon = start([...image.entrypoint, ...image.command], environment);
    const ended = withEnd(daemon);
    try {
      const ask = async (...path: readonly string[]) =>
        (await withEnd(start([...image.healthcheck, ...path], environment))).status;
      await eventually('it is well', async () => (await ask()) === 0);
      await eventually('it is fresh', async () => (await ask('/freshness')) === 0);
      expect(await ask('/nothing-there')).toBe(1);
      if (canBecome) expectOrdinary(daemon.pid ?? 0);
      // Without the option Node opens a debugger then, and says so before it answers again.
      daemon.kill('SIGUSR1');
      expect(await ask()).toBe(0);
      daemon.kill('SIGTERM');
      const { status, stderr } = await ended;
      expect(status).toBe(0);
      expect(stderr).toMatch(/daemon stopped/);
      expect(stderr).not.toMatch(/Debugger listening/);
      expect(await ask()).toBe(1);
    } finally {
      daemon.kill('SIGKILL');
      await ended;
      await database.close();
      await emulator.close();
    }
  });

  function expectOrdinary(pid: number) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [uid, gid] = (image.user ?? '').split(':');
    const line = (name: string) => new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'm').exec(status)?.[1];
    expect(line('Uid')?.split('\t')).toEqual([uid, uid, uid, uid]);
    expect(line('Gid')?.split('\t')).toEqual([gid, gid, gid, gid]);
    for (const set of ['CapPrm', 'CapEff']) expect(line(set)).toMatch(/^0+$/);
  }

  it.skipIf(!canBecome)('runs as a user who cannot write to any folder of musterd (S69)', async () => {
    const attempt = `
      const { mkdirSync } = await import('node:fs');
      const codes = ['..', '.', 'dist', 'dist/chunks', 'migrations'].map((path) => {
        try { mkdirSync(path + '/x'); return 'made'; } catch (error) { return error.code; }
      });
      console.log(JSON.stringify([...new Set(codes)]));`;
    const { stdout } = await withEnd(start(['node', '--input-type=module', '-e', attempt]));
    expect(JSON.parse(stdout)).toEqual(['EACCES']);
  });
});
