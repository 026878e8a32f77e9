/** Runs and people in sessions of a real Postgres, a statement at a time: the same seed at each commit. `npm run step` plays others. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { servers } from '../support/servers.ts';

const run = promisify(execFile);

interface Played {
  readonly seed: number;
  readonly postgres: string;
  readonly result: string;
  readonly waits: number;
  readonly pushes: number;
  readonly checks: number;
}

/** In processes and on servers of its own. */
async function play(...flags: readonly string[]): Promise<readonly Played[]> {
  const { stdout } = await run(process.execPath, ['test/stepper/run.ts', ...flags]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Played);
}

describe('the stepper', () => {
  it('finds no broken promise in this seed, on each version of Postgres', async () => {
    const played = await play('--from', '4', '--seeds', '1');
    expect(played.filter(({ result }) => result !== 'ok')).toEqual([]);
    const versions = servers().filter(({ name }) => !name.includes('TEST_DATABASE_URL'));
    expect(played.length).toBe(versions.length);
    // They are worth something: sessions have waited for each other, much was sent, much was looked at.
    const sum = (of: (one: Played) => number) => played.reduce((total, one) => total + of(one), 0);
    expect(sum(({ waits }) => waits)).toBeGreaterThan(5);
    expect(sum(({ pushes }) => pushes)).toBeGreaterThan(3);
    expect(sum(({ checks }) => checks)).toBeGreaterThan(200);
  });
});
