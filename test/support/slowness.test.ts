import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { slownessOf } from './slowness.ts';

describe('How slow the machine is', () => {
  it.each([
    [[40, 45, 50], 0.1, 1],
    [[120, 60, 180], 0.5, 2],
    [[60, 60, 900], 0.5, 1],
    [[50, 50, 50], 4, 4],
    [[97, 97, 97], 0.5, 2],
    [[50, 50, 50], 1.62, 2],
    [[5000, 5000, 5000], 25, 10],
    [[], 0, 1],
  ])('starts of %j ms and %d processes a core make it %d times as slow', (startsMs, wanted, slowness) => {
    expect(slownessOf(startsMs, wanted)).toBe(slowness);
  });
});

describe('Waiting for a condition', () => {
  it('gives a check that is slowed down more time than the deadline, and no end of it', async () => {
    const beganMs = performance.now();
    let turns = 0;
    const check = () => {
      const until = performance.now() + 60;
      turns += 1;
      while (performance.now() < until);
      return false;
    };
    await expect(eventually('never', check, 100)).rejects.toThrow(/^Waited \d+ ms in vain: never$/);
    expect(performance.now() - beganMs).toBeGreaterThan(200);
    expect(turns).toBeLessThan(20);
  });

  it('gives back what the check found', async () => {
    let turn = 0;
    expect(await eventually('the third', () => (++turn === 3 ? { turn } : undefined))).toEqual({ turn: 3 });
  });
});
