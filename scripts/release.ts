/**
 * `npm run release` makes whatever a release consists of in the folder `release`, and publishes nothing. Whatever keeps it from
 * being published ends it, or is only said with `--dry-run`. CONTRIBUTING.md ("Releasing") has the steps.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const RELEASED = 'migrations/released.json';

type Hashes = Readonly<Record<string, string>>;

/** @returns what the changelog says of a version, or why there are no notes of it */
export function readNotes(
  changelog: string,
  version: string,
): { readonly notes: string } | { readonly flaw: string } {
  const [, ...sections] = changelog.split(/^## /m);
  const [first = ''] = sections;
  const [head = '', ...lines] = first.split('\n');
  const isDated = /^(\S+) \(\d{4}-\d{2}-\d{2}\)$/.exec(head);
  if (isDated?.[1] !== version)
    return { flaw: `CHANGELOG.md begins with "${head}" and not with "${version} (<year>-<month>-<day>)"` };
  const notes = lines.join('\n').trim();
  return notes === '' ? { flaw: `CHANGELOG.md says nothing of ${version}` } : { notes: `${notes}\n` };
}

/** The hashes of the numbered migrations, whatever the ends of their lines are in this checkout. */
export function hashMigrations(folder: string): Hashes {
  const names = readdirSync(folder).filter((name) => /^\d+_.*\.sql$/.test(name));
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n'))
      .digest('hex');
  return Object.fromEntries(names.toSorted().map((name) => [name, hash(name)]));
}

/** @returns what became of released migrations that must not change */
export function changedMigrations(released: Hashes, now: Hashes): readonly string[] {
  return Object.entries(released).flatMap(([name, hash]) => {
    if (now[name] === hash) return [];
    return [
      `migrations/${name} was released, and ${now[name] === undefined ? 'is gone' : 'has changed since'}`,
    ];
  });
}

const readReleased = () => JSON.parse(readFileSync(RELEASED, 'utf8')) as Hashes;
const readPackage = () =>
  JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly version: string;
    readonly repository?: unknown;
  };

/** Adds those that are new. @throws if one that is there already has changed */
function recordMigrations(): void {
  const now = hashMigrations('migrations');
  const changed = changedMigrations(readReleased(), now);
  if (changed.length > 0) throw new Error(`${changed.join('; ')}. Make another migration in its place.`);
  writeFileSync(RELEASED, `${JSON.stringify(now, null, 2)}\n`);
}

/** @returns why nothing may be published from this checkout */
function flawsOf(version: string): readonly string[] {
  const now = hashMigrations('migrations');
  const released = readReleased();
  const added = Object.keys(now).filter((name) => released[name] === undefined);
  const notes = readNotes(readFileSync('CHANGELOG.md', 'utf8'), version);
  const git = (...args: readonly string[]) => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
  return [
    ...('flaw' in notes ? [notes.flaw] : []),
    ...changedMigrations(released, now),
    ...added.map((name) => `${RELEASED} lacks ${name}: npm run release -- --record-migrations`),
    // npm compares the two before it takes the provenance.
    ...(process.env['GITHUB_REPOSITORY'] !== undefined && readPackage().repository === undefined
      ? ['package.json names no repository']
      : []),
    ...(git('status', '--porcelain') === '' ? [] : ['there are changes that are not committed']),
    ...(git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
      ? []
      : [`no tag v${version} is here`]),
  ];
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${status}\n${stderr}${stdout}`}`);
  return stdout;
}

const say = (words: string) => process.stdout.write(`${words}\n`);

/** Makes the tarball, which contains a fresh `dist`. */
function packInto(folder: string): void {
  const answer = run('npm', ['pack', '--json', '--pack-destination', folder]);
  const [tarball] = JSON.parse(answer.slice(answer.indexOf('['))) as { filename: string; files: object[] }[];
  if (tarball === undefined) throw new Error('npm pack made nothing');
  say(`package: ${tarball.filename}, ${tarball.files.length} files`);
}

/** In the form that `sha256sum --check` reads. */
function writeChecksums(folder: string): void {
  const names = readdirSync(folder).toSorted();
  const lines = names.map((name) => {
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${hash}  ${name}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
  say(`checksums: SHA256SUMS, of ${names.join(', ')}`);
}

function makeRelease(folder: string, version: string): void {
  const name = `musterd-${version}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  packInto(folder);
  const bom = run(process.execPath, ['scripts/sbom.ts']);
  writeFileSync(join(folder, `${name}.cdx.json`), bom);
  say(`bill of materials: ${name}.cdx.json`);
  const notes = readNotes(readFileSync('CHANGELOG.md', 'utf8'), version);
  if ('notes' in notes) writeFileSync(join(folder, 'notes.md'), notes.notes);
  say(`notes: ${'notes' in notes ? 'notes.md' : `left out. ${notes.flaw}`}`);
  writeChecksums(folder);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      'record-migrations': { type: 'boolean', default: false },
      to: { type: 'string', default: 'release' },
    },
  });
  if (values['record-migrations']) recordMigrations();
  else {
    const { version } = readPackage();
    const flaws = flawsOf(version);
    for (const flaw of flaws) say(`not to be published: ${flaw}`);
    if (flaws.length > 0 && !values['dry-run']) process.exit(1);
    makeRelease(resolve(values.to), version);
    say(`Nothing was published. ${values.to} has what would be.`);
  }
}
