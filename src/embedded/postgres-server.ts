import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MusterdError } from '../errors.ts';
import { type Account, asAccount, CHILD_ENVIRONMENT } from './account.ts';
import type { Binaries } from './binaries.ts';
import { type Cluster, identity } from './cluster.ts';
import { choosePort } from './choose-port.ts';
import { disownLockFile, findPostmaster, isPostmaster } from './postmaster.ts';

export interface ServerOptions {
  /** The data folder; it contains the server's log. */
  readonly folder: string;
  readonly cluster: Cluster;
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  /** Whether to be faster and not safe from power loss. The folder is deleted with the process. */
  readonly ephemeral: boolean;
  /** Called if the port has changed. */
  readonly onWarning: (words: string) => void;
}

export interface PostgresServer {
  readonly pid: number;
  readonly port: number;
  /** Stops the server, after waiting for writes but not for clients. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 15;

/**
 * Starts the server of a cluster, or finds it running. If several processes try concurrently, Postgres lets
 * one win, and the others find its server.
 */
export async function startServer(
  options: ServerOptions,
): Promise<{ server: PostgresServer; started: boolean }> {
  const { account } = options;
  const { data } = options.cluster;
  const deadline = performance.now() + READY_TIMEOUT_MS;
  let words = '';
  while (performance.now() < deadline) {
    const running = asAccount(account, () => findPostmaster(data));
    if (running?.status === 'ready') {
      return { server: { ...running, stop: () => stopPostmaster(running.pid, data) }, started: false };
    }
    if (running !== undefined) {
      // The server is starting, recovering or stopping, so it will soon be ready or gone.
      await delay(POLL_MS);
      continue;
    }
    asAccount(account, () => disownLockFile(data));
    const port = await choosePort(options, () => findPostmaster(data) !== undefined);
    if (port === undefined) continue;
    const attempt = await launch(options, port, deadline);
    if ('server' in attempt) return { server: attempt.server, started: true };
    words = attempt.words;
    // Another start was faster, children of a dead server still write, or the port was taken meanwhile.
    if (!/lock file|shared memory block|could not bind|could not create any TCP/.test(words)) break;
    await delay(POLL_MS);
  }
  throw new MusterdError(
    'mirror',
    `The embedded Postgres did not start: ${words || 'it never became ready'}`,
    {
      hint: `Its log is ${join(options.folder, 'server.log')}. Or set DATABASE_URL to a Postgres of yours.`,
    },
  );
}

/** One attempt to start: a server that accepts connections, or its last log lines. */
async function launch(
  options: ServerOptions,
  port: number,
  deadline: number,
): Promise<{ server: PostgresServer } | { words: string }> {
  const { folder, cluster, account } = options;
  const logFile = join(folder, 'server.log');
  const logged = asAccount(account, () => openLog(logFile));
  const child = spawnServer(options, port, logged.fd);
  closeSync(logged.fd);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  while (failure === undefined && child.exitCode === null && child.signalCode === null) {
    const running = asAccount(account, () => findPostmaster(cluster.data));
    if (running?.status === 'ready' && running.pid === child.pid) {
      const { pid } = running;
      const guard = guardServer(options, pid);
      child.once('exit', () => guard.kill('SIGKILL'));
      child.unref();
      return { server: { pid, port, stop: () => stopPostmaster(pid, cluster.data) } };
    }
    if (performance.now() > deadline) {
      child.kill('SIGKILL');
      return { words: 'it never became ready' };
    }
    await delay(POLL_MS);
  }
  return { words: failure?.message ?? asAccount(account, () => lastWords(logFile, logged.from)) };
}

/**
 * With `setpriv` the kernel stops the server when this process dies, however it dies; elsewhere the guard below
 * does. In a separate process group, Ctrl-C does not reach the server before we have finished.
 */
function spawnServer(options: ServerOptions, port: number, log: number): ChildProcess {
  const { cluster, binaries, account, ephemeral } = options;
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    ...(ephemeral ? ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'] : []),
  ];
  const args = ['-D', cluster.data, ...settings.flatMap((setting) => ['-c', setting])];
  const postgres = join(binaries.bindir, 'postgres');
  const common = { cwd: '/', env: CHILD_ENVIRONMENT, detached: true } as const;
  const setpriv = '/usr/bin/setpriv';
  const probe = ['--pdeathsig', 'INT', 'true'];
  if (
    !existsSync(setpriv) ||
    spawnSync(setpriv, probe, { env: CHILD_ENVIRONMENT, stdio: 'ignore' }).status !== 0
  ) {
    return spawn(postgres, args, { ...common, ...identity(account), stdio: ['ignore', log, log] });
  }
  const drop =
    account === undefined ? [] : [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const signal = ephemeral ? 'QUIT' : 'INT';
  return spawn(setpriv, ['--pdeathsig', signal, ...drop, '--', postgres, ...args], {
    ...common,
    stdio: ['ignore', log, log],
  });
}

/**
 * A shell that waits for the end of this process (the end of its input), then stops the server and removes
 * a temporary folder, which a killed process cannot do itself.
 */
function guardServer(options: ServerOptions, pid: number): ChildProcess {
  const { account, ephemeral, folder } = options;
  const script = ephemeral
    ? 'read -r _; kill -QUIT "$1"; n=0; while kill -0 "$1" && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1 || sleep 1; done; rm -rf -- "$2"'
    : 'read -r _; kill -INT "$1"';
  const guard = spawn('/bin/sh', ['-c', script, 'musterd-guard', String(pid), folder], {
    ...identity(account),
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined);
  // Neither the shell nor its pipe keeps this process alive.
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

/** Tries a fast shutdown, then an immediate one. It resolves when the process is gone. */
async function stopPostmaster(pid: number, data: string): Promise<void> {
  for (const { signal, patienceMs } of [
    { signal: 'SIGINT', patienceMs: 30_000 },
    { signal: 'SIGQUIT', patienceMs: 10_000 },
  ] as const) {
    const deadline = performance.now() + patienceMs;
    if (isPostmaster(pid, data)) sendSignal(pid, signal);
    while (isPostmaster(pid, data) && performance.now() < deadline) await delay(POLL_MS);
    if (!isPostmaster(pid, data)) return;
  }
  throw new MusterdError('mirror', `The embedded Postgres (process ${pid}) does not stop.`);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has ended meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Keeps only the log of the last start, and one that an older build wrote as root, beside the new one. */
function openLog(file: string): { fd: number; from: number } {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const open = () => openSync(file, 'a', 0o600);
  if (size <= 1_000_000) {
    try {
      return { fd: open(), from: size };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error;
    }
  }
  renameSync(file, `${file}.1`);
  return { fd: open(), from: 0 };
}

/** The log lines of a server that failed to start. */
function lastWords(file: string, from: number): string {
  const lines = readFileSync(file).subarray(from).toString('utf8').trim().split('\n');
  // Time and pid are left out.
  return lines
    .map((line) => line.replace(/^.*?\[\d+\] /, '').trim())
    .join(' ')
    .slice(0, 2_000);
}
