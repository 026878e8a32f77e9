/** Runs and people in sessions of a real Postgres, a statement at a time: the same seed at each commit. `npm run step` plays others. */
import { describe, expect, it } from 'vitest';
import { inAll, playSeeds } from '../simulation/play-seeds.ts';
import { servers } from '../support/servers.ts';

describe('the stepper, which interleaves statements of runs and editors', () => {
  it('finds no broken promise in seed 4 on each version of Postgres', async () => {
    const played = await playSeeds('test/stepper/run.ts', '--from', '4', '--seeds', '1');
    expect(played.filter(({ result }) => result !== 'ok')).toEqual([]);
    const versions = servers().filter(({ name }) => !name.includes('TEST_DATABASE_URL'));
    expect(played.length).toBe(versions.length);
    // They are worth something: sessions have waited for each other, much was sent, much was looked at.
    expect(inAll(played, 'waits')).toBeGreaterThan(5);
    expect(inAll(played, 'pushes')).toBeGreaterThan(3);
    expect(inAll(played, 'checks')).toBeGreaterThan(200);
  });
});
