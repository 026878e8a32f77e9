import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { CHILD_ENVIRONMENT } from '../../src/embedded/account.ts';
import { findBinaries } from '../../src/embedded/binaries.ts';

/** A server that the test itself stops, and as it likes. */
export interface PostgresProcess {
  readonly port: number;
  /** SIGINT waits for writes, SIGQUIT for nothing. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
}

/** A port for somebody who takes it a while later. It is none of those that are given to whoever asks for any port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 20_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** For spawn: the account that a data directory belongs to. */
export function ownerOf(data: string): { uid: number; gid: number } {
  const { uid, gid } = statSync(join(data, 'PG_VERSION'));
  return { uid, gid };
}

/** Starts the embedded programs on a data directory, as its owner; it does not wait until the server is ready. */
export async function startPostgres(data: string): Promise<PostgresProcess> {
  const port = await freePort();
  const bindir = findBinaries(() => undefined);
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const account = process.getuid?.() === 0 ? ownerOf(data) : undefined;
  const child: ChildProcess = spawn(join(bindir, 'postgres'), args, {
    ...account,
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  return {
    port,
    stop: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await ended;
    },
  };
}
