/** Looks at an OCI layout as two other programs read it: skopeo what it says of itself, umoci what is in it. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

interface Wanted {
  readonly layout: string;
  readonly tag: string;
  readonly architecture: string;
  /** What should be at its root, and in /musterd. */
  readonly files: readonly string[];
  /** A folder for what is unpacked. */
  readonly work: string;
}

interface Index {
  readonly manifests: readonly {
    readonly platform: { readonly architecture: string; readonly os: string };
  }[];
}

interface Config {
  readonly architecture: string;
  readonly os: string;
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly WorkingDir: string;
    readonly StopSignal: string;
    readonly ExposedPorts: Readonly<Record<string, object>>;
    readonly Labels: Readonly<Record<string, string>>;
    readonly Env: readonly string[];
  };
}

/** @returns what was found right; @throws Error with what was not */
export function checkImage({ layout, tag, architecture, files, work }: Wanted): readonly string[] {
  const image = `oci:${layout}:${tag}`;
  const { manifests } = JSON.parse(run('skopeo', ['inspect', '--raw', image])) as Index;
  const platforms = manifests.map(({ platform }) => `${platform.os}/${platform.architecture}`);
  expect('the platforms', platforms.toSorted(), ['linux/amd64', 'linux/arm64']);

  // Copying compares each layer with its digest.
  const single = join(work, `single-${architecture}`);
  run('skopeo', [
    '--override-os',
    'linux',
    '--override-arch',
    architecture,
    'copy',
    image,
    `oci:${single}:${tag}`,
  ]);
  const { config, ...about } = JSON.parse(
    run('skopeo', ['inspect', '--config', `oci:${single}:${tag}`]),
  ) as Config;
  expect('the platform', [about.os, about.architecture], ['linux', architecture]);
  expect('the user', config.User, '65532:65532');
  expect(
    'the entry point',
    [...config.Entrypoint, ...config.Cmd],
    ['node', '--disable-sigusr1', 'dist/main.js', 'daemon'],
  );
  expect(
    'the rest',
    [config.WorkingDir, config.StopSignal, Object.keys(config.ExposedPorts)],
    ['/musterd', 'SIGTERM', ['9464/tcp']],
  );
  expect('the version', config.Labels['org.opencontainers.image.version'], tag);
  expect('the bill of materials', config.Labels['musterd.sbom'], '/musterd/sbom.cdx.json');
  expect('the path', config.Env.includes('PATH=/usr/local/bin'), true);

  const bundle = join(work, `bundle-${architecture}`);
  run('umoci', ['unpack', '--rootless', '--image', `${single}:${tag}`, bundle]);
  const rootfs = join(bundle, 'rootfs');
  const [runtime = '', program = ''] = files;
  const wanted = { ...hashesUnder(runtime), ...hashesUnder(program, 'musterd/') };
  expect('the files', hashesUnder(rootfs), wanted);
  const writable = readdirSync(rootfs, { recursive: true, encoding: 'utf8' }).filter(
    (path) => (lstatSync(join(rootfs, path)).mode & 0o022) !== 0,
  );
  expect('files that others may write', writable, []);
  const programs = Object.keys(wanted).filter((path) => (lstatSync(join(rootfs, path)).mode & 0o111) !== 0);
  const strange = programs.filter((path) => !/^(usr\/local\/bin\/node|lib(64)?\/ld-linux-[^/]*)$/.test(path));
  expect('programs but Node and the loader', strange, []);
  const found = [
    `skopeo reads it: ${config.User}, ${config.Entrypoint.join(' ')}, ${Object.keys(config.Labels).length} labels`,
    `umoci unpacks ${Object.keys(wanted).length} files, the same as were put in; programs: ${programs.join(', ')}`,
  ];
  const runner = runnerOf(rootfs, architecture);
  if (spawnSync(runner[0], ['--version']).error !== undefined)
    return [...found, `not run: ${runner[0]} is missing (apt-get install qemu-user-static)`];
  const [command, ...before] = runner;
  const version = run(command, [...before, '--version']);
  expect('what it answers', version, tag);
  return [...found, `runs by ${command}, and says that it is ${version}`];
}

const processors: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

/** On its own platform it has nothing but its own files, if we may do that; another one is emulated. */
function runnerOf(rootfs: string, architecture: string): readonly [string, ...string[]] {
  const isOurs = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] === architecture;
  if (isOurs && process.getuid?.() === 0)
    return ['chroot', '--userspec=65532:65532', rootfs, '/usr/local/bin/node', '/musterd/dist/main.js'];
  const [node, main] = ['usr/local/bin/node', 'musterd/dist/main.js'].map((path) => join(rootfs, path));
  return [`qemu-${processors[architecture]}-static`, '-L', rootfs, node ?? '', main ?? ''];
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${status}\n${stderr}`}`);
  return stdout.trim();
}

function expect(what: string, found: unknown, wanted: unknown): void {
  if (isDeepStrictEqual(found, wanted)) return;
  throw new Error(`${what}: ${JSON.stringify(found)}\nin the place of: ${JSON.stringify(wanted)}`);
}

function hashesUnder(folder: string, before = ''): Readonly<Record<string, string>> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !lstatSync(join(folder, path)).isDirectory())
    .toSorted();
  return Object.fromEntries(
    paths.map((path) => [
      `${before}${path}`,
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex'),
    ]),
  );
}
