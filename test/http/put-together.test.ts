/** The status server with what it shows, over a real database, the way the daemon puts them together. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createMetrics } from '../../src/daemon/metrics.ts';
import { createReadiness } from '../../src/daemon/readiness.ts';
import { longestGapMs } from '../../src/daemon/schedule.ts';
import { createStandings } from '../../src/daemon/group-status.ts';
import { createDatabase, ping } from '../../src/mirror/db/database.ts';
import { readStandings } from '../../src/mirror/team/due.ts';
import { pendingMigrations } from '../../src/mirror/migrations.ts';
import { readHeldByReason, readTokensLeft } from '../../src/mirror/runs/metrics-read.ts';
import { judgeFreshness } from '../../src/model/freshness.ts';
import type { GroupStatus } from '../../src/model/run-group.ts';
import { createStatusServer } from '../../src/http/server.ts';
import { createTestDatabase } from '../support/database.ts';

test('the status server reports how the teams stand, also while the database is away', async () => {
  const database = await createTestDatabase();
  const teams = ['harbour', 'quay'];
  const upSince = systemClock.monotonicMs();
  const intervals = new Map(teams.map((team) => [team, { users: longestGapMs('*/5 * * * *') }]));
  const judge = (standings: readonly GroupStatus[]) =>
    judgeFreshness(standings, intervals, systemClock.monotonicMs() - upSince);
  const paces = new Map(teams.map((team) => [team, { perMinute: 500, share: 1, burst: 12 }]));
  const db = createDatabase({ url: database.url, onQuery: (ms) => metrics.onQuery(ms) });
  const { kysely } = db;
  const standings = createStandings(() => readStandings(kysely, teams), systemClock);
  const metrics = createMetrics({
    readStandings: () => readStandings(kysely, teams),
    judge,
    readHeld: () => readHeldByReason(kysely, teams),
    readRate: () => readTokensLeft(kysely, paces),
    version: '0.1.0',
  });
  const readiness = createReadiness({
    ask: () => ping(db),
    countPending: async () => (await pendingMigrations(db)).length,
  });
  const server = await createStatusServer({
    host: '127.0.0.1',
    port: 0,
    ready: () => readiness.check(),
    freshness: async () => judge((await standings.read()).standings),
    metrics: () => metrics.render(),
  });
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  try {
    await sql`
      insert into sync.due (team, run_group, since, started_at, complete_at, failures)
      select v.team, 'users', now() - interval '1 day', now() - v.age, now() - v.age, v.failures
      from (values ('harbour', interval '1 minute', 0), ('quay', interval '16 minutes', 3)) v (team, age, failures)`.execute(
      kysely,
    );
    expect(await get('/readyz')).toMatchObject({ status: 200 });
    expect(await get('/freshness?team=harbour')).toMatchObject({ status: 200 });
    const whole = await get('/freshness');
    expect(whole.status).toBe(503);
    expect(JSON.parse(whole.body)).toMatchObject({
      fresh: false,
      teams: [
        { team: 'harbour', fresh: true },
        { team: 'quay', fresh: false, groups: [{ group: 'users', fresh: false, limitMs: 900_000 }] },
      ],
    });
    const up = (await get('/metrics')).body;
    for (const line of [
      'musterd_fresh{team="harbour"} 1',
      'musterd_fresh{team="quay"} 0',
      'musterd_failures_in_a_row{team="quay",group="users"} 3',
      'musterd_rate_tokens_left{team="quay"} 12',
      'musterd_database_up 1',
    ]) {
      expect(up).toContain(`\n${line}\n`);
    }
    expect(up).toMatch(/\nmusterd_database_seconds_count [1-9]/);
    await db.close();
    const away = (await get('/metrics')).body;
    for (const line of [
      'musterd_fresh{team="harbour"} 1',
      'musterd_fresh{team="quay"} 0',
      'musterd_database_up 0',
    ]) {
      expect(away).toContain(`\n${line}\n`);
    }
    expect(away).toMatch(/\nmusterd_last_success_timestamp_seconds\{team="quay",group="users"\} \d/);
    expect(await get('/freshness?team=harbour')).toMatchObject({ status: 200 });
    expect(await get('/readyz')).toMatchObject({ status: 503 });
    expect(await get('/healthz')).toMatchObject({ status: 200 });
  } finally {
    await server.close();
    await db.close();
    await database.close();
  }
});
