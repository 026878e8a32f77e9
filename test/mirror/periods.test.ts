import { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { endPeriods, recordUsers } from '../../src/mirror/users/periods.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { oldestServer, servers } from '../support/servers.ts';
import { type StatementWatch, watchStatements } from '../support/watched-statements.ts';
import { useDatabase, watchSession } from '../support/use-database.ts';

const rowsOf = async (db: Database, text: string) => (await runSqlText(db, text)).rows;

/** How many periods were looked at since the last time. */
function lookedAt(watch: Pick<StatementWatch, 'take'>): number {
  const steps = watch.take().flatMap((statement) => statement.steps);
  return steps
    .filter(({ relation, node }) => relation === 'user_periods' && !node.startsWith('Bitmap Index'))
    .reduce((sum, { rows }) => sum + rows, 0);
}

describe.each([oldestServer()])('the roster history in sync.user_periods on $name', (server) => {
  const database = useDatabase({ server });
  let db: Database;
  beforeAll(async () => {
    ({ db } = database);
  });
  const sql = (text: string) => rowsOf(db, text);
  const asRun = (text: string, run = 7) =>
    sql(`begin; set local musterd.writing = 'on'; set local musterd.run = '${run}'; ${text}; commit`);

  beforeEach(async () => {
    await sql('begin; set local session_replication_role = replica; delete from mirror.users; commit');
    await sql('truncate sync.user_periods');
    await asRun(`insert into mirror.teams (team_id, name) values (41, 'North'), (42, 'South') on conflict do nothing;
      insert into mirror.roles (team_id, role_id, name, members) values (41, 2, 'Agent', 3), (41, 3, 'Owner', 0) on conflict do nothing;
      insert into mirror.users (team_id, id, name, first_name, last_name, email, role_id, role, resolved)
      select t, n, 'Ana Lopez', 'Ana', 'Lopez', n || '@example.com', 2, 'Agent', true from generate_series(1, 3) n, unnest('{41,42}'::bigint[]) t`);
  });
  const periods = (id = 1) =>
    sql(`select valid_to = 'infinity' as is_open, present, email, role_id, side, run_id, changed_by = session_user as is_ours, actor
      from sync.user_periods where team_id = 41 and user_id = ${id} order by valid_from`);
  const changes = (id = 1) =>
    sql(`select field, old_value, new_value, side, edited_by, connected_as = session_user as is_ours, run_id
      from report.roster_changes where team_id = 41 and user_id = ${id} order by changed_at, field`);
  const service = (run: number) => ['service', BigInt(run), null, null];

  it('a statement of a run begins the periods of all changed users at the same time, and records the run id', async () => {
    expect(await periods()).toEqual([[true, true, '1@example.com', 2n, ...service(7)]]);
    expect(
      await sql('select count(*) as n, count(distinct valid_from) as times from sync.user_periods'),
    ).toEqual([[6n, 1n]]);
    await asRun(
      `update mirror.users set email = 'new' || id || '@example.com', role_id = id + 1 where id < 3`,
      8,
    );
    expect(
      await sql(
        'select count(*) as n, count(distinct valid_from) as times from sync.user_periods where run_id = 8',
      ),
    ).toEqual([[4n, 1n]]);
    expect(await periods()).toEqual([
      [false, true, '1@example.com', 2n, ...service(7)],
      [true, true, 'new1@example.com', 2n, ...service(8)],
    ]);
    expect(await periods(3)).toHaveLength(1);
    expect(await changes(2)).toEqual([
      ['present', 'false', 'true', 'service', null, null, 7n],
      ['email', '2@example.com', 'new2@example.com', 'service', null, null, 8n],
      ['role_id', '2', '3', 'service', null, null, 8n],
    ]);
  });

  it('a changed value begins a period with the author of the edit, and an unchanged value begins no period', async () => {
    await sql(`begin; select set_config('musterd.actor', 'Kim of HR', true), set_config('musterd.run', '99', true);
      update mirror.users set email = 'kim@example.com' where team_id = 41 and id = 1;
      update mirror.users set role_id = 3 where team_id = 41 and id = 1; commit`);
    await sql(`update mirror.users set email = email, phone = phone`);
    expect((await periods()).map((row) => row.slice(0, 1).concat(row.slice(2)))).toEqual([
      [false, '1@example.com', 2n, ...service(7)],
      [false, 'kim@example.com', 2n, 'mirror', null, true, 'Kim of HR'],
      [true, 'kim@example.com', 3n, 'mirror', null, true, 'Kim of HR'],
    ]);
    expect(
      await sql(`select p.valid_from = u.edited_at from sync.user_periods p join mirror.users u on u.team_id = p.team_id and u.id = p.user_id
        where p.valid_to = 'infinity' and p.team_id = 41 and p.user_id = 1`),
    ).toEqual([[true]]);
    // A period is what was so from its first moment to before its last.
    expect(
      await sql(`select p.email, p.role_id from sync.user_periods f, report.roster_as_of(f.valid_from) p
        where f.team_id = 41 and f.user_id = 1 and p.team_id = 41 and p.user_id = 1 order by f.valid_from`),
    ).toEqual([
      ['1@example.com', 2n],
      ['kim@example.com', 2n],
      ['kim@example.com', 3n],
    ]);
    expect((await changes()).slice(1)).toEqual([
      ['email', '1@example.com', 'kim@example.com', 'mirror', 'Kim of HR', true, null],
      ['role_id', '2', '3', 'mirror', 'Kim of HR', true, null],
    ]);
    expect(
      await sql(
        `select user_id, user_name, old_role_id, old_role, new_role_id, new_role, side, edited_by, connected_as = session_user as is_ours, run_id from report.role_changes`,
      ),
    ).toEqual([[1n, 'Ana Lopez', 2n, 'Agent', 3n, 'Owner', 'mirror', 'Kim of HR', true, null]]);
  });

  it('a write by musterd outside of a run begins a period with the side "mirror" and the author of the write', async () => {
    await sql(`begin; set local musterd.writing = 'on'; set local musterd.actor = 'Kim of HR';
      update mirror.users set email = 'back@example.com', edited_at = clock_timestamp() where team_id = 41 and id = 1; commit`);
    expect((await periods()).at(-1)).toEqual([
      true,
      true,
      'back@example.com',
      2n,
      'mirror',
      null,
      true,
      'Kim of HR',
    ]);
    expect(
      await sql(`select p.valid_from >= u.edited_at from sync.user_periods p join mirror.users u on u.team_id = p.team_id and u.id = p.user_id
        where p.valid_to = 'infinity' and p.team_id = 41 and p.user_id = 1`),
    ).toEqual([[true]]);
  });

  it('periods have neither gap nor overlap if an edit commits during the transaction of a run', async () => {
    await db.transaction(async (tx) => {
      await tx.executeQuery(
        CompiledQuery.raw(
          `select set_config('musterd.writing', 'on', true), set_config('musterd.run', '8', true), now()`,
        ),
      );
      await sql(`update mirror.users set email = 'fast@example.com' where team_id = 41 and id = 1`);
      await tx.executeQuery(
        CompiledQuery.raw(`update mirror.users set email = 'run@example.com' where team_id = 41 and id = 1`),
      );
      await tx.executeQuery(
        CompiledQuery.raw(`update mirror.users set email = 'then@example.com' where team_id = 41 and id = 1`),
      );
    });
    expect(
      await sql(`select email, valid_from - lag(valid_to) over (order by valid_from) = '0' from sync.user_periods
        where team_id = 41 and user_id = 1 order by valid_from`),
    ).toEqual([
      ['1@example.com', null],
      ['fast@example.com', true],
      ['run@example.com', true],
      ['then@example.com', true],
    ]);
  });

  it('a statement begins the same periods for new users if the statement also adds a user who was deleted before', async () => {
    const add = (team: number, ids: string) =>
      asRun(
        `insert into mirror.users (team_id, id, name, first_name, email, role_id, role, resolved, created_at, gone_at)
        select ${team}, n, 'Eva Gray', 'Eva', n || '@example.org', n, 'Agent', true, '2026-01-02', case when n = 13 then now() end
        from unnest('{${ids}}'::bigint[]) n`,
        8,
      );
    await add(42, '12');
    await asRun('delete from mirror.users where team_id = 42 and id = 12', 9);
    const began = `to_jsonb(p) - array['team_id', 'valid_from', 'valid_to'] from sync.user_periods p
      where user_id > 10 and valid_to = 'infinity' and user_id <> 12 and team_id =`;
    await add(41, '11,13,14');
    await add(42, '11,12,13,14');
    const alone = await sql(`select ${began} 41 order by user_id`);
    expect(alone).toMatchObject([
      [
        {
          user_id: 11,
          present: true,
          role_moved: false,
          side: 'service',
          run_id: 8,
          email: '11@example.org',
        },
      ],
      [{ user_id: 14, present: true, changed_by: null, name: 'Eva Gray', resolved: true, role_id: 14 }],
    ]);
    expect(await sql(`select ${began} 42 order by user_id`)).toEqual(alone);
    const again =
      'select present, run_id from sync.user_periods where team_id = 42 and user_id = 12 order by valid_from';
    expect(await sql(again)).toEqual([
      [true, 8n],
      [false, 9n],
      [true, 8n],
    ]);
    // A person who is allowed to add rows is named, as with an edit.
    await sql(`begin; set local musterd.writing = 'on'; set local musterd.actor = 'eva';
      insert into mirror.users (team_id, id, resolved) values (41, 15, true); commit`);
    expect((await periods(15)).map((row) => row.slice(4))).toEqual([['service', null, true, 'eva']]);
  });

  it('a period ends when its user leaves, and the return of the user begins a new period', async () => {
    await asRun(`update mirror.users set gone_at = now() where team_id = 41 and id = 1`, 8);
    await asRun(`update mirror.users set email = 'x@example.com' where team_id = 41 and id = 1`, 8);
    await asRun(`delete from mirror.users where team_id = 41 and id = 2`, 9);
    const there = () => sql('select team_id, user_id from report.roster_as_of(now()) order by 1, 2');
    expect(await there()).toEqual([
      [41n, 3n],
      [42n, 1n],
      [42n, 2n],
      [42n, 3n],
    ]);
    await asRun(`update mirror.users set gone_at = null, role_id = 5 where team_id = 41 and id = 1`, 10);
    expect((await there())[0]).toEqual([41n, 1n]);
    expect(await periods()).toEqual([
      [false, true, '1@example.com', 2n, ...service(7)],
      [false, false, '1@example.com', 2n, ...service(8)],
      [true, true, 'x@example.com', 5n, ...service(10)],
    ]);
    expect((await changes()).map(([field, , now, , , , run]) => [field, now, run])).toEqual([
      ['present', 'true', 7n],
      ['present', 'false', 8n],
      ['present', 'true', 10n],
    ]);
    expect(await sql('select count(*) from report.role_changes')).toEqual([[0n]]);
    // Also where nothing has changed meanwhile.
    await asRun(`update mirror.users set gone_at = now() where team_id = 41 and id = 3`, 8);
    await asRun(`update mirror.users set gone_at = null where team_id = 41 and id = 3`, 9);
    expect((await periods(3)).map(([, present]) => present)).toEqual([true, false, true]);
    expect((await changes(2)).at(-1)).toEqual(['present', 'true', 'false', 'service', null, null, 9n]);
  });

  it('recordUsers and endPeriods add the missing periods of changes that were made with triggers off', async () => {
    const past = (text: string) =>
      sql(`begin; set local session_replication_role = replica; ${text}; commit`);
    await past(`update mirror.users set email = 'unheard@example.com' where team_id = 41 and id = 1;
      delete from mirror.users where team_id = 41 and id = 2`);
    await db.transaction(async (tx) => {
      await tx.executeQuery(
        CompiledQuery.raw(
          `select set_config('musterd.writing', 'on', true), set_config('musterd.run', '8', true)`,
        ),
      );
      await recordUsers(tx, 41n, [1n, 2n, 3n]);
      await endPeriods(tx, { teamId: 41n, runId: 8n }, [1n, 2n]);
      await endPeriods(tx, { teamId: 41n, runId: 8n }, [2n]);
    });
    expect(await periods()).toEqual([
      [false, true, '1@example.com', 2n, ...service(7)],
      [true, true, 'unheard@example.com', 2n, ...service(8)],
    ]);
    expect(await periods(2)).toEqual([
      [false, true, '2@example.com', 2n, ...service(7)],
      [true, false, '2@example.com', 2n, ...service(8)],
    ]);
    expect(await periods(3)).toHaveLength(1);
  });
});

describe.each(servers())('a year of the roster on $name', (server) => {
  const users = 2000;
  const database = useDatabase({ server });
  let watch: StatementWatch;
  let db: Database;
  beforeAll(async () => {
    // Each user begins twenty periods, and every tenth has got another role with the last.
    await database.rows(`begin; set local musterd.writing = 'on'; insert into mirror.teams (team_id, name) values (41, 'North');
       insert into sync.user_periods (team_id, user_id, valid_from, valid_to, present, name, first_name, last_name, resolved, side, run_id, role_moved)
       select 41, u, d.day + u * interval '1 s', case when k = 20 then 'infinity' else d.day + interval '18 days' + u * interval '1 s' end,
         true, 'N' || k, 'N', k::text, true, 'service', k, k = 20 and u % 10 = 0
       from generate_series(1, 20) k cross join lateral (select now() - (21 - k) * interval '18 days' as day) d, generate_series(1, ${users}) u; commit`);
    watch = await watchStatements(database.url);
    db = createDatabase({ url: watch.url, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await db.close();
    await watch.close();
  });
  const looked = () => lookedAt(watch);

  describe.each(['never analysed', 'analysed'])('with tables %s', (when) => {
    beforeAll(async () => {
      if (when === 'analysed') await database.rows('analyze');
      watch.take();
    });

    it.each([
      ['roster_as_of(now())', users, users],
      [`roster_as_of(now() - interval '100 days')`, users, users],
      [`roster_as_of(now() - interval '300 days')`, users, users],
      [`roster_as_of(now() - interval '100 days') where user_id = 77`, 1, 20],
      ['roster_history where team_id = 41 and user_id = 77', 20, 20],
      ['roster_changes order by changed_at desc limit 20', 20, 60],
      ['roster_changes where team_id = 41 and user_id = 77', 39, 41],
      ['role_changes order by changed_at desc limit 20', 20, 60],
      ['role_changes', users / 10, users / 5],
    ])('report.%s returns at least %i rows and reads at most %i periods', async (what, rows, atMost) => {
      await db.transaction(async (tx) => {
        await tx.executeQuery(CompiledQuery.raw('set local role musterd_reader'));
        const text = `select count(*)::int as n from (select * from report.${what} offset 0) v`;
        const [found] = (await tx.executeQuery<{ n: number }>(CompiledQuery.raw(text))).rows;
        expect(found?.n).toBeGreaterThanOrEqual(rows);
      });
      expect(looked()).toBeLessThanOrEqual(atMost);
    });
  });

  it('report.roster_changes of the last 18 days reads at most two periods for each user', async () => {
    await rowsOf(
      db,
      `select * from report.roster_changes where changed_at > now() - interval '17 days 23 hours'`,
    );
    expect(looked()).toBeLessThanOrEqual(2 * users);
  });
});

describe.each(servers())('sync.user_periods without statistics on $name', (server) => {
  const database = useDatabase({ server });
  it('an insert reads one period for each user, and an update reads three, whatever the cached plan', async () => {
    const watched = await watchSession(database.url);
    const looked = () => lookedAt(watched);
    const add = (from: number, to: number) =>
      runSqlText(
        watched.db,
        `begin; set local musterd.writing = 'on'; insert into mirror.users (team_id, id, name, resolved)
         select 42, n, 'N', true from generate_series(${from}, ${to}) n; commit`,
      );
    await add(1, 1);
    for (const from of [2, 1002, 2002]) await add(from, from + 999);
    expect(looked()).toBeLessThanOrEqual(3001);
    await runSqlText(watched.db, `update mirror.users set phone = '15550100' where team_id = 42 and id = 1`);
    watched.take();
    await runSqlText(watched.db, `update mirror.users set phone = '15550101' where team_id = 42`);
    // To compare, to close, and what was closed.
    expect(looked()).toBeLessThanOrEqual(3 * 3001);
    await runSqlText(watched.db, `update mirror.users set phone = phone where team_id = 42 and id < 11`);
    expect(looked()).toBeLessThanOrEqual(10);
    expect(
      await rowsOf(database.db, `select side, count(*) from sync.user_periods group by 1 order by 1`),
    ).toEqual([
      ['mirror', 3002n],
      ['service', 3001n],
    ]);
  });
});
