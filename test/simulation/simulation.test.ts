/** The whole engine in virtual time, on PGlite: the same seeds at each commit. `npm run simulate` plays others. */
import { describe, expect, it } from 'vitest';
import { longHungAfterMs } from '../support/limits.ts';
import { inAll, playSeeds } from './play-seeds.ts';

describe('the simulation of musterd in virtual time', () => {
  it(
    'finds no broken promise in seeds 1 and 2',
    async () => {
      // The last of them is played twice, and has to be the same.
      const played = await playSeeds('test/simulation/run.ts', '--from', '1', '--seeds', '2');
      expect(played.filter(({ result }) => result !== 'ok')).toEqual([]);
      expect(played.length).toBe(2);
      // They are worth something: much was sent, much died, much was looked at.
      expect(inAll(played, 'pushes')).toBeGreaterThan(5);
      expect(inAll(played, 'crashes')).toBeGreaterThan(0);
      expect(inAll(played, 'checks')).toBeGreaterThan(200);
    },
    longHungAfterMs,
  );

  it('reports a broken promise if the check of the deadline of a push is removed', async () => {
    // It ends with the first that notices.
    const flags = ['--guards', '--in', 'after its deadline', '--from', '1', '--seeds', '30'];
    const played = await playSeeds('test/mutation/breaks.ts', ...flags);
    expect(played.at(-1)?.result.split(':')[0]).toBe('a push leaves soon after the read');
  });
});
