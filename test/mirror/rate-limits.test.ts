import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/database.ts';
import { createSharedPace, learnedOfRate, readLesson } from '../../src/mirror/rate-limits.ts';
import { writeLearned } from '../../src/mirror/learned.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('the pace that processes share on $name', (server) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
  });
  afterAll(() => database.close());

  /** By the database's clock, in ms. */
  const clock = async () => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(database.db.kysely);
    return rows[0]?.ms ?? Number.NaN;
  };
  /** When the bucket of that team is full again. */
  const fullAt = async (team: string) => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from next_at) * 1000)::float8 as ms from sync.rate_limits where team = ${team}`.execute(
      database.db.kysely,
    );
    return rows[0]?.ms ?? Number.NaN;
  };
  /** One call each 1250 ms: slow enough that nothing refills while a busy machine asks for many. */
  const slow = { perMinute: 60, burst: 12 };
  const periodMs = 1_250;

  it('is never above the limit in any window, however many take from it', async () => {
    const others = [1, 2].map(() => createDatabase({ url: database.url, applicationName: 'musterd test' }));
    try {
      await createSharedPace(database.db, 'shared', slow).reserve(48);
      const before = await fullAt('shared');
      const process = async (pace: ReturnType<typeof createSharedPace>) => {
        for (let i = 0; i < 60; i += 1) await pace.reserve(1);
      };
      await Promise.all([database.db, ...others].map((db) => process(createSharedPace(db, 'shared', slow))));
      expect(await fullAt('shared')).toBeCloseTo(before + 180 * periodMs, 2);
    } finally {
      await Promise.all(others.map((db) => db.close()));
    }
  });

  it('lets a burst leave at once, and each call after it one period later', async () => {
    const pace = createSharedPace(database.db, 'even', slow);
    // It was full, and not used for a while.
    await pace.reserve(1);
    await sql`update sync.rate_limits set next_at = clock_timestamp() - interval '1 hour' where team = 'even'`.execute(
      database.db.kysely,
    );
    const beganMs = await clock();
    for (let i = 0; i < slow.burst; i += 1) expect(await pace.reserve(1)).toBe(0);
    const emptyMs = await clock();
    for (let i = 1; i <= 30; i += 1) {
      const fromMs = await clock();
      const waitMs = await pace.reserve(1);
      const toMs = await clock();
      if (waitMs === 0) {
        // It took so long to ask that this one has refilled.
        expect(toMs).toBeGreaterThanOrEqual(beganMs + i * periodMs);
        continue;
      }
      expect(toMs + waitMs).toBeGreaterThanOrEqual(beganMs + i * periodMs);
      expect(fromMs + waitMs).toBeLessThanOrEqual(emptyMs + i * periodMs);
    }
  });

  it('makes everybody wait for a pause', async () => {
    const pace = createSharedPace(database.db, 'paused', slow);
    expect(await pace.reserve(1)).toBe(0);
    const beganMs = await clock();
    await pace.announcePause(60_000);
    const announcedMs = await clock();
    const waitMs = await createSharedPace(database.db, 'paused', slow).reserve(1);
    expect((await clock()) + waitMs).toBeGreaterThanOrEqual(beganMs + 60_000 + periodMs);
    expect(waitMs).toBeLessThanOrEqual(announcedMs - beganMs + 60_000 + periodMs);
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
    await database.db.transaction((tx) =>
      writeLearned(tx, 'learned', [learnedOfRate({ burst: 4, perMinute: 450.5 })], true),
    );
    expect(await readLesson(database.db, 'learned')).toEqual({ burst: 4, perMinute: 450.5 });
  });
});
