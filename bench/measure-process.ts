/** Runs a program as a process of its own and tells what it took. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILED } from '../test/support/checkout.ts';

export type Environment = Readonly<Record<string, string>>;

export interface Used {
  /** From the start of the process to its end. */
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  /** The longest stretch without a turn of the event loop: in CPU time of its thread, and as a clock sees it. */
  readonly longestTurnMs: number;
  readonly longestDelayMs: number;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Measured {
  readonly process: ChildProcess;
  readonly ended: Promise<Used>;
}

const preload = new URL('./preload.ts', import.meta.url).href;

export function startMeasured(program: string, args: readonly string[], env: Environment): Measured {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-'));
  const report = join(folder, 'report.json');
  const began = performance.now();
  const child = spawn(process.execPath, ['--import', preload, program, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      NO_COLOR: '1',
      NODE_COMPILE_CACHE: COMPILED,
      BENCH_REPORT: report,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString();
    });
  const ended = new Promise<Used>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const wallMs = performance.now() - began;
      try {
        const used = JSON.parse(readFileSync(report, 'utf8')) as Omit<Used, 'wallMs' | 'code'>;
        resolve({ ...used, ...texts, wallMs, code });
      } catch (error) {
        reject(new Error(`${args.join(' ')} ended without a report: ${texts.stderr}`, { cause: error }));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
  return { process: child, ended };
}

/** Waits for its end; an exit code that is not expected is an error. */
export async function measureProcess(
  program: string,
  args: readonly string[],
  env: Environment = {},
  codes: readonly number[] = [0],
): Promise<Used> {
  const used = await startMeasured(program, args, env).ended;
  if (used.code === null || !codes.includes(used.code))
    throw new Error(`${args.join(' ')} ended with ${used.code}: ${used.stderr}${used.stdout.slice(-2000)}`);
  return used;
}

/** A program of this folder. */
export const programHere = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url));
