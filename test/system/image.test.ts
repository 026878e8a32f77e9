import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImageRoot } from '../../image-root.ts';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { bundledPackages } from '../support/bundled.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  buildImage,
  canConfine,
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
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

interface Bom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly object[];
    readonly licenses?: readonly unknown[];
    readonly components?: readonly { readonly name: string; readonly hashes: readonly object[] }[];
  }[];
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

// It is an image of Linux: the libraries of another system are not found the same way.
describe.skipIf(process.platform !== 'linux')('the image', () => {
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

  it('is built from what it needs, and no secret or setting that lies about', () => {
    expect(sentPaths().filter((path) => /^(src|migrations|config\/checkout)$/.test(path)).length).toBe(3);
    expect(sentPaths().filter((path) => /env|yaml|secret|\.git$/.test(path))).toEqual([]);
  });

  it('starts musterd itself, without a shell, as an ordinary user, as a daemon', () => {
    expect(image.entrypoint).toEqual(['node', '--disable-sigusr1', 'dist/main.js']);
    expect(image.command).toEqual(['daemon']);
    expect(image.user).toMatch(/^[1-9]\d+:[1-9]\d+$/);
  });

  it('begins with nothing: Node, its libraries, musterd, and neither a shell nor a package manager', () => {
    expect(image.from).toBe('scratch');
    const files = readdirSync(image.root, { recursive: true, encoding: 'utf8' });
    expect(files.filter((path) => path.includes('bin/'))).toEqual(['usr/local/bin/node']);
    expect(files.filter((path) => /(^|\/)(sh|bash|busybox|npm|apt|curl)$/.test(path))).toEqual([]);
  });

  it('holds neither development tools nor the embedded Postgres nor the emulator', () => {
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
      [
        'src',
        'test',
        'package-lock.json',
        'node_modules',
        'dist/emulator',
        'dist/library',
        'dist/sbom.cdx.json',
      ].filter(has),
    ).toEqual([]);
    const bundled = bundledPackages(inImage('dist'));
    expect(bundled).toEqual(expect.arrayContaining(['pg', 'pg-boss', 'prom-client', 'fastify', 'yaml']));
  });

  it('has the licences of Node, of what is built into Node, and of each library', () => {
    const texts = readdirSync(join(image.root, 'usr/share/doc'));
    const licence = (name: string) =>
      readFileSync(join(image.root, 'usr/share/doc', name, 'copyright'), 'utf8');
    for (const part of ['OpenSSL', 'ICU', 'V8', 'zlib', 'undici']) {
      expect(licence('node')).toContain(`- ${part}, located at`);
    }
    expect(texts).toEqual(expect.arrayContaining(['libc6', 'libgcc-s1', 'libstdc++6']));
    for (const name of texts) expect(licence(name)).toMatch(/licen[sc]e/i);
    const without = bom.components.filter(({ licenses = [] }) => licenses.length === 0);
    expect(without).toEqual([]);
  });

  it('is not put together from a system without the libraries', () => {
    const parts = { system: folder.path, node: process.execPath, dist: inImage('dist') };
    expect(() => makeImageRoot({ ...parts, into: join(folder.path, 'of-nothing') })).toThrow(
      /none of lib\/.*: is it the root of a Debian\?$/,
    );
  });

  it('says what it is', () => {
    expect(image.labels).toEqual({
      'org.opencontainers.image.title': 'musterd',
      'org.opencontainers.image.description': expect.stringMatching(/Postgres/) as string,
      'org.opencontainers.image.licenses': 'MIT',
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'musterd.sbom': `${image.workdir}/sbom.cdx.json`,
    });
  });

  it('has a bill of materials: each package that is in it, and no other', () => {
    const { name, version, devDependencies, optionalDependencies } = readPackage(ROOT);
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name, version } } });
    expect(Number(bom.specVersion)).toBeGreaterThanOrEqual(1.5);
    const isOfNpm = ({ purl }: { readonly purl: string }) => purl.startsWith('pkg:npm/');
    const fromNpm = bom.components.filter(isOfNpm);
    const listed = fromNpm.map((one) => one.name);
    expect([...new Set(listed)]).toEqual(bundledPackages(inImage('dist')));
    const exact = new Map(Object.entries(devDependencies));
    const strays = fromNpm.filter((one) => (exact.get(one.name) ?? one.version) !== one.version);
    expect(strays).toEqual([]);
    expect(Object.keys(optionalDependencies).filter((one) => listed.includes(one))).toEqual([]);
    expect(fromNpm.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([]);
    const others = bom.components.filter((one) => !isOfNpm(one)).map(({ purl }) => purl.replace(/@.*/, ''));
    expect(others).toEqual([
      'pkg:generic/node',
      'pkg:deb/debian/libc6',
      'pkg:deb/debian/libgcc-s1',
      'pkg:deb/debian/libstdc%2B%2B6',
    ]);
    expect(bom.components.find((one) => one.name === 'node')?.version).toBe(process.versions.node);
    // Nothing of the machine that made it.
    expect(JSON.stringify(bom)).not.toContain(folder.path);
  });

  it('names each library in it, with the hash that it has, and lets scanners find the packages', () => {
    const hashOf = (path: string) => createHash('sha512').update(readFileSync(path)).digest('hex');
    const named = bom.components.flatMap(({ components = [] }) =>
      components.map(({ name, hashes }) => [name.slice(1), hashes]),
    );
    const libraries = readdirSync(image.root, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.so(\.|$)/.test(path),
    );
    expect(libraries.length).toBeGreaterThan(4);
    expect(Object.fromEntries(named)).toEqual(
      Object.fromEntries(
        libraries.map((path) => [path, [{ alg: 'SHA-512', content: hashOf(join(image.root, path)) }]]),
      ),
    );
    const status = join(image.root, 'var/lib/dpkg/status.d');
    for (const { name, version } of bom.components.filter(({ purl }) => purl.startsWith('pkg:deb/')))
      expect(readFileSync(join(status, name), 'utf8')).toMatch(`\nVersion: ${version}\n`);
    expect(readFileSync(join(image.root, 'etc/os-release'), 'utf8')).toMatch(/^ID=debian$/m);
  });

  it('migrates a database', async () => {
    const database = await createTestDatabase({ empty: true });
    try {
      const { status, stdout, stderr } = await musterd(['migrate', '--json'], { DATABASE_URL: database.url });
      expect(stderr).not.toMatch(/musterd:/);
      expect(status).toBe(0);
      expect((JSON.parse(stdout) as { applied: string[] }).applied.length).toBeGreaterThan(0);
    } finally {
      await database.close();
    }
  });

  it.each([['emulator', '--http'], ['emulator', '--list'], ['demo']])(
    'says that %s is not in it, and where it is',
    async (...args) => {
      const { status, stdout, stderr } = await musterd(args);
      expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
      expect(stderr).toMatch(/^musterd: The emulator is not in this image\n.*npm package or a checkout/);
    },
  );

  it('says that it needs a database', async () => {
    const { status, stderr } = await musterd(['migrate'], { MUSTERD_DATA_DIR: '/musterd/data' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/DATABASE_URL/);
  });

  it('checks its health in words of its own: 1 where nobody answers, or nobody was meant to', async () => {
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

  it('reconciles, answers its health check, and ends in order at SIGTERM', async () => {
    const emulator = await createEmulator({ http: true, users: 30, tags: 5, fields: 3, ratePerMinute: 0 });
    const database = await createTestDatabase();
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
      if (canConfine) expectConfined(daemon.pid ?? 0);
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

  function expectConfined(pid: number) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [uid, gid] = (image.user ?? '').split(':');
    const line = (name: string) => new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'm').exec(status)?.[1];
    expect(line('Uid')?.split('\t')).toEqual([uid, uid, uid, uid]);
    expect(line('Gid')?.split('\t')).toEqual([gid, gid, gid, gid]);
    expect(line('Groups')).toBe('');
    expect(line('NoNewPrivs')).toBe('1');
    for (const set of ['CapPrm', 'CapEff', 'CapInh', 'CapAmb']) expect(line(set)).toMatch(/^0+$/);
    const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').trim().split('\n');
    expect(mounts.map((mount) => mount.split(' ').slice(4, 6))).toEqual([
      ['/', expect.stringMatching(/^ro,/) as string],
    ]);
  }

  it.skipIf(!canConfine)('can write nowhere, and runs nothing but Node', async () => {
    const attempt = `
      const { mkdirSync, readdirSync } = await import('node:fs');
      const { spawnSync } = await import('node:child_process');
      const codes = ['/x', '/tmp', '/musterd/x', '/musterd/dist/x', '/usr/x'].map((path) => {
        try { mkdirSync(path); return 'made'; } catch (error) { return error.code; }
      });
      console.log(JSON.stringify([...new Set(codes), spawnSync('/bin/sh').error.code, readdirSync('/')]));`;
    const { stdout } = await withEnd(start(['node', '--input-type=module', '-e', attempt]));
    const [write, shell, top] = JSON.parse(stdout) as [string, string, string[]];
    expect([write, shell]).toEqual(['EROFS', 'ENOENT']);
    expect(top.filter((name) => !name.startsWith('lib')).toSorted()).toEqual([
      'etc',
      'musterd',
      'usr',
      'var',
    ]);
  });
});
