import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { playScaleOut, type ScaleOutResult } from '../support/scale-out.ts';

describe('several daemons on one database', () => {
  it('send each edit once and never run a team twice at a time, even if one daemon is killed', async () => {
    const database = await createTestDatabase();
    const options = {
      teams: 8,
      users: 8,
      replicas: 3,
      schedule: '*/4 * * * * *',
      intervals: 2,
      concurrency: 2,
      ratePerMinute: 500,
    };
    onTestFinished(() => database.close());
    check(await playScaleOut(options, database));
  });

  function check(result: ScaleOutResult) {
    expect(result).toMatchObject({
      overlaps: 0,
      throttled: 0,
      sentTwice: 0,
      notSent: 0,
      edits: 8,
      exitCodes: [0, 0],
    });
    expect(result.mostPerMinute).toBeLessThanOrEqual(500);
  }
});
