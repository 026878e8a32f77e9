import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { createSharedPlaces, learnedOfRate, readLesson } from '../../src/mirror/team/rate-limits.ts';
import { writeLearned } from '../../src/mirror/team/learned.ts';
import { createOwnPlaces } from '../../src/service/rate-limiter.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { oldestServer } from '../support/servers.ts';

describe.each([oldestServer()])('the pace that processes share on $name', (server) => {
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
  /** When that team's next place is due. */
  const nextAt = async (team: string) => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from next_at) * 1000)::float8 as ms from sync.rate_limits where team = ${team}`.execute(
      database.db.kysely,
    );
    return rows[0]?.ms ?? Number.NaN;
  };
  const untilOf = async (team: string, key: string) => {
    const { rows } = await sql<{ ms: number }>`
      select (counted -> ${key} ->> 1)::float8 as ms from sync.rate_limits where team = ${team}`.execute(
      database.db.kysely,
    );
    return rows[0]?.ms ?? Number.NaN;
  };
  /** One call each 1250 ms: slow enough that nothing refills while a busy machine asks for many. */
  const slow = { capacity: 60, burst: 12, periodMs: 1_250 };
  const held = 120_000;

  it('gives each place once, however many take at once', async () => {
    const others = [1, 2].map(() => createDatabase({ url: database.url, applicationName: 'musterd test' }));
    try {
      const wide = { ...slow, capacity: 1_000 };
      const first = createSharedPlaces(database.db, 'shared');
      await first.take({ ...wide, places: 48, counted: { first: [48, held] } });
      const before = await nextAt('shared');
      const process = async (db: Database, who: number) => {
        const places = createSharedPlaces(db, 'shared');
        for (let i = 1; i <= 20; i += 1) {
          await places.take({ ...wide, places: 3, counted: { [`p${who}`]: [3 * i, held] } });
        }
      };
      await Promise.all([database.db, ...others].map(process));
      expect(await nextAt('shared')).toBeCloseTo(before + 180 * slow.periodMs, 0);
      const { rows } = await sql<{ counted: Record<string, [number, number]> }>`
        select counted from sync.rate_limits where team = 'shared'`.execute(database.db.kysely);
      const counted = Object.entries(rows[0]?.counted ?? {}).map(([key, [places]]) => [key, places]);
      expect(Object.fromEntries(counted)).toEqual({ first: 48, p0: 60, p1: 60, p2: 60 });
    } finally {
      await Promise.all(others.map((db) => db.close()));
    }
  });

  it('gives the same places as a process alone gives itself', async () => {
    const ask = fc.record({
      owner: fc.constantFrom('a', 'b'),
      places: fc.integer({ min: -2, max: 6 }),
      inFlight: fc.integer({ min: 0, max: 3 }),
      answered: fc.dictionary(
        fc.constantFrom('1', '2', '3', '4'),
        fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: -50, max: 60_000 })),
      ),
      pause: fc.option(fc.integer({ min: 1, max: 5_000 }), { freq: 6 }),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(ask, { minLength: 1, maxLength: 12 }), async (asks) => {
        round += 1;
        const team = `alike ${round}`;
        const shared = createSharedPlaces(database.db, team);
        let now = 0;
        const own = createOwnPlaces({ monotonicMs: () => now });
        const pace = { capacity: 12, burst: 4, periodMs: 1_000 };
        for (const { owner, places, inFlight, answered, pause } of asks) {
          const bins = Object.entries(answered).map(([bin, value]) => [`${owner}.${bin}`, value] as const);
          const mine = inFlight + Math.max(1, places);
          const wanted = {
            ...pace,
            places,
            counted: { ...Object.fromEntries(bins), [owner]: [mine, held] as const },
          };
          await shared.take(wanted);
          now = (await untilOf(team, owner)) - held;
          const due = await own.take(wanted);
          expect(Math.abs((await nextAt(team)) - places * pace.periodMs - now - due)).toBeLessThan(0.1);
          if (pause === null) continue;
          await shared.pause(pause, pace);
          now = await clock();
          await own.pause(pause, pace);
          // By its own clock, a moment later.
          expect(await nextAt(team)).toBeLessThanOrEqual(now + Math.max(pause + 3_000, due + 7_000));
          return;
        }
      }),
      { numRuns: 40 },
    );
  });

  it('lets a burst leave at once, and each call after it one period later', async () => {
    const places = createSharedPlaces(database.db, 'even');
    const dueMs = await places.take({ ...slow, places: 20, counted: { a: [20, held] } });
    expect(dueMs).toBeLessThanOrEqual(0);
    const next = await nextAt('even');
    const after = await places.take({ ...slow, places: 1, counted: { a: [21, held] } });
    expect(after + (await clock())).toBeGreaterThanOrEqual(next);
    expect(await nextAt('even')).toBeCloseTo(next + slow.periodMs, 1);
  });

  it('gives no place for which there is no room', async () => {
    const places = createSharedPlaces(database.db, 'full');
    await places.take({ ...slow, places: 58, counted: { a: [0, held], 'a.1': [58, 110_000] } });
    await sql`update sync.rate_limits set next_at = clock_timestamp() where team = 'full'`.execute(
      database.db.kysely,
    );
    const dueMs = await places.take({ ...slow, places: 4, counted: { b: [4, held] } });
    // Two find room, and the third when those of before have ceased to count.
    const third = dueMs + (2 - slow.burst + 1) * slow.periodMs;
    expect(third).toBeLessThanOrEqual(110_000);
    expect(third).toBeGreaterThan(10_000);
    await places.take({ ...slow, places: -4, counted: { b: [0, held] } });
    const { rows } = await sql<{ keys: string[] }>`
      select array(select jsonb_object_keys(counted)) as keys from sync.rate_limits where team = 'full'`.execute(
      database.db.kysely,
    );
    expect(rows).toEqual([{ keys: ['a.1'] }]);
  });

  it('makes everybody wait for a pause', async () => {
    const places = createSharedPlaces(database.db, 'paused');
    expect(await places.take({ ...slow, places: 1, counted: { a: [1, held] } })).toBeLessThanOrEqual(0);
    const beganMs = await clock();
    await places.pause(60_000, slow);
    const other = createSharedPlaces(database.db, 'paused');
    const dueMs = await other.take({ ...slow, places: 1, counted: { b: [1, held] } });
    const earliest = (await clock()) + dueMs - (slow.burst - 1) * slow.periodMs;
    expect(earliest).toBeGreaterThanOrEqual(beganMs + 60_000);
    expect(dueMs - (slow.burst - 1) * slow.periodMs).toBeLessThanOrEqual(60_000);
  });

  it('stalls nobody for longer than the longest pause after a step of the clock', async () => {
    const quick = { capacity: 6_000, burst: 12, periodMs: 10 };
    const places = createSharedPlaces(database.db, 'stepped');
    const one = { ...quick, places: 1, counted: { a: [1, held] as const } };
    const step = () =>
      sql`
        update sync.rate_limits set next_at = clock_timestamp() + interval '1 year',
          counted = jsonb_build_object('b', jsonb_build_array(6000, 1000 * extract(epoch from clock_timestamp() + interval '1 year')))
        where team = 'stepped'`.execute(database.db.kysely);
    await places.take(one);
    await step();
    expect(await places.take(one)).toBeLessThanOrEqual(15 * 60_000 + 120);
    await step();
    await places.pause(1_000, quick);
    const { rows } = await sql<{ ahead: number }>`
      select extract(epoch from next_at - clock_timestamp())::float8 as ahead from sync.rate_limits where team = 'stepped'`.execute(
      database.db.kysely,
    );
    expect(rows[0]?.ahead).toBeLessThanOrEqual(15 * 60 + 1);
  });

  it('keeps what was learned', async () => {
    expect(await readLesson(database.db, 'learned')).toBeUndefined();
    await database.db.transaction((tx) =>
      writeLearned(tx, 'learned', [learnedOfRate({ burst: 4, perMinute: 450.5 })], true),
    );
    expect(await readLesson(database.db, 'learned')).toEqual({ burst: 4, perMinute: 450.5 });
  });
});
