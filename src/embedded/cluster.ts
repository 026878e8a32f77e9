import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MusterdError } from '../errors.ts';
import { type Account, asAccount, CHILD_ENVIRONMENT } from './account.ts';
import type { Binaries } from './binaries.ts';

/** A data directory of Postgres and its password, which are created and renamed together. */
export interface Cluster {
  /** The value of PGDATA. */
  readonly data: string;
  /** A password file for libpq (PGPASSFILE), mode 0600. */
  readonly passwordFile: string;
  readonly password: string;
  /** The file with the chosen port. */
  readonly portFile: string;
}

/** The role that owns everything in an embedded server, and the name of its database. */
export const OWNER = 'musterd';

/** Finds the cluster of a data folder, or creates it. Several processes may do so concurrently. */
export async function openCluster(
  folder: string,
  binaries: Binaries,
  options: { account: Account | undefined; ephemeral: boolean; onProgress: (step: string) => void },
): Promise<Cluster> {
  const place = join(folder, 'cluster');
  const { account } = options;
  if (!asAccount(account, () => isCluster(place))) {
    options.onProgress('creating the database');
    asAccount(account, () => sweep(folder));
    await create(folder, place, binaries, options);
  }
  const data = join(place, 'data');
  const passwordFile = join(place, 'pgpass');
  const { found, password } = asAccount(account, () => ({
    found: Number.parseInt(readFileSync(join(data, 'PG_VERSION'), 'utf8'), 10),
    password: readFileSync(passwordFile, 'utf8').trim().split(':').at(-1) ?? '',
  }));
  if (found !== binaries.major) {
    throw new MusterdError(
      'mirror',
      `The mirror in ${folder} was made by Postgres ${found}, not ${binaries.major}.`,
      {
        hint: `Carry it over with pg_upgrade or with pg_dump of Postgres ${found}; or move the folder away, and musterd makes a new mirror from the service (edits that were not pushed yet are then only in the old one).`,
      },
    );
  }
  return { data, passwordFile, password, portFile: join(place, 'port') };
}

/** Whether this folder is a cluster. */
export function isCluster(place: string): boolean {
  return existsSync(join(place, 'data', 'PG_VERSION'));
}

/** The folder that becomes the cluster. It contains the password twice: for clients and for initdb. */
function prepare(folder: string): string {
  const fresh = mkdtempSync(join(folder, 'cluster.new-'));
  const password = randomBytes(18).toString('base64url');
  writeFileSync(join(fresh, 'pgpass'), `127.0.0.1:*:*:${OWNER}:${password}\n`, { mode: 0o600 });
  writeFileSync(join(fresh, 'password'), password, { mode: 0o600 });
  return fresh;
}

async function create(
  folder: string,
  place: string,
  binaries: Binaries,
  { account, ephemeral }: { account: Account | undefined; ephemeral: boolean },
): Promise<void> {
  const fresh = asAccount(account, () => prepare(folder));
  try {
    const plain = join(fresh, 'password');
    await initialise(join(fresh, 'data'), plain, binaries, account, ephemeral);
    asAccount(account, () => {
      rmSync(plain);
      appendFileSync(join(fresh, 'data', 'postgresql.conf'), SETTINGS);
      // Fails if another process was faster: then its cluster is used.
      if (!existsSync(place)) renameSync(fresh, place);
    });
  } catch (error) {
    if (!asAccount(account, () => isCluster(place))) throw error;
  } finally {
    asAccount(account, () => rmSync(fresh, { recursive: true, force: true }));
  }
}

/** Settings for a small server; the file may be edited for a larger one. */
const SETTINGS = `
# musterd
shared_buffers = 64MB
max_connections = 50
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
logging_collector = off
`;

async function initialise(
  data: string,
  passwordFile: string,
  { bindir, major }: Binaries,
  account: Account | undefined,
  ephemeral: boolean,
): Promise<void> {
  // Postgres has had this locale since 17. It sorts in the same way on every machine.
  const locale =
    major >= 17
      ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
      : ['--locale=C.UTF-8'];
  const options = ['-D', data, '-U', OWNER, '-A', 'scram-sha-256', '--pwfile', passwordFile, '-E', 'UTF8'];
  try {
    await promisify(execFile)(join(bindir, 'initdb'), [...options, ...locale, ...(ephemeral ? ['-N'] : [])], {
      ...identity(account),
      cwd: '/',
      env: CHILD_ENVIRONMENT,
    });
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new MusterdError('mirror', `The embedded Postgres could not be set up: ${words || String(error)}`, {
      hint: 'Set DATABASE_URL to a Postgres of yours, if this machine cannot run the embedded one.',
      cause: error,
    });
  }
}

/** The account for spawn. */
export function identity(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

/** Removes the remains of creations that were killed. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('cluster.new-')) continue;
    const path = join(folder, name);
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - madeAt > 600_000) rmSync(path, { recursive: true, force: true });
  }
}
