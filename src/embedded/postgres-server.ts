import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import * as fs from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { MusterdError } from '../errors.ts';
import { asAccount, CHILD_ENVIRONMENT } from './account.ts';
import { dataOf, type Place } from './cluster.ts';
import { enter } from './own-client.ts';

export interface ServerOptions extends Place {
  readonly password: string;
  /** Called if the port has changed, or the server has stopped. */
  readonly onWarning: (words: string) => void;
}

export interface Server {
  readonly pid: number;
  readonly port: number;
  /** Holds the shared lock while this process uses the server. */
  readonly client: pg.Client;
  /** Lets the server outlive this process. `undefined` if another process started the server. */
  readonly letGo: (() => void) | undefined;
}

const POLL_MS = 15;
/** Below the range of ephemeral ports: the system assigns no such port to a program that asks for any port. */
const somePort = () => randomInt(20_000, 30_000);

/**
 * Attaches to the server of a cluster, or starts it. If several processes try, Postgres lets one win. The others use its
 * server and stop their own, which could start later. It listens on the same port at each start unless that is taken.
 */
export async function useServer(options: ServerOptions): Promise<Server> {
  const { folder, password, account } = options;
  const data = dataOf(folder);
  const kept = asAccount(account, () => readPort(portFileOf(folder)));
  let port = kept ?? somePort();
  let own: ReturnType<typeof launch> | undefined;
  let words = 'it never became ready';
  const deadline = performance.now() + 60_000;
  for (; performance.now() < deadline; await delay(POLL_MS)) {
    const running = asAccount(account, () => findPostmaster(data));
    if (running?.status === 'ready') {
      const letGo = own?.pid === running.pid ? own.letGo : undefined;
      try {
        const client = await enter(password, running.port);
        if (letGo === undefined) own?.stop();
        else keepPort(options, kept, port);
        return { ...running, client, letGo };
      } catch (error) {
        words = `it refuses our login: ${(error as Error).message}`;
        // Class 28: the password or pg_hba.conf is wrong. Other errors can be temporary, while the server stops.
        if (error instanceof pg.DatabaseError && error.code?.startsWith('28')) break;
      }
    } else if (running === undefined && own?.isRunning() !== true) {
      words = own?.lastWords() ?? words;
      if (/could not bind|could not create any TCP/.test(words)) port = somePort();
      // Starts again if another start was faster, children of a dead server still run, or another process stopped it.
      else if (own !== undefined && !/lock file|shared memory block|shutdown request/.test(words)) break;
      asAccount(account, () => removeStaleLockFile(data));
      own = launch(options, port);
    }
  }
  own?.stop();
  const hint = words.includes('incompatible with server')
    ? `Upgrade ${folder} with pg_upgrade, or with pg_dump of that version. Or move the folder away: musterd then makes a new mirror from the service (edits that were not pushed yet stay in the old folder).`
    : `Its log is ${join(folder, 'server.log')}. Or set DATABASE_URL to a Postgres of yours.`;
  throw new MusterdError('mirror', `The embedded Postgres did not start: ${words}`, { hint });
}

const portFileOf = (folder: string) => join(folder, 'cluster/port');

function keepPort({ folder, account, onWarning }: ServerOptions, kept: number | undefined, port: number) {
  const file = portFileOf(folder);
  if (kept === undefined) asAccount(account, () => fs.writeFileSync(file, `${port}\n`, { mode: 0o600 }));
  else if (kept !== port)
    onWarning(
      `port ${kept} of the embedded Postgres is taken: it listens on ${port} until its next start; to change the port for good, edit the number in ${file}`,
    );
}

function readPort(file: string): number | undefined {
  const port = fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8')) : 0;
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/**
 * A shell that becomes the server. It leaves another shell behind, which waits for a line from the starting process. If
 * that process ends without a line, even if killed, the other shell stops the server and removes a temporary folder.
 */
const KEEPER = `folder=$1; shift
( { read -r _ && exit
    [ -n "$folder" ] || { kill -INT $$; exit; }
    kill -QUIT $$ || exit
    n=0; while kill -0 $$ && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done
    rm -rf -- "$folder"; } <&3 3<&- & ) 3<&0 >/dev/null 2>&1
exec "$@" </dev/null`;

function launch({ folder, account, bindir, ephemeral }: Place, port: number) {
  const unsafe = ephemeral ? ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'] : [];
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...unsafe];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const server = [join(bindir, 'postgres'), '-D', fs.realpathSync(dataOf(folder)), ...options];
  const log = join(folder, 'server.log');
  const [descriptor, from] = asAccount(account, () => {
    const size = fs.statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    if (size > 1_000_000) fs.renameSync(log, `${log}.1`);
    return [fs.openSync(log, 'a', 0o600), size > 1_000_000 ? 0 : size] as const;
  });
  // In a separate process group, Ctrl-C does not reach the server before this process has finished.
  const child = spawn('/bin/sh', ['-c', KEEPER, 'musterd-keeper', ephemeral ? folder : '', ...server], {
    ...account,
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', descriptor, descriptor],
  });
  fs.closeSync(descriptor);
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  // Neither the server nor the pipe keeps this process alive.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return {
    pid: child.pid,
    isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    lastWords: () => {
      const text = String(asAccount(account, () => fs.readFileSync(log)).subarray(from, from + 4_000));
      const words = text.replaceAll(/^.*?\[\d+\] /gm, '');
      return words.replaceAll(/\s+/g, ' ').trim();
    },
    letGo: () => void child.stdin?.end('\n'),
    stop: () => void child.stdin?.end(),
  };
}

/** Tries a fast shutdown, then an immediate one. It resolves when the server has ended. */
export async function stopServer({ pid }: Server, folder: string): Promise<void> {
  const data = dataOf(folder);
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    try {
      if (isPostmaster(pid, data)) process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    for (const deadline = performance.now() + 20_000; performance.now() < deadline; await delay(POLL_MS))
      if (!isPostmaster(pid, data)) return;
  }
  throw new MusterdError('mirror', `The embedded Postgres (process ${pid}) does not stop.`);
}

/** The server that runs on this data directory, if any. A lock file alone does not prove that a server runs. */
export function findPostmaster(data: string): { pid: number; port: number; status: string } | undefined {
  try {
    const lines = fs.readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    const [pid, port, status = ''] = [Number(lines[0]), Number(lines[3]), lines[7]];
    return isPostmaster(pid, data) ? { pid, port, status: status.trim() } : undefined;
  } catch (error) {
    // A server that ends can remove its file at any moment.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Postgres does not start if its lock file is empty or names a living pid. Such a file can be stale: after a power cut,
 * if the pid was reused, if the dead server is a zombie (common in containers), or if the folder is a copy.
 * Without the file, Postgres still finds children of a dead server by their shared memory, and does not start then.
 */
function removeStaleLockFile(data: string): void {
  const file = join(data, 'postmaster.pid');
  const writtenAt = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  // A starting server has an empty file for a moment.
  if (Date.now() - writtenAt > 1_000 && findPostmaster(data) === undefined) fs.rmSync(file, { force: true });
}

/** True if the process is alive and works in this data directory, as its Postgres server does. */
function isPostmaster(pid: number, data: string): boolean {
  try {
    if (process.platform === 'linux') return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(data);
    const shown = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { env: CHILD_ENVIRONMENT });
    return String(shown.stdout).includes(fs.realpathSync(data));
  } catch {
    // The process has ended or is a zombie, or the folder no longer exists.
    return false;
  }
}
