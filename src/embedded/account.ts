import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { MusterdError } from '../errors.ts';

/** The account that the server runs as, if not our own. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** It is `below` if it is in a folder that everybody may write to, so that it must be checked first. */
interface Candidate {
  readonly folder: string;
  readonly below: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a started program: no secrets, no PGDATA, no unknown locale. */
export const CHILD_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

/**
 * Works on files with only the rights of the account. In its own folder the account can replace any file by a
 * link, so root must not follow paths there. `work` must be synchronous: the whole process has those rights meanwhile.
 */
export function asAccount<T>(account: Account | undefined, work: () => T): T {
  if (account === undefined) return work();
  if (process.seteuid === undefined || process.setegid === undefined || process.setgroups === undefined) {
    throw new MusterdError(
      'mirror',
      'Only the main thread of a process can take another account for a while.',
    );
  }
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
  const account = findAccount('postgres') ?? findAccount('nobody');
  if (account !== undefined) return account;
  throw new MusterdError(
    'mirror',
    'The embedded Postgres cannot run as root, and there is no other account.',
    {
      hint: 'Run musterd as another user, or set DATABASE_URL.',
    },
  );
}

function findAccount(name: string): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    spawnSync('id', [flag, name], { encoding: 'utf8', env: CHILD_ENVIRONMENT }),
  );
  if (uid?.status !== 0 || gid?.status !== 0) return undefined;
  return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** The default data folder, which is created and owned by us. */
export function dataFolder(environment: Environment = process.env): string {
  const own = environment['MUSTERD_DATA_DIR'];
  if (own) return resolve(own);
  return firstUsable(candidates(environment, 'data'));
}

/** The places where the data folder is, or might be. None is created. */
export function dataFolders(environment: Environment = process.env): readonly string[] {
  const own = environment['MUSTERD_DATA_DIR'];
  return own ? [resolve(own)] : candidates(environment, 'data').map(({ folder }) => folder);
}

/** The folder of the unpacked server binaries, which is created and owned by us. */
export function cacheFolder(environment: Environment = process.env): string {
  return firstUsable(candidates(environment, 'cache'));
}

/** The folders to try: systemd's first (a unit with DynamicUser has no home), then the system's or the user's. */
function candidates(environment: Environment, kind: 'data' | 'cache'): readonly Candidate[] {
  const granted = environment[kind === 'data' ? 'STATE_DIRECTORY' : 'CACHE_DIRECTORY']?.split(':')[0];
  if (granted) return [{ folder: granted, below: null }];
  if (process.getuid?.() === 0)
    return [{ folder: kind === 'data' ? '/var/lib/musterd' : '/var/cache/musterd', below: null }];
  const xdg = environment[kind === 'data' ? 'XDG_DATA_HOME' : 'XDG_CACHE_HOME'];
  const home = homeFolder();
  const usual = kind === 'data' ? ['.local', 'share'] : ['.cache'];
  const shared = join(tmpdir(), `musterd-${process.getuid?.() ?? 0}`);
  return [
    ...(xdg?.startsWith('/') ? [{ folder: join(xdg, 'musterd'), below: null }] : []),
    ...(home === undefined ? [] : [{ folder: join(home, ...usual, 'musterd'), below: null }]),
    { folder: join(shared, kind), below: shared },
  ];
}

function homeFolder(): string | undefined {
  try {
    return homedir() || undefined;
  } catch {
    // HOME is unset, and the user is not in passwd.
    return undefined;
  }
}

function firstUsable(places: readonly Candidate[]): string {
  let last: unknown;
  for (const { folder, below } of places) {
    try {
      if (below !== null) makePrivate(below);
      const made = mkdirSync(folder, { recursive: true, mode: 0o755 }) !== undefined;
      // The server's account needs access, whatever root's umask is.
      if (made && process.getuid?.() === 0) chmodSync(folder, 0o755);
      accessSync(folder, constants.W_OK | constants.X_OK);
      return folder;
    } catch (error) {
      last = error;
    }
  }
  const tried = places.map(({ folder }) => folder).join(', ');
  throw new MusterdError('mirror', `No folder is usable for the embedded Postgres: ${tried}.`, {
    hint: 'Set MUSTERD_DATA_DIR to a folder that you may write to, or DATABASE_URL to a Postgres of yours.',
    cause: last,
  });
}

/** In a folder that everybody may write to, somebody may have created this name with bad intentions. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder} belongs to somebody else, or is open to others`);
  }
}

/**
 * Gives `folder` to the server's account and returns that account; without one it is our own. An existing mirror keeps
 * its owner, so that root can look at another user's.
 */
export function giveFolder(folder: string): Account | undefined {
  mkdirSync(dirname(folder), { recursive: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return undefined;
  const account = ownerOf(join(folder, 'cluster')) ?? serverAccount();
  giveEmpty(folder, account);
  const { uid, gid } = account;
  const probe = ['-c', 'cd -- "$1" && test -w . && test -x .', 'sh', folder];
  const asThem = { uid, gid, cwd: '/', env: CHILD_ENVIRONMENT, stdio: 'ignore' } as const;
  if (spawnSync('/bin/sh', probe, asThem).status === 0) return account;
  throw new MusterdError('mirror', `The account ${account.name} cannot use the folder ${folder}.`, {
    hint: 'As root, the embedded Postgres runs as that account: choose an empty MUSTERD_DATA_DIR that it can reach (not below /root).',
  });
}

/** Refuses a folder with other content, because the variable may name / or /tmp by mistake. */
function giveEmpty(folder: string, { uid, gid }: Account): void {
  const link = lstatSync(folder);
  // Only links created by root are trusted.
  const path = link.isSymbolicLink() && link.uid === 0 ? realpathSync(folder) : folder;
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if (readdirSync(path).length === 0 && fstatSync(descriptor).uid === 0) fchownSync(descriptor, uid, gid);
  } finally {
    closeSync(descriptor);
  }
}

function ownerOf(path: string): Account | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid === 0) return undefined;
  return { name: `with the id ${found.uid}`, uid: found.uid, gid: found.gid };
}
