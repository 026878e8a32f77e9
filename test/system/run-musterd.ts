import { type ChildProcess, spawn } from 'node:child_process';
import { runCommandLine } from '../../src/commands/command-line.ts';
import { MUSTERD } from '../support/built.ts';
import { COMPILED } from '../support/checkout.ts';

export interface Ended {
  /** `null`: a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  /** What it has written so far. */
  output(): { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<Ended>;
}

type Environment = Readonly<Record<string, string>>;

/** Whoever decides with the owner's login is Kim, where a test does not say who. */
const kimDecides = (args: readonly string[]): Environment =>
  /\b(approve|reject|resolve|(import|undo)\b.* --reason)\b/.test(args.join(' '))
    ? { MUSTERD_ACTOR: 'kim' }
    : {};

/** The service of a test takes as many requests as there are, unless the test says otherwise. */
export const atAnyPace = { MUSTERD__rate__perMinute: '1000000' };
const paceFor = (env: Environment): Environment => (env['MUSTERD_BASE_URL'] === undefined ? {} : atAnyPace);

/** The command line as a process of its own, with this environment and nothing else of ours. */
export function startMusterd(
  args: readonly string[],
  env: Environment = {},
  input = '',
  program = MUSTERD,
): Running {
  const child = spawn(process.execPath, [program, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      NO_COLOR: '1',
      NODE_COMPILE_CACHE: COMPILED,
      ...kimDecides(args),
      ...paceFor(env),
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { process: child, output: () => ({ stdout, stderr }), ended };
}

/** Starts it and waits for its end: for what only a process shows, such as its log or that it ends. */
export function spawnMusterd(...given: Parameters<typeof startMusterd>): Promise<Ended> {
  return startMusterd(...given).ended;
}

/**
 * The same within this process, which spares a second; stdin is not its own.
 * @param hear told of each text that it writes
 */
export async function runMusterd(
  args: readonly string[],
  env: Environment = {},
  hear: (text: string) => void = () => {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const into = (texts: string[]) => ({
    write: (text: string) => {
      texts.push(text);
      hear(text);
    },
  });
  const err = into(stderr);
  let isOver = false;
  const code = await runCommandLine({
    args,
    env: { ...kimDecides(args), ...paceFor(env), ...env },
    out: into(stdout),
    err,
    log: err,
    leave: (given) => {
      // An orderly end is given up after a minute, although it came long before.
      if (!isOver) throw new Error(`left with ${given}`);
    },
  });
  isOver = true;
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** Asks the command of this process that began last to stop, as a SIGTERM does. */
export const askToStop = () => process.listeners('SIGTERM').at(-1)?.('SIGTERM');
