/** The whole engine in virtual time, on PGlite: the same seeds at each commit. `npm run simulate` plays others. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { longHungAfterMs } from '../support/limits.ts';

const run = promisify(execFile);

interface Played {
  readonly seed: number;
  readonly result: string;
  readonly pushes: number;
  readonly crashes: number;
  readonly checks: number;
}

/** In a process of its own: clocks, timers and sockets are replaced in it. */
async function play(script: string, ...flags: readonly string[]): Promise<readonly Played[]> {
  const { stdout } = await run(process.execPath, [script, ...flags]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Played);
}

describe('the simulation', () => {
  it(
    'finds nothing in these seeds',
    async () => {
      // The last of them is played twice, and has to be the same.
      const played = await play('test/simulation/run.ts', '--from', '1', '--seeds', '2');
      expect(played.filter(({ result }) => result !== 'ok')).toEqual([]);
      expect(played.length).toBe(2);
      // They are worth something: much was sent, much died, much was looked at.
      const sum = (of: (one: Played) => number) => played.reduce((total, one) => total + of(one), 0);
      expect(sum(({ pushes }) => pushes)).toBeGreaterThan(5);
      expect(sum(({ crashes }) => crashes)).toBeGreaterThan(0);
      expect(sum(({ checks }) => checks)).toBeGreaterThan(200);
    },
    longHungAfterMs,
  );

  it('notices that a guard is missing', async () => {
    // It ends with the first that notices.
    const played = await play(
      'test/mutation/breaks.ts',
      '--guards',
      '--in',
      'send deadline',
      '--from',
      '1',
      '--seeds',
      '30',
    );
    expect(played.at(-1)?.result.split(':')[0]).toBe('a push leaves soon after the read');
  });
});
