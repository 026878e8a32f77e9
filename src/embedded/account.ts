import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MusterdError } from '../errors.ts';

/** The account that the server runs as, if it is not the account of this process. */
export type Account = Readonly<{ uid: number; gid: number }>;

/** The environment of a started program: no secrets, no PGDATA, no unknown locale. */
export const CHILD_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

/**
 * Runs `work` on files with only the rights of the account, because the account can replace a file in its folder by a
 * link that root must not follow. `work` must be synchronous: meanwhile, the whole process has only those rights.
 */
export function asAccount<T>(account: Account | undefined, work: () => T): T {
  if (account === undefined) return work();
  if (process.seteuid === undefined || process.setegid === undefined || process.setgroups === undefined)
    throw new MusterdError('mirror', 'Only the main thread of a process can switch to another account.');
  const groups = process.getgroups?.() ?? [];
  process.setgroups([account.gid]);
  process.setegid(account.gid);
  process.seteuid(account.uid);
  try {
    return work();
  } finally {
    process.seteuid(0);
    process.setegid(0);
    process.setgroups(groups);
  }
}

/** Postgres refuses to run as root, so root starts it as `postgres` or, if there is none, as `nobody`. */
function serverAccount(): Account {
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { env: CHILD_ENVIRONMENT }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  const words = 'The embedded Postgres cannot run as root, and there is no other account.';
  throw new MusterdError('mirror', words, { hint: 'Run musterd as another user, or set DATABASE_URL.' });
}

/**
 * Gives `folder` to the server's account and returns that account, or `undefined` if this process is not root. An
 * existing mirror keeps its owner, so that root can open the mirror of another user. A folder with other content is
 * left as it is, because the setting can name / or /tmp by mistake.
 */
export function giveFolder(folder: string): Account | undefined {
  fs.mkdirSync(dirname(folder), { recursive: true });
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return undefined;
  const found = fs.lstatSync(join(folder, 'cluster'), { throwIfNoEntry: false });
  const { uid, gid } = found === undefined || found.uid === 0 ? serverAccount() : found;
  const link = fs.lstatSync(folder);
  // A link is followed only if root created it.
  const path = link.isSymbolicLink() && link.uid === 0 ? fs.realpathSync(folder) : folder;
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
  const descriptor = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const isOurs = fs.fstatSync(descriptor).uid === 0 && fs.readdirSync(path).length === 0;
  if (isOurs) fs.fchownSync(descriptor, uid, gid);
  fs.closeSync(descriptor);
  return { uid, gid };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The possible folders: systemd's (a unit with DynamicUser has no home), else the system's for root, or the user's. */
export function foldersOf(kind: 'data' | 'cache', environment: Environment = process.env): readonly string[] {
  const [granted, system, xdg, usual] =
    kind === 'data'
      ? (['STATE_DIRECTORY', '/var/lib/musterd', 'XDG_DATA_HOME', '.local/share'] as const)
      : (['CACHE_DIRECTORY', '/var/cache/musterd', 'XDG_CACHE_HOME', '.cache'] as const);
  const given = environment[granted]?.split(':')[0];
  if (given) return [given];
  if (process.getuid?.() === 0) return [system];
  const home = homeFolder();
  const bases = [environment[xdg], home && join(home, usual)].filter((base) => base?.startsWith('/'));
  return [...bases.map((base = '') => join(base, 'musterd')), join(sharedFolder(), kind)];
}

/** The folder of this user below the temporary folder, in which every user can create files. */
const sharedFolder = () => join(tmpdir(), `musterd-${process.getuid?.() ?? 0}`);

function homeFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    // HOME is unset, and the user is not in passwd.
    return undefined;
  }
}

/** The first of the possible folders that this process can write to. It is created if it is missing. */
export function usableFolder(kind: 'data' | 'cache', environment?: Environment): string {
  const folders = foldersOf(kind, environment);
  let last: unknown;
  for (const folder of folders) {
    try {
      if (folder.startsWith(sharedFolder())) makePrivate(sharedFolder());
      const made = fs.mkdirSync(folder, { recursive: true, mode: 0o755 }) !== undefined;
      // The server's account needs access to the folder, whatever umask root has.
      if (made && process.getuid?.() === 0) fs.chmodSync(folder, 0o755);
      fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
      return folder;
    } catch (error) {
      last = error;
    }
  }
  throw new MusterdError('mirror', `No folder is usable for the embedded Postgres: ${folders.join(', ')}.`, {
    hint: 'Set MUSTERD_DATA_DIR to a folder that you may write to, or DATABASE_URL to a Postgres of yours.',
    cause: last,
  });
}

/** Creates a private folder. It throws if another user has created this name first, which can be an attack. */
function makePrivate(folder: string): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = fs.lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new Error(`${folder} belongs to another account, or other accounts can access it`);
}

/** Creates a new folder whose name begins with `prefix`. Removes older such folders, which killed processes have left. */
export function makeFresh(folder: string, prefix: string): string {
  for (const name of fs.readdirSync(folder).filter((each) => each.startsWith(prefix))) {
    const madeAt = fs.statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - madeAt > 600_000) fs.rmSync(join(folder, name), { recursive: true, force: true });
  }
  return fs.mkdtempSync(join(folder, prefix));
}
