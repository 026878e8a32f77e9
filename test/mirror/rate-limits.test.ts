import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { createSharedPlaces } from '../../src/mirror/team/rate-limits.ts';
import { createOwnPlaces } from '../../src/service/rate-limiter.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each([oldestServer()])('the request rate that processes share on $name', (server) => {
  const database = useDatabase({ server });

  const aheadOf = async (team: string) => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from learned_at - clock_timestamp()) * 1000)::float8 as ms
      from sync.learned where team = ${team} and topic = 'pace'`.execute(database.db.kysely);
    return rows[0]?.ms ?? Number.NaN;
  };
  /** Slow enough that nothing refills while a busy machine asks for many. */
  const slow = { burst: 12, periodMs: 10_000 };

  it('three processes that ask 20 times each get 60 different send times', async () => {
    const others = [1, 2].map(() => createDatabase({ url: database.url, applicationName: 'musterd test' }));
    try {
      const process = async (db: Database) => {
        const places = createSharedPlaces(db, 'shared');
        for (let i = 0; i < 20; i += 1) await places.take(slow);
      };
      await Promise.all([database.db, ...others].map(process));
      expect(Math.abs((await aheadOf('shared')) - 60 * slow.periodMs)).toBeLessThan(9_000);
    } finally {
      await Promise.all(others.map((db) => db.close()));
    }
  });

  it('the shared limiter returns the same waits as the limiter of a single process', async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 30 }), async (asks) => {
        round += 1;
        const team = `alike ${round}`;
        const shared = createSharedPlaces(database.db, team);
        const own = createOwnPlaces({ monotonicMs: () => Date.now() });
        // A pause follows a call.
        for (const ask of [1, ...asks]) {
          if (ask > 0)
            expect(Math.abs((await shared.take(slow)) - (await own.take(slow)))).toBeLessThan(5_000);
          else await Promise.all([shared.pause(60_000, slow), own.pause(60_000, slow)]);
        }
      }),
      { numRuns: 10 },
    );
  });

  it('a pause by one process makes every process wait', async () => {
    const places = createSharedPlaces(database.db, 'paused');
    await sql`insert into sync.learned (team, topic, value, learned_at) values ('paused', 'other', '1', '2026-03-01Z')`.execute(
      database.db.kysely,
    );
    expect(await places.take(slow)).toBeLessThanOrEqual(0);
    await places.pause(60_000, slow);
    const { rows: others } = await sql`select learned_at from sync.learned where topic = 'other'`.execute(
      database.db.kysely,
    );
    expect(others).toEqual([{ learned_at: new Date('2026-03-01Z') }]);
    const wait = await createSharedPlaces(database.db, 'paused').take(slow);
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
  });

  it('delays a process by at most the longest pause, 15 min, after the clock was set back a year (R8)', async () => {
    const places = createSharedPlaces(database.db, 'stepped');
    await places.take(slow);
    await sql`update sync.learned set learned_at = clock_timestamp() + interval '1 year' where team = 'stepped'`.execute(
      database.db.kysely,
    );
    expect(await places.take(slow)).toBeLessThanOrEqual(15 * 60_000 + slow.periodMs);
  });
});
