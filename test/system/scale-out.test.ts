import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { playScaleOut, type ScaleOutResult } from '../support/scale-out.ts';
import { measureSlowness } from '../support/slowness.ts';

const slowness = measureSlowness();

describe('several daemons on one database', () => {
  it(
    'reconcile every team within its interval, none twice at once, also when one of them is killed',
    async () => {
      const intervalMs = 10_000;
      const database = await createTestDatabase();
      const options = {
        teams: 20,
        users: 8,
        replicas: 3,
        schedule: '*/10 * * * * *',
        intervalMs,
        intervals: 2,
        concurrency: 2,
        ratePerMinute: 500,
      };
      try {
        check(await playScaleOut(options, database), intervalMs);
      } finally {
        await database.close();
      }
    },
    180_000 * slowness,
  );

  function check(result: ScaleOutResult, intervalMs: number) {
    expect(result).toMatchObject({
      overlaps: 0,
      throttled: 0,
      sentTwice: 0,
      notSent: 0,
      edits: 20,
      exitCodes: [0, 0],
    });
    expect(result.takeOverMs).toBeLessThan(30_000 * slowness);
    expect(result.longestGapMs).toBeLessThan(3 * intervalMs * slowness);
    expect(result.mostPerMinute).toBeLessThanOrEqual(500);
  }
});
