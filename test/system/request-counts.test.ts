import { afterEach, describe, expect, it } from 'vitest';
import { createStage, type Stage } from './stage.ts';

/** What the rate limit is spent on, exactly. */
describe('the requests of a run', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  describe('for 1,000 tags and 300 contact fields', () => {
    const emulator = { users: 20, tags: 1_000, fields: 300 };
    /** The team, its users, the count of contacts, inboxes, and surveys with the two empty pages at their end. */
    const others = 7;

    it.each([
      ['all of them', {}, 3 + 3],
      ['100 at most', { 'limit-cap': 100 }, 12 + 5],
      ['400 at most, and refuses more', { 'limit-cap': 400, 'over-cap': 'refuse' }, 6 + 4],
      ['100 at most, and refuses more', { 'limit-cap': 100, 'over-cap': 'refuse' }, 12 + 5],
    ] as const)('are few where a page may have %s', async (_name, variants, listings) => {
      stage = await createStage({ emulator: { ...emulator, variants } });
      const requests: number[] = [];
      for (let run = 1; run <= 3; run += 1) {
        const report = await stage.run();
        expect(report.outcome).toBe('complete');
        requests.push(report.requests);
      }
      const lookups = stage.emulator.requests
        .slice(-(requests.at(-1) ?? 0))
        .filter(({ path }) => path === '/v1/users/get');
      expect(requests.slice(1)).toEqual([others + listings, others + listings]);
      expect(lookups).toHaveLength(1);
      const sent = Map.groupBy(stage.emulator.requests, ({ method, path }) => `${method} ${path}`);
      expect(
        await stage.sql('select endpoint, requests, runs from report.usage order by endpoint collate "C"'),
      ).toEqual(
        [...sent]
          .map(([endpoint, all]) => [endpoint, String(all.length), '3'])
          .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      );
      // Pages that are too large: once.
      expect(requests[0]).toBeLessThanOrEqual(others + listings + 30);
    });
  });
});
