import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/database.ts';
import { createSharedPace, readLesson, writeLesson } from '../../src/mirror/rate-limits.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('the pace that processes share on $name', (server) => {
  let database: TestDatabase<unknown>;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
  });
  afterAll(() => database.close());

  it('is never above the limit in any window, however many take from it', async () => {
    const others = [1, 2].map(() =>
      createDatabase<unknown>({ url: database.url, applicationName: 'musterd test' }),
    );
    try {
      const settings = { perMinute: 6000, burst: 12 };
      const sentAt: number[] = [];
      const startedMs = performance.now();
      const process = async (pace: ReturnType<typeof createSharedPace>) => {
        for (let i = 0; i < 60; i += 1) sentAt.push(performance.now() - startedMs + (await pace.reserve(1)));
      };
      await Promise.all(
        [database.db, ...others].map((db) => process(createSharedPace(db, 'shared', settings))),
      );
      const times = sentAt.toSorted((a, b) => a - b);
      // 6000 a minute are 100 a second: any 500 ms hold the burst and what refills, 12 + 50.
      const most = Math.max(
        ...times.map((from) => times.filter((at) => at >= from && at < from + 500).length),
      );
      expect(most).toBeLessThanOrEqual(12 + 51);
      const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
      const usedShare = (times.length - 12) / spanMs / (6000 / 60_000);
      expect(usedShare).toBeGreaterThan(0.95);
    } finally {
      await Promise.all(others.map((db) => db.close()));
    }
  });

  it('makes everybody wait for a pause', async () => {
    const pace = createSharedPace(database.db, 'paused', { perMinute: 6000, burst: 12 });
    expect(await pace.reserve(1)).toBe(0);
    await pace.announcePause(5_000);
    const waitMs = await createSharedPace(database.db, 'paused', { perMinute: 6000, burst: 12 }).reserve(1);
    expect(waitMs).toBeGreaterThan(4_000);
    expect(waitMs).toBeLessThan(5_100);
  });

  it('stalls nobody for longer than the longest pause after a step of the clock', async () => {
    const pace = createSharedPace(database.db, 'stepped', { perMinute: 6000, burst: 12 });
    const step = () =>
      sql`update sync.rate_limits set next_at = clock_timestamp() + interval '1 year' where team = 'stepped'`.execute(
        database.db.kysely,
      );
    await pace.reserve(1);
    await step();
    expect(await pace.reserve(1)).toBeLessThanOrEqual(15 * 60_000);
    await step();
    await pace.announcePause(1_000);
    const { rows } = await sql<{ ahead: number }>`
      select extract(epoch from next_at - clock_timestamp())::float8 as ahead from sync.rate_limits where team = 'stepped'`.execute(
      database.db.kysely,
    );
    expect(rows[0]?.ahead).toBeLessThanOrEqual(15 * 60 + 1);
  });

  it('keeps what was learned', async () => {
    const pace = createSharedPace(database.db, 'learned', { perMinute: 500, burst: 12 });
    await pace.reserve(1);
    expect(await readLesson(database.db, 'learned')).toBeUndefined();
    await writeLesson(database.db, 'learned', { burst: 4, perMinute: 450.5 });
    expect(await readLesson(database.db, 'learned')).toEqual({ burst: 4, perMinute: 450.5 });
  });
});
