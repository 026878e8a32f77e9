/**
 * A process that opens an embedded database, says so on stdout in one line of JSON, and closes it when its
 * input ends. For tests of what happens between processes; `openElsewhere` starts it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type EmbeddedOptions, openEmbedded } from '../../src/embedded/embedded.ts';
import { COMPILED } from './checkout.ts';

export interface Elsewhere {
  /** Of the process, not of the server. */
  readonly pid: number;
  readonly url: string;
  readonly dataDir: string;
  readonly attached: boolean;
  readonly psqlCommand: string;
  readonly steps: readonly string[];
  /** Tells it to close, and waits for its end; gives the exit status. */
  close(): Promise<number | null>;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
}

export interface ElsewhereOptions {
  readonly embedded?: Omit<EmbeddedOptions, 'onProgress'>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Becomes this user before it opens. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** Rejects with what the process printed on stderr when it could not open. */
export async function openElsewhere(options: ElsewhereOptions = {}): Promise<Elsewhere> {
  const { embedded = {}, environment = {}, user } = options;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILED,
      ...environment,
      EMBEDDED_PROCESS: JSON.stringify({ embedded, user }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (bytes: Buffer) => {
    complaints += bytes.toString();
  });
  const ended = once(child, 'close');
  const said = once(createInterface({ input: child.stdout }), 'line');
  const first: unknown[] = await Promise.race([said, ended.then(() => [])]);
  if (typeof first[0] !== 'string') throw new Error(complaints);
  return {
    ...(JSON.parse(first[0]) as Omit<Elsewhere, 'close' | 'kill'>),
    close: async () => {
      child.stdin.end();
      await ended;
      if (complaints !== '') throw new Error(complaints);
      return child.exitCode;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function main(task: string): Promise<void> {
  const { embedded, user } = JSON.parse(task) as ElsewhereOptions;
  if (user !== undefined) {
    process.setgroups?.([user.gid]);
    process.setgid?.(user.gid);
    process.setuid?.(user.uid);
  }
  const steps: string[] = [];
  const opened = await openEmbedded({ ...embedded, onProgress: (step) => steps.push(step) });
  process.stdout.write(`${JSON.stringify({ ...opened, pid: process.pid, steps })}\n`);
  process.stdin.resume();
  await once(process.stdin, 'end');
  await opened.close();
}

const task = process.env['EMBEDDED_PROCESS'];
if (task !== undefined) await main(task);
