/**
 * `node image-root.ts <system> <folder>` puts together what is in the image: in `<folder>/runtime` Node and the libraries that it
 * asks for, from the root of a Debian, and in `<folder>/program` musterd, as `npm run build` made it. Nothing of the system is run,
 * so that it may be another machine's: docs/decisions/0008-image-from-nothing.md
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface Places {
  /** The root of a Debian of the image's platform. */
  readonly system: string;
  /** The program, as Node's own builds have it: with its licence and its headers beside it. */
  readonly node: string;
  /** What `bundle.ts` wrote. */
  readonly dist: string;
  readonly into: string;
}

interface Component {
  readonly type: string;
  readonly name: string;
  readonly [more: string]: unknown;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** What `dpkg` knows of it. */
  readonly text: string;
  readonly files: readonly string[];
}

/** What the loader looks at in a program or library. Everything that Node is built for here has 64 bits, the low byte first. */
interface Loadable {
  readonly machine: number;
  readonly interpreter: string | undefined;
  readonly needed: readonly string[];
}

const triplets: Readonly<Record<number, string>> = { 62: 'x86_64-linux-gnu', 183: 'aarch64-linux-gnu' };

export function makeImageRoot({ system, node, dist, into }: Places): void {
  const runtime = join(into, 'runtime');
  const program = join(into, 'program');
  rmSync(into, { recursive: true, force: true });
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(runtime, to)), { recursive: true });
    copyFileSync(from, join(runtime, to));
  };
  const beside = (path: string) => join(dirname(node), '..', path);
  put(node, 'usr/local/bin/node');
  put(beside('LICENSE'), 'usr/share/doc/node/copyright');
  const libraries = findLibraries(system, node);
  for (const library of libraries) put(join(system, library), library);
  const packages = findPackages(system, libraries);
  for (const { name, text } of packages) {
    put(join(system, 'usr/share/doc', name, 'copyright'), `usr/share/doc/${name}/copyright`);
    // Where scanners look in an image without dpkg.
    mkdirSync(join(runtime, 'var/lib/dpkg/status.d'), { recursive: true });
    writeFileSync(join(runtime, 'var/lib/dpkg/status.d', name), `${text}\n`);
  }
  put(join(system, 'usr/lib/os-release'), 'etc/os-release');

  mkdirSync(program, { recursive: true });
  for (const path of ['package.json', 'LICENSE', 'migrations'])
    cpSync(path, join(program, path), { recursive: true });
  // The daemon and what asks how it is. What plays the service, to rehearse on, is for the npm package alone.
  const parts = ['main.js', 'healthcheck.js', 'chunks', 'third-party-licences.txt'];
  const isIn = (path: string) => parts.some((part) => path.startsWith(join(dist, part)));
  cpSync(dist, join(program, 'dist'), { recursive: true, filter: (path) => path === dist || isIn(path) });
  const version = readNodeVersion(beside('include/node/node_version.h'));
  const release =
    /^VERSION_ID="?(.*?)"?$/m.exec(readFileSync(join(runtime, 'etc/os-release'), 'utf8'))?.[1] ?? '';
  const more = [
    describeNode(version, node),
    ...packages.map((one) => describePackage(one, release, libraries, system)),
  ];
  const bom = JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')) as { components: Component[] };
  writeFileSync(
    join(program, 'sbom.cdx.json'),
    `${JSON.stringify({ ...bom, components: [...bom.components, ...more] }, null, 2)}\n`,
  );
  // Whoever builds may keep files to themselves; whoever runs it is somebody else.
  for (const folder of [runtime, program]) openToReaders(folder);
}

function openToReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToReaders(path);
    else chmodSync(path, /(^|\/)(bin\/[^/]+|ld-linux[^/]*)$/.test(path) ? 0o755 : 0o644);
  }
}

/** @returns the paths, from the root of the system, of whatever the program needs, the loader first */
function findLibraries(system: string, program: string): readonly string[] {
  const { machine, interpreter = '', needed } = readLoadable(program);
  const triplet = triplets[machine];
  if (triplet === undefined)
    throw new Error(`${program}: of a machine that musterd has no image for (${machine})`);
  const found = new Map([[basename(interpreter), interpreter.slice(1)]]);
  const open = [...needed];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    const places = ['lib', 'usr/lib'].map((folder) => `${folder}/${triplet}/${name}`);
    const path = places.find((place) => existsSync(join(system, place)));
    if (path === undefined)
      throw new Error(`${system} has none of ${places.join(', ')}: is it the root of a Debian?`);
    found.set(name, path);
    open.push(...readLoadable(join(system, path)).needed);
  }
  return [...found.values()];
}

function readLoadable(path: string): Loadable {
  const file = readFileSync(path);
  if (file.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error(`${path}: no program of 64 bits`);
  const number = (at: number) => Number(file.readBigUInt64LE(at));
  const text = (at: number) => file.toString('latin1', at, file.indexOf(0, at));
  const segments = Array.from({ length: file.readUInt16LE(56) }, (_, at) => {
    const head = number(32) + at * file.readUInt16LE(54);
    return {
      type: file.readUInt32LE(head),
      from: number(head + 8),
      address: number(head + 16),
      bytes: number(head + 32),
    };
  });
  const [interpreter] = segments.filter(({ type }) => type === 3);
  const entries = segments
    .filter(({ type }) => type === 2)
    .flatMap(({ from, bytes }) =>
      Array.from(
        { length: bytes / 16 },
        (_, at) => [number(from + at * 16), number(from + at * 16 + 8)] as const,
      ),
    );
  const names = entries.find(([tag]) => tag === 5)?.[1] ?? 0;
  const holder = segments.find(
    ({ type, address, bytes }) => type === 1 && names >= address && names < address + bytes,
  );
  const base = names - (holder?.address ?? 0) + (holder?.from ?? 0);
  return {
    machine: file.readUInt16LE(18),
    interpreter: interpreter && text(interpreter.from),
    needed: entries.flatMap(([tag, value]) => (tag === 1 ? [text(base + value)] : [])),
  };
}

/** The packages that the files are of. A list may name a file under /lib that is under /usr/lib, or the other way round. */
function findPackages(system: string, paths: readonly string[]): readonly Package[] {
  const folder = join(system, 'var/lib/dpkg');
  const plain = (path: string) => path.replace(/^\/?(usr\/)?/, '');
  const wanted = new Set(paths.map(plain));
  const stanzas = readFileSync(join(folder, 'status'), 'utf8')
    .trim()
    .split(/\n{2,}/);
  const packages = readdirSync(join(folder, 'info'))
    .filter((file) => file.endsWith('.list'))
    .flatMap((file) => {
      const lines = readFileSync(join(folder, 'info', file), 'utf8')
        .split('\n')
        .map(plain);
      const files = lines.filter((line) => wanted.has(line));
      if (files.length === 0) return [];
      const [name = '', architecture] = file.replace(/\.list$/, '').split(':');
      const field = (text: string, key: string) => new RegExp(`^${key}: (.*)$`, 'm').exec(text)?.[1] ?? '';
      const text = stanzas.find(
        (each) =>
          field(each, 'Package') === name &&
          (architecture === undefined || field(each, 'Architecture') === architecture),
      );
      if (text === undefined) throw new Error(`${folder}/status does not know ${file}`);
      const one = {
        name,
        version: field(text, 'Version'),
        architecture: field(text, 'Architecture'),
        text,
        files,
      };
      return [one];
    });
  const strays = [...wanted].filter((path) => !packages.some(({ files }) => files.includes(path)));
  if (strays.length > 0) throw new Error(`of no package: ${strays.join(', ')}`);
  return packages.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function readNodeVersion(header: string): string {
  const text = readFileSync(header, 'utf8');
  const part = (name: string) => new RegExp(`^#define NODE_${name}_VERSION (\\d+)$`, 'm').exec(text)?.[1];
  return [part('MAJOR'), part('MINOR'), part('PATCH')].join('.');
}

const hashesOf = (path: string) => [
  { alg: 'SHA-512', content: createHash('sha512').update(readFileSync(path)).digest('hex') },
];

function describeNode(version: string, path: string): Component {
  return {
    type: 'platform',
    'bom-ref': `node@${version}`,
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    licenses: [{ license: { name: 'Node.js and what is built into it: /usr/share/doc/node/copyright' } }],
    hashes: hashesOf(path),
  };
}

function describePackage(
  { name, version, architecture, files }: Package,
  release: string,
  libraries: readonly string[],
  system: string,
): Component {
  const own = libraries.filter((path) => files.some((file) => path.endsWith(file)));
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:deb/debian/${name.replaceAll('+', '%2B')}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${release}`,
    licenses: [{ license: { name: `several: /usr/share/doc/${name}/copyright` } }],
    components: own.map((path) => ({ type: 'file', name: `/${path}`, hashes: hashesOf(join(system, path)) })),
  };
}

if (import.meta.main) {
  const [system, into] = process.argv.slice(2);
  if (system === undefined || into === undefined) throw new Error('node image-root.ts <system> <folder>');
  // The image of another platform has it where this one does.
  makeImageRoot({ system, node: join(system, process.execPath), dist: 'dist', into });
}
