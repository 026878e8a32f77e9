/** Plays seeds in a process of its own: clocks, timers and sockets are replaced in it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface PlayedSeed {
  readonly result: string;
  readonly pushes: number;
  readonly crashes: number;
  readonly waits: number;
  readonly checks: number;
}

/** @returns what the script says of each seed, in order */
export async function playSeeds(script: string, ...flags: readonly string[]): Promise<readonly PlayedSeed[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...flags]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as PlayedSeed);
}

/** @returns how often it happened in all of them */
export const inAll = (played: readonly PlayedSeed[], what: Exclude<keyof PlayedSeed, 'result'>): number =>
  played.reduce((total, one) => total + one[what], 0);
