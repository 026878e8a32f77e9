import { beforeAll, describe, expect, it } from 'vitest';
import { pendingLines } from '../../src/commands/look/status.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { runMusterd } from '../system/run-musterd.ts';
import { countStatements } from '../support/sent-statements.ts';
import { useDatabase } from '../support/use-database.ts';

describe('the waiting edits in status', () => {
  const database = useDatabase();
  const { rows: sql } = database;
  /** Of what the triggers noted, and of all. */
  const pending = async () => {
    const noted = await readStatus(database.db, 'north', 0);
    const all = await readStatus(database.db, 'north');
    expect([noted.isNotedOnly, all.isNotedOnly]).toEqual([true, false]);
    return { noted: noted.pending, all: all.pending };
  };

  // A user of each state that there is, and of each two of them together; the other team would show if it were counted.
  beforeAll(() =>
    sql(`
      insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      begin; set local musterd.writing = 'on';
      insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, role_id, resolved, gone_at)
      select t, n, 'Ana Lopez', 'Ana', 'Lopez', 'known', n || '@example.com', 2, n % 5 <> 0, case when n % 7 = 0 then now() end
      from generate_series(1, 210) n, unnest('{41,42}'::bigint[]) t;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      select team_id, id, name, first_name, last_name, email, phone, role_id from mirror.users;
      commit;
      update mirror.users set phone = '15550100' where id % 2 = 0;
      update mirror.users set phone = null where id % 4 = 0;
      begin; set local musterd.writing = 'on';
      update mirror.users set email = 'unnoted@example.com'
      where id % 3 = 0 and id % 2 = 1 and (not resolved or gone_at is not null or id in (9, 27, 33, 39));
      insert into sync.held_fields (team_id, user_id, field, reason, batch)
      select t, n, 'email', case n when 9 then 'conflict' else 'limit' end, case n when 27 then 'aaaaaaaaaaaa' end
      from unnest('{9,27}'::int[]) n, unnest('{41,42}'::bigint[]) t;
      insert into sync.changes (team_id, user_id, kind, state, base, old, new, outcome)
      select t, n, 'push', 'open', '{}', '{}', '{"email": "unnoted@example.com"}', case n when 33 then '{}' else '{"email": "unknown"}' end::jsonb
      from unnest('{33,39}'::int[]) n, unnest('{41,42}'::bigint[]) t;
      commit`),
  );

  it('status counts the same edits from the triggers’ records as from a comparison of all users', async () => {
    const { noted, all } = await pending();
    expect(Object.keys(all).toSorted()).toEqual(['held', 'sending', 'unknown', 'waiting']);
    expect(noted).toEqual(all);
    const { rows } = await readStatus(database.db, 'north', 0);
    expect(rows).toMatchObject({ users: 180, unresolved: 36, gone: 30 });
  });

  it('status names each group whose last run was not complete, with the reasons of that run', async () => {
    await sql(`insert into sync.due (team, run_group, outcome) values
        ('north', 'listings', 'partial'), ('north', 'users', 'partial'), ('south', 'users', 'failed');
      insert into sync.runs (team, command, groups, outcome, reasons) values
        ('north', 'daemon', '{listings}', 'partial', '{"tags: page 3 is missing"}'),
        ('north', 'daemon', '{users}', 'partial', '{}'), ('south', 'daemon', '{listings}', 'failed', '{other}'),
        ('north', 'daemon', '{listings}', 'running', '{}')`);
    const reasons = ['tags: page 3 is missing'];
    const [listings, users] = (await readStatus(database.db, 'north')).incomplete;
    expect(listings).toMatchObject({ group: 'listings', outcome: 'partial', last_success: null, reasons });
    expect(users).toMatchObject({ group: 'users', reasons: [] });
    const env = { DATABASE_URL: database.url, MUSTERD__team: 'north' };
    const { stdout } = await runMusterd(['status'], env);
    expect(stdout).toMatch(/^run of listings +partial, last success: never\n +tags: page 3 is missing$/m);
    expect(stdout).not.toContain('run of users');
  });

  it('status reads all its numbers in one snapshot', async () => {
    const sent = await countStatements(database.url);
    const db = createDatabase({ url: sent.url, applicationName: 'musterd test' });
    try {
      await readStatus(db, 'north');
      const begun = sent.take().filter((text) => text.startsWith('begin'));
      expect(begun).toEqual([expect.stringContaining('isolation level repeatable read')]);
    } finally {
      await db.close();
      await sent.close();
    }
  });

  it('status warns that edits made with triggers off are not counted, and names the last full comparison', async () => {
    await sql(`
      begin; set local session_replication_role = 'replica';
      update mirror.users set phone = '15550199' where team_id = 41 and id in (1, 11);
      commit`);
    const { noted, all } = await pending();
    expect(all['waiting']).toBe((noted['waiting'] ?? 0) + 2);
    const run = { run_id: 12n, started_at: new Date('2026-03-01T09:00:00.123Z') };
    const ended = { ...run, command: 'daemon', finished_at: null, outcome: 'complete', reasons: [] } as const;
    const lastSuccess = { ...ended, waiting: 0, requests: 0, counts: {} };
    expect(pendingLines({ pending: {}, isNotedOnly: false, lastSuccess })).toEqual(['none']);
    expect(pendingLines({ pending: {}, isNotedOnly: true, lastSuccess })).toEqual([
      'noted: none',
      'without edits made with triggers off: run 12 compared all users at 2026-03-01T09:00:00Z, and report.pending compares them now',
    ]);
    expect(pendingLines({ pending: { waiting: 2, held: 1 }, isNotedOnly: true, lastSuccess: null })).toEqual([
      'noted: 2 waiting, 1 needs a decision',
      'without edits made with triggers off: no run has compared all users yet, and report.pending compares them now',
    ]);
  });

  it('status of a team of over 20,000 users compares all users only if over 20,000 users may have a waiting edit', async () => {
    await sql(`
      insert into sync.teams (team, team_id) values ('east', 43);
      begin; set local musterd.writing = 'on';
      insert into mirror.users (team_id, id, name, resolved, edited_at, edited_by) select 43, n, 'Ana', true, now(), 'kim' from generate_series(1, 20001) n;
      commit`);
    expect(await readStatus(database.db, 'east')).toMatchObject({ isNotedOnly: false });
    await sql(`
      begin; set local musterd.writing = 'on';
      update mirror.users set edited_at = null, edited_by = null where team_id = 43 and id = 1;
      commit`);
    expect(await readStatus(database.db, 'east')).toMatchObject({ isNotedOnly: true });
  });
});
