import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CHILD_ENVIRONMENT } from './account.ts';

/** The content of the postmaster's lock file. */
interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: 'starting' | 'ready' | 'stopping';
}

/** The server that runs on this data directory, if any. A lock file alone proves nothing. */
export function findPostmaster(data: string): Postmaster | undefined {
  const lines = readLockFile(data);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isPostmaster(pid, data)) return undefined;
  const port = Number(lines[3]);
  const word = lines[7]?.trim();
  const status = word === 'ready' || word === 'stopping' ? word : 'starting';
  return { pid, port, status: port > 0 ? status : 'starting' };
}

/**
 * Postgres trusts a lock file whose pid is alive. So it would not start if the pid was reused by
 * another process, or if the dead server is still a zombie (common in containers).
 * The other lines of the file name the shared memory, by which Postgres checks whether a child of the
 * dead server still writes. So the file is kept, with a pid that no process has. The same is done with a file that
 * is empty after a power cut.
 */
export function disownLockFile(data: string): void {
  const file = join(data, 'postmaster.pid');
  const lines = readLockFile(data);
  const pid = Number(lines[0]);
  if (pid > 0 && Number.isInteger(pid)) {
    if (pid === NOBODY || !isAlive(pid) || isPostmaster(pid, data)) return;
  } else {
    const writtenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    // A starting server has an empty file for a moment.
    if (writtenAt === undefined || Date.now() - writtenAt < 1_000 || isWorkedIn(data)) return;
  }
  // Another process may have done the same meanwhile and started the server.
  if (readLockFile(data).join('\n') !== lines.join('\n')) return;
  writeFileSync(file, [String(NOBODY), ...lines.slice(1), ''].join('\n'));
}

/** A pid beyond the range of any system. */
const NOBODY = 2_147_483_646;

function readLockFile(data: string): readonly string[] {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** Whether the process is alive and the Postgres server of this data directory. */
export function isPostmaster(pid: number, data: string): boolean {
  if (!isAlive(pid)) return false;
  const command = commandOf(pid);
  if (command === undefined || !/^(\S*\/)?(postgres|postmaster)\b/.test(command)) return false;
  const real = existsSync(data) ? realpathSync(data) : data;
  return command.includes(data) || command.includes(real) || folderOf(pid) === real;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Whether any process looks like a server, or a child of one, on this data directory. */
function isWorkedIn(data: string): boolean {
  if (process.platform !== 'linux') {
    const all =
      spawnSync('ps', ['-axww', '-o', 'command='], { encoding: 'utf8', env: CHILD_ENVIRONMENT }).stdout ?? '';
    return all.includes(data);
  }
  const real = realpathSync(data);
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && folderOf(Number(name)) === real);
}

/** A server's working directory is its data directory. `undefined` if /proc does not show it. */
function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** The command line of a process; empty for a zombie. */
function commandOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') || undefined;
    } catch {
      return undefined;
    }
  }
  const answer = spawnSync('ps', ['-ww', '-o', 'stat=,command=', '-p', String(pid)], {
    encoding: 'utf8',
    env: CHILD_ENVIRONMENT,
  });
  const text = answer.stdout?.trim() ?? '';
  return answer.status !== 0 || text.startsWith('Z') ? undefined : text.replace(/^\S+\s+/, '');
}
