import { sql } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Transaction } from '../../src/mirror/db/database.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { writeRejectedRows } from '../../src/mirror/listings/listings.ts';
import { hasRun } from '../../src/mirror/users/moved-fields.ts';
import { checkTeam, pinTeam, readTeamId } from '../../src/mirror/team/pinned-teams.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { finishRun, noteTeam } from '../../src/mirror/runs/runs.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { createListener } from '../../src/mirror/team/listen.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { actsOf, askIn, outcomesIn, still } from './acts-of-a-team.ts';
import { readAllOf } from './reads-of-a-team.ts';
import { writesOf } from './writes-of-a-team.ts';
import { aside, useDatabase } from '../support/use-database.ts';

/** Two teams that have everything alike: a statement about one of them must leave the other alone. */
const database = useDatabase();
const { write } = database;
const rowsOf = async (query: string) =>
  (await sql<Record<string, unknown>>`${sql.raw(query)}`.execute(database.db.kysely)).rows.map((row) =>
    Object.values(row).join(' '),
  );

beforeAll(() =>
  write(async (tx) => {
    for (const statement of [
      `insert into sync.teams (team, team_id) values ('one', 41), ('two', 42)`,
      `insert into mirror.teams (team_id, name) values (41, 'First'), (42, 'Second')`,
      `insert into sync.runs (team, team_id, command) values ('one', 41, 'daemon'), ('one', 41, 'daemon'), ('two', 42, 'daemon')`,
    ])
      await sql.raw(statement).execute(tx);
  }),
);

it('writeRejectedRows stores at most 1,000 rejected rows of a listing, with exact 64-bit ids', async () => {
  const rejected = Array.from({ length: 1001 }, (_, more) => ({
    resource: 'tags',
    id: 2n ** 53n + 1n + BigInt(more),
    reason: 'now',
    excerpt: '{}',
  }));
  await write((tx) => writeRejectedRows(tx, { teamId: 41n, runId: 1n }, 'tags', rejected));
  expect(await rowsOf('select topic, jsonb_array_length(value), value ->> 0 from sync.learned')).toEqual([
    'rejected tags 1000 {"id": 9007199254740993, "reason": "now", "excerpt": "{}", "resource": "tags"}',
  ]);
  expect((await readKnownTeam(database.db.kysely, 'one')).rejected).toEqual(new Set(['tags']));
});

it('finishRun ends only the given run, and a second finishRun of that run changes nothing', async () => {
  const waiting = { teamId: 43n, atLeast: 2 };
  const end = {
    outcome: 'partial',
    reasons: ['a'],
    counts: { pulled: 1 },
    waiting,
    requests: 3,
    endpoints: {},
  } as const;
  await noteTeam(database.db, 1n, 43n);
  await write((tx) => finishRun(tx, 1n, { ...end, requestIds: ['x'] }));
  await write((tx) => finishRun(tx, 1n, { ...end, outcome: 'failed', requestIds: ['y'] }));
  expect(
    await rowsOf(`select run_id, team_id, outcome, reasons, waiting, requests, request_ids,
                         counts ->> 'pulled' as pulled, finished_at is not null as ended from sync.runs order by 1`),
  ).toEqual(['1 43 partial a 2 3 x 1 true', '2 41 running  0 0   false', '3 42 running  0 0   false']);
  expect(await hasRun(database.db.kysely, 'one', 3n)).toBe(false);
  expect(await hasRun(database.db.kysely, 'one', 2n)).toBe(true);
});

it('pinTeam and checkTeam reject a second name for a team, and a second team for a name', async () => {
  const { db } = database;
  await expect(checkTeam(db.kysely, 'three', 41n)).rejects.toMatchObject({ code: 'wrong-team' });
  await expect(pinTeam(db, 'one', 43n)).rejects.toMatchObject({ code: 'wrong-team' });
  await pinTeam(db, 'three', 43n);
  await pinTeam(db, 'three', 43n);
  expect(await readTeamId(db.kysely, 'three')).toBe(43n);
  expect(await readTeamId(db.kysely, 'one')).toBe(41n);
});

it('readStatus and readSnapshot show a run only for the team with a valid lease', async () => {
  const { db } = database;
  const running = async (team: string, teamId: bigint) => [
    (await readStatus(db, team)).name,
    (await readStatus(db, team)).running?.pid,
    (await readSnapshot(db, team, teamId)).team?.name,
    (await readSnapshot(db, team, teamId)).isRunning,
  ];
  const pid = BigInt(process.pid);
  const [one, two] = [
    await takeLease(db, 'one', { ttlMs: 60_000 }),
    await takeLease(db, 'two', { ttlMs: 60_000 }),
  ];
  await two.release();
  expect(await running('one', 41n)).toEqual(['First', pid, 'First', true]);
  expect(await running('two', 42n)).toEqual(['Second', undefined, 'Second', false]);
  await one.check();
  await sql`update sync.leases set expires_at = clock_timestamp() where team = 'one'`.execute(db.kysely);
  await expect(one.check()).rejects.toMatchObject({ code: 'lease-lost' });
  expect(await running('one', 41n)).toEqual(['First', undefined, 'First', false]);
  await one.release();
  expect(await rowsOf('select team from sync.leases')).toEqual([]);
});

describe('two teams with users of the same ids', () => {
  const batch = 'abc123abc123';
  const two = useDatabase();
  const { rows: run } = two;
  beforeAll(() =>
    run(`begin; set local musterd.writing = 'on';
      insert into sync.teams (team, team_id) values ('south', 40), ('north', 41);
      insert into mirror.teams (team_id, name) values (40, 'South'), (41, 'North');
      insert into sync.user_base (team_id, id, name, first_name, last_name) select t, 1, 'Anne', 'Anne', '' from unnest('{40,41}'::bigint[]) t;
      insert into mirror.users (team_id, id, name, first_name, resolved) select team_id, id, name, first_name, true from sync.user_base;
      commit;
      update mirror.users set email = 'anne@example.com';
      insert into sync.held_fields (team_id, user_id, field, reason, edit_id, batch, mirror_value)
        select team_id, user_id, field, 'review', edit_id, '${batch}', new_value from sync.edits;
      insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
        select team_id, 'tags', 5, now(), 'aa', 'few', now() from mirror.teams`),
  );

  it('a decision does not wait while a transaction has locked rows of another team', () =>
    aside(two.db, async (theirs) => {
      for (const table of ['mirror.users', 'mirror.teams', 'sync.held_fields', 'sync.absences', 'sync.edits'])
        await sql`select from ${sql.raw(table)} where team_id = 40 for update`.execute(theirs);
      await aside(two.db, async (tx) => {
        await sql`set local lock_timeout = '1s'`.execute(tx);
        await sql`select sync.approve('aa', team => 41)`.execute(tx);
        await sql`select sync.approve(${batch}, team => 41)`.execute(tx);
        await sql`select sync.reject(${batch}, revert => true, team => 41)`.execute(tx);
      });
    }));

  it('an edit or a decision wakes only the daemon of its own team (S14)', async () => {
    const heard = new Map<string, number>();
    const listening = Promise.withResolvers<void>();
    const listener = createListener({
      url: two.url,
      onEdit: (team) => heard.set(team, (heard.get(team) ?? 0) + 1),
      onListening: listening.resolve,
      onLost: listening.reject,
    });
    onTestFinished(() => listener.close());
    await listening.promise;
    const keys = await run('select edit_key::text from sync.teams order by team_id');
    const [south, north] = keys.map(([key]) => String(key));
    await run(`update mirror.users set phone = '15550100' where team_id = 41`);
    await run(`select sync.approve('${batch}', team => 41)`);
    await run(`update mirror.users set phone = '15550101' where id = 99`);
    await run(`update mirror.users set phone = '15550101'`);
    await eventually('all are heard of', () => heard.has(south ?? ''));
    expect(heard).toEqual(
      new Map([
        [north, 3],
        [south, 1],
      ]),
    );
  });
});

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === '' ||
  (value instanceof Map || value instanceof Set
    ? value.size === 0
    : Array.isArray(value) && value.length === 0);

describe('a team beside a copy of the team', () => {
  const own = useDatabase();
  /** Gives the team a bit of everything. */
  const fill = async ({ db }: Pick<TestDatabase, 'db'>) => {
    await runSqlText(
      db,
      `insert into sync.teams (team, team_id) values ('north', 41);
       insert into sync.runs (team, team_id, command, outcome, groups, finished_at, requests, endpoints)
         select 'north', 41, 'reconcile', 'complete', '{users,listings,counts}', now() - interval '2 days', 1, '{"GET /v1/team": {"requests": 1, "ms": 1}}';
       insert into sync.due (team, run_group, complete_at, outcome) select 'north', g, now(), 'complete' from unnest('{users,listings,counts,edits}'::text[]) g;
       begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       insert into mirror.teams (team_id, name, list_size) values (41, 'Own', 300);
       insert into mirror.roles (team_id, role_id, name, members) values (41, 3, 'Own', 1), (41, 4, 'Own two', 1);
       insert into mirror.users (team_id, id, name, first_name, last_name, email, role_id, role, resolved)
         select 41, n, 'Own ' || n, 'Own', n::text, 'own' || n || '@example.com', 3, 'Own', true from generate_series(1, 3) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, email, role_id) select team_id, id, name, first_name, last_name, email, role_id from mirror.users where team_id = 41;
       insert into mirror.inboxes (team_id, id, name, members) values (41, 7, 'Own', '[1, 2]');
       insert into mirror.tags (team_id, id, tag) values (41, 5, 'Own');
       insert into mirror.contact_fields (team_id, id, title) values (41, 5, 'Own');
       insert into mirror.surveys (team_id, id, name) values (41, 5, 'Own');
       insert into mirror.contact_counts (team_id, segment, count, counted_at) values (41, 'all', 5, now() - interval '1 day'), (41, 'all', 6, now());
       commit`,
    );
    // In one statement, all of it would be of one moment.
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       update mirror.tags set color = 'red'; update mirror.roles set name = name || ' new';
       update mirror.users set role_id = 4 where team_id = 41 and id = 2; update mirror.users set gone_at = now() where team_id = 41 and id = 3;
       insert into mirror.tags (team_id, id, tag) values (41, 6, 'Own later');
       insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at) values (41, 'tags', 5, now(), 'aa', 'few', now());
       commit;
       begin; set local musterd.writing = 'on'; update mirror.tags set tag = 'Own, renamed' where id = 6; commit;
       insert into sync.absences (team_id, resource, id, missing_since, verdict, decided_at) values (41, 'users', 1, now(), 'approved', now());
       insert into sync.changes (team_id, user_id, kind, decision_id, decided_by) values (41, 1, 'approve', 6, 'Own');
       begin; set local musterd.actor = 'Own editor';
       update mirror.users set email = 'edited@example.com', phone = '15550100' where team_id = 41 and id = 1;
       commit;
       insert into sync.held_fields (team_id, user_id, field, reason, edit_id, batch)
         select team_id, user_id, field, 'review', edit_id, 'bb' from sync.edits where ended_at is null and field = 'email';
       insert into sync.changes (team_id, user_id, run_id, kind, decision_id, base, old, new, edits, decided_by)
         select e.team_id, e.user_id, 1, k, case k when 'approve' then 5 end, '{}', '{}', jsonb_build_object(e.field, e.new_value),
           jsonb_build_object(e.field, e.edit_id), 'Own'
         from sync.edits e, unnest('{approve,push}'::text[]) k where e.ended_at is null`,
    );
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       insert into mirror.users (team_id, id, name, first_name, phone, resolved) select 41, n, 'Own ' || n, 'Own', '1', true from generate_series(4, 6) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, phone) select team_id, id, name, first_name, last_name, phone from mirror.users where team_id = 41 and id > 3;
       insert into mirror.user_lookups (team_id, email) values (41, 'own@example.com');
       insert into mirror.roles (team_id, role_id, name, members) values (41, 5, 'Own late', 1);
       update mirror.roles set name = 'Own later' where team_id = 41 and role_id = 5;
       update mirror.teams set name = 'Own name' where team_id = 41;
       update mirror.tags set first_seen_at = now() - interval '5 days' where team_id = 41 and id = 5;
       update sync.user_base set older_since = now(), older_passes = 1 where team_id = 41 and id = 4;
       insert into sync.learned (team, topic, value) values ('north', 'rejected tags', '[{"reason": "Own"}]');
       commit;
       update mirror.users set phone = '15550105' where team_id = 41 and id = 5;
       insert into sync.held_fields (team_id, user_id, field, reason, detail, shown_value, edit_id)
         select team_id, user_id, field, 'conflict', 'Own', '"2"', edit_id from sync.edits where user_id = 5;
       insert into sync.changes (team_id, user_id, run_id, kind, state, old, new, outcome, batch, decision_id, decided_by, closed_at) values
         (41, 4, 1, 'push', 'closed', '{"phone": "1"}', '{"phone": "4"}', '{"phone": "ineffective"}', null, null, null, null),
         (41, 4, 1, 'push', 'open', '{"phone": "1"}', '{"phone": "4"}', '{}', null, null, null, null),
         (41, 5, 1, 'push', 'closed', '{"phone": "1"}', '{"phone": "5"}', '{"phone": "unanswered"}', null, null, null, null),
         (41, 6, 1, 'resolve', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', null, 5, 'Own', null),
         (41, 6, 1, 'pull', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', null, null, null, null),
         (41, 6, 1, 'approve', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', 'bb', null, 'Own', now());
       insert into sync.learned (team, topic, value, learned_at) values
         ('north', 'credential Own', '{}', now()), ('north', 'refusal told', '{}', now() - interval '2 days');
       insert into sync.changes (team_id, user_id, run_id, kind, new) values (41, 6, 2, 'push', '{"role_id": 3}');
       insert into sync.held_fields (team_id, user_id, field, reason, until) values (41, 4, 'role_id', 'conflict', '2100-01-01'),
         (41, 6, 'email', 'asked', '2100-01-01'), (41, 6, 'phone', 'limit', null);
       insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
         values ('north', gen_random_uuid(), 'Own', 1, 'Own', now(), now() + interval '1 hour');
       insert into sync.learned (team, topic, value, learned_at) values ('north', 'pace', 'true', now() + interval '1 hour');
       insert into sync.runs (team, team_id, command, outcome, error_code, groups, finished_at)
         values ('north', 41, 'daemon', 'failed', 'credentials', '{counts}', now()), ('north', 41, 'resync', 'complete', null, '{users}', now());
       update sync.due set schedule = '* * * * *', due_at = now() + case run_group when 'counts' then interval '1 hour' else '-1 hour' end,
         outcome = case run_group when 'counts' then 'failed' else outcome end where team = 'north'`,
    );
  };
  beforeAll(() => fill(own));

  const northern = {
    team: 'north',
    teamId: 41n,
    runId: 1n,
    batch: 'bb',
    users: [1n, 2n, 3n, 4n, 5n, 6n],
    email: 'own1@example.com',
  };

  /** Gives another team the same, under other names and with numbers of its own. */
  const copyOf = async (tx: Transaction, by: number) => {
    const ask = askIn(tx);
    await ask(`set local session_replication_role = replica`);
    const tables =
      await ask(`select c.oid::regclass::text as name, string_agg(quote_ident(a.attname), ', ') as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relnamespace::regnamespace::text in ('mirror', 'sync') and c.relkind = 'r' and c.relname <> 'team_roles'
        and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname in ('team_id', 'team')) group by c.oid`);
    for (const { name, columns } of tables)
      await ask(`
        insert into ${String(name)} (${String(columns)}) overriding system value
        select ${String(columns)} from (
          select (jsonb_populate_record(null::${String(name)}, t.row
            || coalesce((select jsonb_object_agg(k, case k when 'team' then '"south"' when 'team_id' then '40' when 'edit_key' then to_jsonb(gen_random_uuid()) when 'plan_key' then to_jsonb(gen_random_uuid()) else to_jsonb((t.row ->> k)::bigint + ${by}) end)
              from unnest('{team,team_id,edit_key,lookup_id,run_id,change_id,edit_id,decision_id}'::text[]) k where t.row ->> k is not null), '{}')
            || coalesce((select jsonb_build_object('edits', jsonb_object_agg(k.key, k.value::bigint + ${by}))
              from jsonb_each_text(nullif(t.row -> 'edits', 'null')) k having count(*) > 0), '{}')
            -- Of two periods, the later one counts.
            || coalesce((select jsonb_object_agg(k, (t.row ->> k)::timestamptz + interval '1 microsecond')
              from unnest('{valid_from,valid_to}'::text[]) k where t.row ? k), '{}'))).*
          from (select replace(to_jsonb(o)::text, 'Own', 'Other')::jsonb as row from ${String(name)} o) t
        ) s`);
    // And what only the other one has: other times, pushes under way, a hold.
    await ask(`
      insert into mirror.contact_counts (team_id, segment, counted_at, count)
        select 40, segment, counted_at + d, count + 1 from mirror.contact_counts, unnest('{-3 days,1 minute,3 days}'::interval[]) d where team_id = 41;
      insert into sync.runs (team, team_id, command, outcome, groups, finished_at)
        select 'south', 40, 'reconcile', 'complete', '{users,listings,counts}', now() - d from unnest('{9 days,1 day}'::interval[]) d;
      update mirror.roles set first_seen_at = first_seen_at - interval '5 days' where team_id = 40 and role_id = 3;
      insert into sync.changes (team_id, user_id, kind, state) select 40, id, 'push', 'open' from mirror.users where team_id = 41 on conflict do nothing;
      insert into sync.held_fields (team_id, user_id, field, reason, until) values (40, 1, 'phone', 'asked', '2100-01-01')`);
    await ask(`set local session_replication_role = origin`);
  };

  it.each([1_000_000, -1_000_000])('reads of the team ignore a copy with ids shifted by %i', async (by) => {
    await aside(own.db, async (tx) => {
      const ask = askIn(tx);
      const views = (
        await ask(`select format('report.%I', c.relname) as view from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'team_id'
          where c.relnamespace = 'report'::regnamespace order by 1`)
      ).map((row) => String(row['view']));
      const read = async () => {
        const shown: Record<string, unknown> = {};
        // What depends on the clock of the moment is not compared.
        for (const view of [
          ...views,
          'report.roster_as_of(now())',
          'sync.role_names',
          'mirror.inbox_members',
        ])
          shown[view] = await ask(
            `select to_jsonb(v) - '{age,age_seconds,late_by,overdue_for}'::text[] as row from ${view} v where team_id = 41 order by to_jsonb(v)::text`,
          );
        return { ...shown, ...(still(await readAllOf(own.db, tx, northern)) as object) };
      };
      const before = await read();
      expect(Object.entries(before).flatMap(([name, read]) => (isNothing(read) ? [name] : []))).toEqual([]);
      await copyOf(tx, by);
      expect(await read()).toEqual(before);
    });
  });

  it('each write for the team changes rows of the team, and no row of the copy', async () => {
    await aside(own.db, async (tx) => {
      const ask = askIn(tx);
      await copyOf(tx, 1_000_000);
      await ask(`set local musterd.writing = 'on'; set local musterd.run = '1'`);
      const tables = await ask(`select c.oid::regclass::text as name,
          case when min(a.attname) = 'team' then $$t.team in ('north', 'south')$$ else 't.team_id in (40, 41)' end as of_both,
          case when min(a.attname) = 'team' then $$case t.team when 'south' then 'theirs' else 'own' end$$ else $$case t.team_id when 40 then 'theirs' else 'own' end$$ end as whose
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname in ('team_id', 'team') and not a.attisdropped
        where c.relnamespace::regnamespace::text in ('mirror', 'sync') and c.relkind = 'r' and c.relname <> 'team_roles' group by c.oid order by 1`);
      /** A row that was written again has another `xmin`. */
      const rows = async () =>
        (
          await ask(
            `select whose, jsonb_agg(entry order by entry::text)::text as rows from (${tables
              .map(
                ({ name, of_both, whose }) =>
                  `select ${whose} as whose, jsonb_build_array('${name}', t.xmin::text, to_jsonb(t)) as entry from ${name} t where ${of_both}`,
              )
              .join(' union all ')}) r group by whose order by whose`,
          )
        ).map((row) => row['rows']);
      const [mine, theirs] = await rows();
      for (const [what, write] of Object.entries(writesOf(tx, northern))) {
        await ask('savepoint before');
        await write();
        const [after, others] = await rows();
        expect([what, others]).toEqual([what, theirs]);
        expect([what, after]).not.toEqual([what, mine]);
        await ask('rollback to savepoint before');
      }
    });
  });

  /** Makes of the other team what would decide otherwise wherever the one is asked about. */
  const turnAround = async (tx: Transaction) => {
    const ask = askIn(tx);
    await ask(`set local session_replication_role = replica`);
    await ask(`
      update sync.teams set four_eyes = true where team_id = 40;
      update sync.user_base set first_name = 'Other base', last_name = 'Other base', phone = '15550105',
        email = case when email is null and id <> 5 then 'base@example.com' end, role_id = case when role_id is null then 3 end where team_id = 40;
      update mirror.users set gone_at = case when gone_at is null then now() end where team_id = 40;
      update mirror.roles set gone_at = now() where team_id = 40;
      insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, edited_at, edited_by, authors)
        select '10', 40, u.id, f, '"Other"', case f when 'role_id' then '4' else '"Other new"' end::jsonb, now(), 'ben', '{ben}'
        from mirror.users u, unnest('{name,email,phone,role_id}'::text[]) f where u.team_id = 41 on conflict do nothing;
      insert into sync.held_fields (team_id, user_id, field, reason, batch, edit_id)
        select team_id, user_id, field, 'unsupported', 'bb', edit_id from sync.edits where team_id = 40 and ended_at is null
        on conflict (team_id, user_id, field) do update set reason = excluded.reason, batch = excluded.batch, decision = 'rejected';
      update sync.changes set new = case when user_id = 5 then '{"phone": "a"}' else '{"name": {}, "email": "a", "phone": "a", "role_id": 1, "tag": {"id": 77}}' end::jsonb,
        outcome = '{}', base = '{}' where team_id = 40 and kind = 'push' and state = 'open';
      update sync.user_periods set role_id = 5, role_arrived_at = 'infinity', valid_from = '2999-01-01' where team_id = 40 and user_id = 2 and valid_to = 'infinity';
      insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
        select 40, r, n, now(), 'aa', 'few', now() from unnest('{users,tags}'::text[]) r, generate_series(1, 9) n on conflict do nothing`);
    await ask(`
      insert into mirror.users (team_id, id, name, first_name, email, resolved) values (40, 77, 'Other', 'Other', 'user77@example.com', true);
      insert into sync.user_base (team_id, id, name, first_name, last_name) values (40, 78, 'Other', 'Other', '');
      insert into sync.changes (team_id, user_id, kind, new) select 40, n, 'pull', '{"name": {}, "email": "a", "phone": "a", "role_id": 1}'
        from unnest('{1,2,3,4,5,6,79}'::bigint[]) n`);
    await ask(`
      insert into sync.runs (run_id, team, team_id, command, outcome, groups, started_at, finished_at) overriding system value
        values (500, 'south', 40, 'daemon', 'complete', '{}', '2020-01-01', '2020-01-01'), (2000000, 'south', 40, 'daemon', 'complete', '{users}', '2999-01-01', '2999-01-01');
      insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, authors, ended_at, ended_how)
        values ('5', 40, 1, 'email', '2020-01-01', 'ben', '{ben}', '2020-01-01', 'agreed');
      insert into mirror.contact_counts (team_id, segment, count, counted_at)
        select 40, 'all', 1, timestamptz '2020-01-01T00:00Z' + n * interval '1 hour' from generate_series(1, 2) n`);
    // The rows that were written last come last: what takes any one takes the other's.
    for (const table of ['sync.user_base', 'mirror.users', 'sync.held_fields', 'sync.edits'])
      await ask(`update ${table} set team_id = team_id where team_id = 41`);
    await ask(`set local session_replication_role = origin`);
  };

  it('each command of the team has the same outcome with and without the copy', async () => {
    await aside(own.db, async (tx) => {
      const ask = askIn(tx);
      const outcomeOf = await outcomesIn(tx);
      const all = Object.entries(actsOf(own.db, tx, northern));
      await ask(`
        set local musterd.writing = off;
        update sync.due set mark = '7:9:8' where team = 'north';
        set local session_replication_role = replica;
        update mirror.users set phone = '15550166' where team_id = 41 and id = 6;
        set local session_replication_role = origin;
        update sync.held_fields h set base_value = to_jsonb(b.email), mirror_value = e.new_value, service_value = to_jsonb(b.email), shown_value = to_jsonb(b.email)
          from sync.user_base b, sync.edits e where b.id = h.user_id and h.batch = 'bb' and e.edit_id = h.edit_id`);
      const alone = new Map<string, unknown>();
      for (const [what, act] of all) alone.set(what, await outcomeOf(act));
      await copyOf(tx, 1_000_000);
      await ask(`update sync.edits set xid = '10' where team_id = 40`);
      for (const makeOther of [() => Promise.resolve(), () => turnAround(tx)]) {
        await makeOther();
        for (const [what, act] of all) expect([what, await outcomeOf(act)]).toEqual([what, alone.get(what)]);
      }
    });
  });

  it('every read of a team without changes returns the same after a team with many changes was added', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.close());
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on';
       insert into sync.teams (team, team_id) values ('calm', 40);
       insert into sync.runs (run_id, team, team_id, command, outcome, groups, finished_at) overriding system value
         values (0, 'calm', 40, 'reconcile', 'complete', '{users,listings,counts}', now());
       insert into mirror.teams (team_id, name) values (40, 'Calm');
       insert into mirror.users (team_id, id, name, first_name, role_id, role, resolved)
         select 40, n, 'Calm ' || n, 'Calm', n, 'Calm ' || n, true from generate_series(1, 6) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, role_id) select team_id, id, name, first_name, last_name, role_id from mirror.users;
       insert into sync.due (team, run_group, mark, outcome, started_at) values ('calm', 'edits', pg_current_snapshot(), 'complete', now());
       commit`,
    );
    // Somebody edited, and took it back.
    await runSqlText(database.db, `update mirror.users set email = 'calm@example.com' where id = 1`);
    await runSqlText(database.db, `update mirror.users set email = null where id = 1`);
    const read = async () =>
      still(
        await database.db.transaction((tx) =>
          readAllOf(database.db, tx, { ...northern, team: 'calm', teamId: 40n }),
        ),
      );
    const before = await read();
    await fill(database);
    expect(await read()).toEqual(before);
  });
});
