import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { readLedger } from '../../src/mirror/users/ledger.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readChanges } from '../../src/page/read/page-changes.ts';
import { readContacts } from '../../src/page/read/page-glance.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { oldestServer, servers } from '../support/servers.ts';
import { type StatementWatch, watchStatements } from '../support/watched-statements.ts';
import { aside, useDatabase } from '../support/use-database.ts';

const rowsOf = async (db: Database, text: string) => (await runSqlText(db, text)).rows;
const suffix = randomBytes(4).toString('hex');

/** What that role is answered, or told, after statements of the owner; all of it comes to nothing. */
async function as(db: Database, role: string, text: string, before = 'select'): Promise<unknown> {
  const attempt = aside(db, async (tx) => {
    await tx.executeQuery(CompiledQuery.raw(`${before}; set local role ${role}`));
    const { rows } = await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text));
    return rows.map((row) => Object.values(row));
  });
  return await attempt.catch((error: unknown) => (error instanceof Error ? error.message : ''));
}

const readViews = async (db: Database) =>
  (
    await rowsOf(db, `select oid::regclass::text from pg_class where relnamespace = 'report'::regnamespace`)
  ).flat() as string[];

describe.each([oldestServer()])('the report views on $name', (server) => {
  const database = useDatabase({ server });
  let db: Database;
  beforeAll(async () => {
    ({ db } = database);
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on';
       insert into mirror.users (team_id, id, name, resolved) select 41, n, 'User ' || n, true from generate_series(1, 3) n;
       insert into sync.changes (team_id, user_id, kind, state, base, old, new, outcome, edited_by, edits) values
         (41, 1, 'adopt', 'closed', '{}', '{}', '{"name": {"first": "Ana Maria", "last": "Berg"}, "email": "a@example.com", "phone": null}', '{}', null, '{}'),
         (41, 1, 'push', 'open', '{"email": "a@example.com"}', '{"email": "a@example.com"}', '{"email": "b@example.com"}', '{}', '{"email": "Kim of HR"}', '{"email": 17}'),
         (41, 2, 'push', 'closed', '{}', '{"phone": "1", "role_id": 1}', '{"phone": "2"}', '{"phone": "confirmed", "role_id": "refused"}', '{"phone": "musterd"}', '{"phone": 18}'),
         (41, 2, 'pull', 'closed', '{}', '{"role": "Agent"}', '{"role": "Analyst", "something": "else"}', '{}', null, '{}'),
         (42, 9, 'tombstone', 'closed', '{}', '{}', '{}', '{}', null, '{}'),
         (42, 9, 'hold', 'closed', '{}', '{"name": {"first": "", "last": "Cher"}}', '{"name": "Ana \\"Mia\\" Berg"}', '{}', null, '{}');
       insert into sync.changes (team_id, kind, new, outcome, request_id, decided_by) values
         (41, 'call', '{"tag": {"tag": "VIP"}}', '{"tag": "confirmed"}', 'r-1', 'Kim of HR');
       update sync.changes set batch = '5f0c' where kind = 'push' and user_id = 2;
       select setseed(0.5);
       insert into mirror.contact_counts (team_id, segment, counted_at, count)
       select t, s, '2026-03-01Z'::timestamptz + at, (random() * 1000)::int
       from generate_series(41, 43) t, unnest(array['all', 'of "a"', '']) s
       cross join lateral (
         select random() * interval '20 days' from generate_series(1, t)
         union select d * interval '1 day' from unnest(array[3, 4, 30]) d
         union select d * interval '1 day' - interval '1 microsecond' from unnest(array[3, 4, 60]) d
       ) a (at)
       where not (t = 43 and s = 'all');
       commit`,
    );
  });

  it.each(['UTC', 'Pacific/Auckland', 'America/Los_Angeles'])(
    'contact_counts_daily shows first, last, lowest and highest count of a UTC day to a session in %s',
    async (zone) => {
      const plain = `
        select team_id, segment, day, count, lowest, highest, samples,
          count - lag(count) over w as change, first, count as last, lag(day) over w as previous_day
        from (
          select team_id, segment, (counted_at at time zone 'UTC')::date as day,
            (array_agg(count order by counted_at desc))[1] as count, (array_agg(count order by counted_at))[1] as first,
            min(count) as lowest, max(count) as highest, count(*) as samples
          from mirror.contact_counts group by 1, 2, 3
        ) d window w as (partition by team_id, segment order by day) order by 1, 2, 3`;
      const text = (days: string) =>
        `select * from report.contact_counts_daily where ${days} order by 1, 2, 3`;
      const ask = (days: string) =>
        as(db, 'musterd_reader', text(days), `set local timezone = '${zone}'`) as Promise<unknown[][]>;
      const expected = await rowsOf(db, plain);
      expect(expected.length).toBeGreaterThan(100);
      expect(await ask('samples > 0')).toEqual(expected);
      // The days between the first and the last count of a segment on which nobody counted, with nothing in them.
      const days = await rowsOf(
        db,
        `select team_id, segment, g::date as day, null as a, null as b, null as c, 0::bigint as samples, null as d, null as e, null as f, null as h
         from (select team_id, segment, min((counted_at at time zone 'UTC')::date) as first, max((counted_at at time zone 'UTC')::date) as last
               from mirror.contact_counts group by 1, 2) s, generate_series(first, last, interval '1 day') g
         where (team_id, segment, g::date) not in (select team_id, segment, (counted_at at time zone 'UTC')::date from mirror.contact_counts)
         order by 1, 2, 3`,
      );
      expect(days.length).toBeGreaterThan(100);
      expect(await ask('samples = 0')).toEqual(days);
    },
  );

  it('report.roster leaves out a user who has left', async () => {
    const leaves = `set local musterd.writing = 'on'; update mirror.users set gone_at = now() where id = 2`;
    const rows = await as(db, 'musterd_reader', 'select user_id from report.roster order by 1', leaves);
    expect(rows).toEqual([[1n], [3n]]);
  });

  it('report.changes has one row for each field of a change', async () => {
    const plain = `
      select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field,
        case c.kind when 'hold' then c.base else c.old end -> f.field as old, case c.kind when 'hold' then c.old else c.new end -> f.field as new, case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
        c.request_id, c.opened_at, c.closed_at, c.decided_by, c.decided_why, c.edited_by ->> f.field as edited_by
      from sync.changes c
      left join lateral (select jsonb_object_keys(c.new) as field union select jsonb_object_keys(c.old)) f on true
      left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
      order by c.change_id, f.field`;
    const rows = 'from report.changes order by change_id, field';
    const seen = (await as(db, 'musterd_reader', `select * ${rows}`)) as unknown[][];
    expect(seen).toHaveLength(11);
    expect(seen.map((row) => row.slice(0, -8))).toEqual(await rowsOf(db, plain));
    expect(
      await as(db, 'musterd_reader', `select field, edited_by, old_text, new_text, edit_id, batch ${rows}`),
    ).toEqual([
      ['email', null, null, 'a@example.com', null, null],
      ['name', null, null, 'Ana Maria Berg', null, null],
      ['phone', null, null, null, null, null],
      ['email', 'Kim of HR', 'a@example.com', 'b@example.com', 17n, null],
      ['phone', 'musterd', '1', '2', 18n, '5f0c'],
      ['role_id', null, '1', null, null, '5f0c'],
      ['role', null, 'Agent', 'Analyst', null, null],
      ['something', null, null, 'else', null, null],
      [null, null, null, null, null, null],
      ['name', null, null, 'Cher', null, null],
      ['tag', null, null, '{"tag": "VIP"}', null, null],
    ]);
  });
});

describe.each([oldestServer()])('readers of the report views on $name', (server) => {
  const database = useDatabase({ server });
  let db: Database;
  let views: readonly string[];
  const [every, some, other] = [`test_every_${suffix}`, `test_some_${suffix}`, `test_other_${suffix}`];
  const alone = `test_alone_${suffix}`;
  beforeAll(async () => {
    ({ db } = database);
    await runSqlText(
      db,
      `create role ${every}; create role ${some}; create role ${other} in role musterd_reader;
       grant usage on schema report to ${every}, ${some};
       grant select on all tables in schema report to ${every};
       grant select on report.held, report.changes to ${some};
       create role ${alone}; grant usage on schema report to ${alone}; grant select on report.decisions to ${alone};
       revoke select on report.changes, report.decisions, sync.changes from musterd_editor;
       delete from sync.migrations where name ~ '^repeatable'`,
    );
    // The views are made again, as if they read more than before.
    expect((await migrate(db)).applied).toContain('repeatable/08_reports');
    views = await readViews(db);
    const team = { ...largeTeam, users: 10, changes: 40, tags: 3, days: 1 };
    await fillMirror(db, [
      { ...team, team: 'north', teamId: 7 },
      { ...team, team: 'south', teamId: 8 },
    ]);
    await runSqlText(
      db,
      `insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
       select t, 'tags', 1, now(), '0f', 'too many', now() from generate_series(7, 8) t`,
    );
    await runSqlText(db, `update mirror.users set phone = '15550199', role_id = 3 where id = 4`);
  });
  afterAll(() =>
    runSqlText(
      db,
      `drop owned by ${every}, ${some}, ${alone}; drop role ${every}, ${some}, ${other}, ${alone}`,
    ),
  );

  const bound = `delete from mirror.team_roles; insert into mirror.team_roles (role_name, team_id) values ('${other}', 7), ('${every}', 7), ('${some}', 7)`;

  it('a role with report.held and report.changes cannot read the values of edits in sync.edits', async () => {
    const may = (column: string) => `has_column_privilege('${some}', 'sync.edits', '${column}', 'select')`;
    const asked = ['edit_id', 'old_value', 'new_value', 'authors'].map(may).join();
    expect((await runSqlText(db, `select concat_ws(' ', ${asked})`)).rows).toEqual([['t f f f']]);
  });

  it('the roles for people can read each view, unless an administrator has revoked the right to the view', async () => {
    expect(views.length).toBeGreaterThan(7);
    for (const role of rolesForPeople)
      for (const view of views) {
        const taken = role === 'musterd_editor' && ['report.changes', 'report.decisions'].includes(view);
        const told = taken
          ? `permission denied for view ${view.slice('report.'.length)}`
          : expect.not.arrayContaining([['0']]);
        expect([role, view, await as(db, role, `select count(*)::text from ${view}`)]).toEqual([
          role,
          view,
          told,
        ]);
      }
    expect(await as(db, alone, 'select count(*)::text from report.decisions')).toEqual([
      [expect.any(String)],
    ]);
    const use = 'grant usage on schema sync to musterd_reader, musterd_editor';
    expect(await as(db, 'musterd_editor', 'select old from sync.changes', use)).toBe(
      'permission denied for table changes',
    );
    for (const hidden of ['edit_key from sync.teams'])
      expect(await as(db, 'musterd_reader', `select ${hidden}`, use)).toMatch(/^permission denied for table/);
  });

  it('a reader can run each query of docs/sql-cookbook.md', async () => {
    const cookbook = readFileSync(new URL('../../docs/sql-cookbook.md', import.meta.url), 'utf8');
    const questions = [...cookbook.matchAll(/```sql\n([^`]*)```/g)]
      .flatMap(([, block = '']) => block.split(/;\n/))
      .filter(
        (text) =>
          text.includes('report.') && !/\b(update|insert|create|delete|grant|sync|correction)\b/.test(text),
      );
    expect(questions.length).toBeGreaterThan(12);
    for (const text of questions)
      expect([text, await as(db, 'musterd_reader', text)]).toEqual([text, expect.any(Array)]);
  });

  it('a migration keeps the rights of a role on report views, and adds no right on the underlying tables', async () => {
    for (const [role, its] of [
      [every, views],
      [some, ['report.held', 'report.changes']],
    ] as const) {
      for (const view of its)
        expect([view, await as(db, role, `select distinct team_id from ${view}`, bound)]).toEqual([
          view,
          [[7n]],
        ]);
      expect(await as(db, role, 'select id from mirror.users')).toBe('permission denied for schema mirror');
      expect(await as(db, role, 'select old from sync.changes')).toBe('permission denied for schema sync');
    }
    expect(await as(db, every, 'select distinct team_id from report.roster_as_of(now())', bound)).toEqual([
      [7n],
    ]);
    expect(await as(db, some, 'select * from report.roster')).toBe('permission denied for view roster');
  });

  it('a role sees only its own teams through a view that the database owner made over a report view', async () => {
    for (const view of [...views, 'report.roster_as_of(now())']) {
      const own = `create view public.own as select * from ${view}; grant select on public.own to ${other}; ${bound}`;
      expect([view, await as(db, other, 'select distinct team_id from public.own', own)]).toEqual([
        view,
        [[7n]],
      ]);
    }
  });

  it('a cheap function in a where clause gets no value of another team', async () => {
    const look = `create function pg_temp.look(team bigint, value text) returns boolean language plpgsql cost 0.0000001 as
      $$ begin if team <> 7 then raise exception 'team % was shown: %', team, value; end if; return true; end $$;
      grant execute on function pg_temp.look to public; ${bound}`;
    for (const view of views) {
      const columns = (
        await rowsOf(
          db,
          `select quote_ident(attname) from pg_attribute where attrelid = '${view}'::regclass and attnum > 0`,
        )
      ).flat() as string[];
      const text = `select count(*) > 0 from ${view} where ${columns.map((column) => `pg_temp.look(team_id, ${column}::text)`).join(' and ')}`;
      expect([view, await as(db, other, text, look)]).toEqual([view, [[true]]]);
    }
  });
});

describe.each(servers())('queries on a mirror with a long history on $name', (server) => {
  const small = {
    ...largeTeam,
    team: 'small',
    teamId: 7,
    users: 20,
    changes: 100,
    tags: 5,
    days: 5,
    endedDaysAgo: 60,
  };
  const large = { ...largeTeam, users: 2_000, changes: 20_000, tags: 100, days: 60 };
  const [bound, free] = [`test_bound_${suffix}`, `test_free_${suffix}`];
  const database = useDatabase({ server });
  let watch: StatementWatch;
  let db: Database;
  beforeAll(async () => {
    await fillMirror(database.db, [small, large]);
    await database.rows(`create role ${bound} in role musterd_reader; create role ${free} in role musterd_reader;
       insert into mirror.team_roles (role_name, team_id) values ('${bound}', 7);
       update mirror.team_roles set role_name = '${free}' where role_name = 'public';
       with over as (
         insert into sync.edits (xid, team_id, user_id, field, edited_at, authors, ended_at, ended_how)
         select '9', 41, 1 + n % 2000, 'phone', now() - interval '40 days', '{kim}', now() - interval '40 days', 'agreed'
         from generate_series(1, 5000) n returning *
       )
       insert into sync.changes (team_id, user_id, kind, old, new, opened_at, closed_at, decided_by, edits, decision_id)
       select team_id, user_id, 'approve', '{"phone": "1"}', '{"phone": "2"}', ended_at, ended_at, 'lee', jsonb_build_object('phone', edit_id), edit_id / 500
       from over where edit_id % 20 = 0`);
    watch = await watchStatements(database.url);
    db = createDatabase({ url: watch.url, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await db.close();
    await watch.close();
    await database.rows(`drop role ${bound}, ${free}`);
  });

  /** How many rows of what grows were looked at since the last time. */
  const read = () => {
    const growing = new Set([
      'changes',
      'edits',
      'runs',
      'contact_counts',
      'user_periods',
      'listing_changes',
    ]);
    const steps = watch.take().flatMap((statement) => statement.steps);
    return steps
      .filter(({ relation }) => relation !== undefined && growing.has(relation))
      .reduce((sum, { rows }) => sum + rows, 0);
  };
  const perDay = large.changes / large.days;
  const countsOfWeek = 7 * 96 * 5;

  describe.each(['never analysed', 'analysed'])('with tables %s', (when) => {
    beforeAll(async () => {
      if (when === 'analysed') await database.rows('analyze');
      watch.take();
    });

    it.each([
      ['changes order by change_id desc limit 20', 20, 100],
      ['changes order by opened_at desc limit 20', 20, 100],
      ['changes where team_id = 41 order by change_id desc limit 20', 20, 100],
      ['changes where team_id = 7 order by change_id desc limit 20', 20, 200],
      [`changes where opened_at > now() - interval '1 day'`, Math.floor(perDay), perDay + 10],
      ['changes where team_id = 41 and user_id = 77', 13, 20],
      ['runs order by run_id desc limit 20', 20, 100],
      [`runs where started_at > now() - interval '1 day'`, 95, 100],
      ['decisions order by change_id desc limit 20', 20, 60],
      ['sync_health', 2, 7 * 96],
      ['freshness where fresh', 6, 0],
      ['roster_changes order by changed_at desc limit 20', 20, 100],
      ['role_changes order by changed_at desc limit 20', 0, 20],
      // With what the roles were called, of which there is little.
      ['roster_history where team_id = 41 and user_id = 77', 1, 10],
      ['tag_history where team_id = 41 and tag_id = 1', 1, 10],
      [`contact_counts where team_id = 41 and segment = 'all' order by counted_at desc limit 20`, 20, 20],
      ['held', 2, 0],
      [`usage where day = current_date - 7`, 2, (large.days + small.days) * 96],
      // Of the first quarter of an hour of a day nothing is counted yet.
      [
        `contact_counts_daily where day > (now() at time zone 'UTC' - interval '1 hour')::date - 7`,
        35,
        countsOfWeek * 1.2,
      ],
    ])('report.%s shows a reader at least %i rows, and reads at most %i rows', async (what, rows, atMost) => {
      const seen = await as(db, free, `select count(*)::int from (select * from report.${what} offset 0) v`);
      expect(seen).toEqual([[expect.toSatisfy((count: number) => count >= rows)]]);
      expect(read()).toBeLessThanOrEqual(atMost);
    });

    it('report.pending finds open pushes by their index, at an estimated cost too low for JIT', async () => {
      const plan = (await rowsOf(database.db, 'explain select * from report.pending')).flat().join('\n');
      expect(plan).toContain('changes_one_open_intent');
      expect(Number(/\.\.([\d.]+)/.exec(plan)?.[1])).toBeLessThan(10_000);
    });

    it('contact_counts_daily reads only the counts of the small team for a role that sees only that team', async () => {
      const seen = await as(db, bound, 'select distinct team_id from report.contact_counts_daily');
      expect(seen).toEqual([[7n]]);
      expect(read()).toBeLessThanOrEqual(small.days * 96 * 5 * 1.2);
    });

    it('the page reads at most 200 rows to show the last counts and the counts 30 days ago', async () => {
      const { sql: text, parameters } = readContacts([41n, 7n], new Date()).compile(db.kysely);
      const literal = text.replaceAll(/\$(\d+)/g, (_, n: string) => {
        const given = parameters[Number(n) - 1];
        return given instanceof Date ? `'${given.toISOString()}'` : `'{41,7}'`;
      });
      expect(await as(db, free, `select count(*)::int from (${literal}) v`)).toEqual([[2]]);
      expect(read()).toBeLessThanOrEqual(200);
    });

    it('the page reads at most 10,000 rows to show the outcome of a decision', async () => {
      const reader = { db: db.kysely, teams: [], teamIds: [41n, 7n], now: new Date(), decider: null };
      const nothing = { field: null, direction: null, actor: null, runId: null, since: null, before: null };
      const asked = { ...nothing, q: '', details: true, decision: 3n, limit: 50 };
      expect((await readChanges(reader, asked)).rows).toHaveLength(25);
      expect(read()).toBeLessThanOrEqual(10_000);
    });

    it('status and history together read at most 200 rows of history', async () => {
      const { rows, pending, counts } = await readStatus(db, 'default');
      expect([rows.users, rows.gone, pending, counts.length]).toEqual([1_998, 2, { waiting: 2 }, 5]);
      const all = { userId: null, runId: null, field: null, kind: null, outcome: null, since: null };
      expect(await readLedger(db.kysely, 7n, { ...all, limit: 20 })).toHaveLength(20);
      expect(read()).toBeLessThanOrEqual(200);
    });
  });

  it('status reads each user at most twice: to count the users, and to compare the users', async () => {
    await readStatus(db, 'default');
    const steps = watch.take().flatMap((statement) => statement.steps);
    const users = steps.filter(
      ({ relation, node }) => relation === 'users' && !node.startsWith('Bitmap Index'),
    );
    expect(users.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(
      2.1 * (large.users + small.users),
    );
  });

  it('status reads each user only once if the team is too large to compare', async () => {
    const many = await readStatus(db, 'default', 100);
    const steps = watch.take().flatMap((statement) => statement.steps);
    expect([many.pending, many.isNotedOnly]).toEqual([{ waiting: 2 }, true]);
    const rowsOfUsers = steps
      .filter(
        ({ relation, node }) =>
          /^users$|^user_base$/.test(relation ?? '') && !node.startsWith('Bitmap Index'),
      )
      .reduce((sum, { rows }) => sum + rows, 0);
    expect(rowsOfUsers).toBeLessThanOrEqual(1.1 * (large.users + small.users));
  });
});
