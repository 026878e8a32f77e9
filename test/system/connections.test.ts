import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { openMirror } from '../../src/runs/open.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

describe('the connections of a daemon', () => {
  let database: TestDatabase;
  afterEach(async () => {
    vi.useRealTimers();
    await database.close();
  });

  it('openMirror opens enough connections to renew 10 leases during 10 open transactions', async () => {
    database = await createTestDatabase();
    const concurrency = 10;
    const ttlMs = 600_000;
    // No lease is renewed by itself: they are all at once.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const config = configSchema.parse({ database: { url: database.url }, daemon: { concurrency } });
    const mirror = await openMirror(config, () => undefined);
    const teams = Array.from({ length: concurrency }, (_, n) => `team ${n}`);
    const leases = await Promise.all(teams.map((team) => takeLease(mirror.db, team, { ttlMs })));
    const expiries = async () => {
      const { rows } = await sql<{ at: string }>`
        select expires_at::text as at from sync.leases order by team`.execute(database.db.kysely);
      return rows.map(({ at }) => at);
    };
    const begun: string[] = [];
    const over = Promise.withResolvers<void>();
    const works = teams.map((team) =>
      mirror.db.transaction(async (tx) => {
        await sql`select 1`.execute(tx);
        begun.push(team);
        await over.promise;
      }),
    );
    try {
      await eventually('all of them are in a transaction', () => begun.length === concurrency);
      const before = await expiries();
      await eventually('each of their leases is renewed', async () => {
        vi.advanceTimersByTime(ttlMs / 4);
        const now = await expiries();
        return now.every((expiry, at) => expiry !== before[at]);
      });
      for (const lease of leases) lease.require();
      expect(begun).toHaveLength(concurrency);
    } finally {
      over.resolve();
      await Promise.all(works);
      await Promise.all(leases.map((lease) => lease.release()));
      await mirror.close();
    }
  });
});
