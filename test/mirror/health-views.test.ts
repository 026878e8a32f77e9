import { beforeAll, describe, expect, it } from 'vitest';
import { registerGroups } from '../../src/mirror/team/due.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each([oldestServer()])('the health views on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: query } = database;
  const hour = 3_600_000;
  beforeAll(() => query(`insert into sync.teams (team, team_id) values ('north', 41), ('quiet', 42)`));

  describe('report.freshness', () => {
    const freshness = (columns: string) =>
      query(`select team, run_group, ${columns} from report.freshness order by team, run_group`);
    const schedule = '0 * * * * UTC';
    const known = (team: string, group: 'users' | 'counts', staleAfterMs: number) =>
      ({ team, group, schedule, delayMs: hour, staleAfterMs }) as const;

    it('shows a group as fresh if its age is below stale_after, and shows null for a group without a schedule', async () => {
      await registerGroups(
        database.db,
        [
          known('north', 'users', 3 * hour),
          known('north', 'counts', 3 * hour),
          known('unknown', 'users', hour),
        ],
        false,
      );
      await query(`
        insert into sync.due (team, run_group, since) values ('quiet', 'users', now() - interval '3 days'), ('north', 'edits', now());
        update sync.due set complete_at = now() - interval '4 hours', started_at = now() - interval '1 minute', outcome = 'failed', failures = 3
        where team = 'north' and run_group = 'users';
        update sync.due set complete_at = now() - interval '2 hours 59 minutes' where team = 'north' and run_group = 'counts';
        update sync.due set since = now() - interval '61 minutes' where team = 'unknown'`);
      expect(
        await freshness(
          `team_id, fresh, round(age_seconds / 60.0)::int as age, stale_after_seconds / 60 as after, round(extract(epoch from now() - stale_since) / 60)::int as stale,
           schedule, last_outcome, failures, last_success is null as never, next_run is null as no_time`,
        ),
      ).toEqual([
        ['north', 'counts', 41n, true, 179, 180n, null, schedule, null, 0, false, false],
        ['north', 'users', 41n, false, 240, 180n, 60, schedule, 'failed', 3, false, false],
        ['quiet', 'users', 42n, null, 4_320, null, null, null, null, 0, true, true],
        ['unknown', 'users', null, false, 61, 60n, 1, schedule, null, 0, true, false],
      ]);
    });

    it('registerGroups stores a new stale_after, and keeps the time of the next run if the schedule is unchanged', async () => {
      const dueAt = () =>
        query(`select due_at::text from sync.due where run_group = 'users' and team = 'north'`);
      await query(
        `update sync.due set due_at = now() + interval '10 minutes', stale_after = null where team = 'north'`,
      );
      const before = await dueAt();
      await registerGroups(database.db, [known('north', 'users', 5 * hour)], false);
      expect(await dueAt()).toEqual(before);
      expect((await freshness('fresh, stale_since, stale_after_seconds'))[1]).toEqual([
        'north',
        'users',
        true,
        null,
        18_000n,
      ]);
    });

    it('shows a group as stale if its last success is a day in the future, and as fresh if the success is 30 s in the future', async () => {
      await query(
        `update sync.due set complete_at = now() + interval '1 day', since = now() - interval '2 days' where team = 'north'`,
      );
      expect(await freshness('fresh, round(age_seconds / 3600.0)::int')).toContainEqual([
        'north',
        'users',
        false,
        48,
      ]);
      await query(
        `update sync.due set complete_at = now() + interval '30 s' where team = 'north' and run_group = 'users'`,
      );
      expect(await freshness('fresh, age_seconds')).toContainEqual(['north', 'users', true, 0n]);
    });
  });

  describe('runs and requests', () => {
    const asked = (requests: number, throttled: number, slowest: number) =>
      JSON.stringify({
        requests,
        throttled,
        failed: 1,
        ms: requests * 10,
        slowest_ms: slowest,
        slowest_request_id: 'x',
      });
    beforeAll(() =>
      query(`
        update sync.due set started_at = now() - interval '1 day', finished_at = now() - interval '2 days', complete_at = now() - interval '5 days'
        where team = 'north' and run_group = 'users';
        insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups, requests, endpoints)
        select 'north', 41, command, now() - ago::interval, now() - ago::interval + took::interval, outcome, groups, requests, endpoints from (values
          ('daemon', '40 days', '9 s', 'complete', '{users}'::text[], 7, '{}'::jsonb),
          ('daemon', '5 days', '1 s', 'complete', '{users,counts}', 5, '{"GET /v1/team": ${asked(2, 0, 20)}, "POST /v1/tags": ${asked(3, 2, 30)}}'),
          ('reconcile', '4 days', '3 s', 'partial', '{users}', 2, '{"GET /v1/team": ${asked(2, 1, 50)}}'),
          ('daemon', '3 days', '60 s', 'complete', '{counts}', 1, '{"GET /v1/team": ${asked(1, 0, 10)}}'),
          ('resync', '2 days', '90 s', 'complete', '{users}', 4, '{"GET /v1/team": ${asked(4, 0, 10)}}'),
          ('daemon', '1 day', null, 'running', '{users}', 0, '{}')
        ) r (command, ago, took, outcome, groups, requests, endpoints)`),
    );

    it('report.sync_health shows for each team the last run, the last success and totals of the last seven days', async () => {
      expect(
        await query(`select team, round(extract(epoch from now() - last_attempt) / 86400)::int as attempt, last_outcome,
            round(extract(epoch from now() - last_success) / 86400)::int as success, runs, complete_runs, success_rate, p50_seconds, p95_seconds,
            requests, throttled from report.sync_health order by team`),
      ).toEqual([
        ['north', 1, 'running', 5, 2n, 1n, 0.5, 2, 2.9, 12n, 3n],
        ['quiet', null, null, null, 0n, 0n, null, null, null, 0n, 0n],
      ]);
    });

    it('report.usage counts requests by endpoint and day, and shows requests of old runs without an endpoint', async () => {
      expect(
        await query(`select current_date - day > 10 as old, endpoint, sum(runs)::int as runs, sum(requests)::int as requests,
            sum(throttled)::int as throttled, sum(failed)::int as failed, max(slowest_ms)::int as slowest, max(mean_ms)::int as mean,
            count(*)::int from report.usage where team_id = 41 group by 1, 2 order by 1, 2`),
      ).toEqual([
        [false, 'GET /v1/team', 4, 9, 1, 4, 50, 10, 4],
        [false, 'POST /v1/tags', 1, 3, 2, 1, 30, 10, 1],
        [true, null, 1, 7, null, null, null, null, 1],
      ]);
      expect(
        await query(
          `select duration_seconds, endpoints #>> '{GET /v1/team,slowest_request_id}' from report.runs where command = 'resync'`,
        ),
      ).toEqual([[90, 'x']]);
    });
  });

  it('report.decisions shows the decided values, who decided and why', async () => {
    await query(`
      insert into sync.changes (team_id, user_id, kind, base, old, new, decided_by, decided_role, decided_why, batch) values
        (41, 1, 'approve', '{"name": {"first": "A", "last": "B"}}', '{"name": {"first": "A", "last": "B"}}', '{"name": {"first": "Ana", "last": ""}}', 'kim', 'office', 'yes', 'b1'),
        (41, 2, 'reject', '{"phone": "1", "role_id": 3}', '{"phone": "2", "role_id": 3}', '{"phone": null, "role_id": 4}', 'kim', 'office', '', 'b1'),
        (41, 3, 'approve', '{}', '{}', '{}', 'lee', 'lee', 'left', 'b2'),
        (41, 4, 'push', '{"phone": "1"}', '{"phone": "1"}', '{"phone": "2"}', null, null, null, null)`);
    expect(
      await query(`select user_id, decision, field, base_text, mirror_text, service_text, decided_by, decided_role, decided_why, batch
        from report.decisions order by user_id, field`),
    ).toEqual([
      [1n, 'approve', 'name', 'A B', 'Ana', 'A B', 'kim', 'office', 'yes', 'b1'],
      [2n, 'reject', 'phone', '1', null, '2', 'kim', 'office', '', 'b1'],
      [2n, 'reject', 'role_id', '3', '4', '3', 'kim', 'office', '', 'b1'],
      [3n, 'approve', null, null, null, null, 'lee', 'lee', 'left', 'b2'],
    ]);
  });
});
