import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { takeLease } from '../../src/mirror/lease.ts';
import { openMirror } from '../../src/runs/open.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

describe('the connections of a daemon', () => {
  let database: TestDatabase;
  afterEach(() => database.close());

  it('are enough for all runs at once to be in a transaction, and to renew their leases meanwhile', async () => {
    database = await createTestDatabase();
    const concurrency = 10;
    const config = configSchema.parse({ database: { url: database.url }, daemon: { concurrency } });
    const mirror = await openMirror(config, () => undefined);
    const teams = Array.from({ length: concurrency }, (_, n) => `team ${n}`);
    const leases = await Promise.all(teams.map((team) => takeLease(mirror.db, team, { ttlMs: 2_000 })));
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
      const startMs = performance.now();
      await eventually('the first length of their leases is over', () => performance.now() > startMs + 2_000);
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
