import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { createDatabase } from '../../src/mirror/database.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { seeMessages } from '../support/postgres-proxy.ts';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.close();
});

const all = readdirSync('migrations').filter((name) => name.endsWith('.sql'));
const migrateTo = async (end: string) => {
  for (const name of all.filter((one) => one < end))
    copyFileSync(join('migrations', name), join(folder, name));
  await migrate(database.db, { folder });
};
const sql = async (text: string) => (await runSqlText(database.db, text)).rows;

test('what an earlier version wrote down as rejected is rejected still, and no other limit is', async () => {
  await migrateTo('0014');
  await sql(
    `insert into sync.held_fields (team_id, user_id, field, reason, detail) values
       (41, 1, 'email', 'brake', 'rejected: not these'), (41, 1, 'phone', 'brake', 'user 2 has the same phone')`,
  );
  await migrateTo('9999');
  expect(await sql('select field, reason, detail, decision from sync.held_fields order by field')).toEqual([
    ['email', 'limit', 'not these', 'rejected'],
    ['phone', 'limit', 'user 2 has the same phone', null],
  ]);
});

/** Users 1 to 12 with an edited email each; and, by user, what a stored plan has of it. */
const users = `
  set local musterd.writing = 'on';
  insert into sync.user_base (team_id, id, name, first_name, last_name, email)
    select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com' from generate_series(1, 12) id;
  insert into mirror.users (team_id, id, name, first_name, last_name, email, resolved, gone_at)
    select team_id, id, name, first_name, last_name, 'new' || id || '@example.com', true, case id when 8 then now() end
    from sync.user_base;
  insert into sync.runs (team, command) values ('default', 'reconcile')`;
const row = (id: number, to = `new${id}`, more: object = {}) => ({
  user_id: id,
  name: 'Anne Berg',
  base: { email: `old${id}@example.com` },
  patch: { email: `${to}@example.com` },
  ...more,
});
interface Plan {
  readonly state: 'refused' | 'kept' | 'approved' | 'superseded';
  readonly hash: string;
  readonly rows: readonly object[];
  readonly reasons?: string;
  readonly expires: string;
  readonly by?: string;
  readonly brakes?: boolean;
  readonly lacking?: string;
}
const insertPlan = (of: Plan) =>
  sql(`insert into sync.plans
    (team_id, run_id, hash, state, reasons, changes, expires_at, decided_at, decided_by, decided_why, passes_brakes, lacking)
    values (41, 1, '${of.hash}', '${of.state}', '{${of.reasons ?? ''}}', '${JSON.stringify(of.rows)}', ${of.expires},
      ${of.by === undefined ? 'null, null, null' : `now() - interval '1 hour', '${of.by}', 'why ${of.hash}'`},
      ${of.brakes === true}, '{${of.lacking ?? ''}}')`);
const [soon, over] = [`now() + interval '20 hours'`, `now() - interval '1 hour'`];
const held = (where: string) =>
  sql(
    `select user_id, reason, batch, decision, mirror_value, service_value from sync.held_fields where ${where} order by user_id`,
  );

test('plans, approvals and what was kept in mind are held fields from then on', async () => {
  await migrateTo('0020');
  await sql(users);
  await sql(`insert into sync.held_fields (team_id, user_id, field, reason, mirror_value, until) values
    (41, 3, 'email', 'asked', '"new3@example.com"', ${soon}), (41, 7, 'email', 'conflict', '"new7@example.com"', null),
    (41, 9, 'email', 'rejected', '"new9@example.com"', null), (41, 12, 'email', 'gone', '"new12@example.com"', null)`);
  const moved = { service: { email: 'web2@example.com' } };
  await insertPlan({
    state: 'refused',
    hash: 'aaaaaaaaaaaa',
    rows: [row(1), row(2, 'new2', moved), row(3), row(5, 'first5')],
    reasons: 'too many',
    expires: soon,
    lacking: 'phone',
  });
  await insertPlan({ state: 'kept', hash: '', rows: [row(7), row(8), row(12)], expires: `'infinity'` });
  // Partly used, edited since, over, and what was resolved field by field.
  await insertPlan({
    state: 'approved',
    hash: 'bbbbbbbbbbbb',
    rows: [row(4), row(6), row(5), row(10, 'other10')],
    expires: soon,
    by: 'anne',
  });
  await insertPlan({ state: 'approved', hash: 'cccccccccccc', rows: [row(10)], expires: over, by: 'berta' });
  await insertPlan({
    state: 'approved',
    hash: 'dddddddddddd',
    rows: [row(11)],
    reasons: 'resolved',
    expires: soon,
    by: 'carl',
    brakes: true,
  });
  await insertPlan({
    state: 'approved',
    hash: 'eeeeeeeeeeee',
    rows: [],
    expires: `'infinity'`,
    by: 'dora',
    lacking: 'role_id',
  });
  await insertPlan({ state: 'superseded', hash: 'ffffffffffff', rows: [row(1)], expires: over });
  await sql(`insert into sync.changes (team_id, user_id, run_id, kind, new, outcome)
    values (41, 6, 1, 'push', '{"email": "new6@example.com"}', '{"email": "confirmed"}')`);
  await migrateTo('9999');

  const value = (name: string) => `${name}@example.com`;
  expect(await held('user_id is not null')).toEqual([
    [1n, 'limit', 'aaaaaaaaaaaa', null, value('new1'), value('old1')],
    [2n, 'limit', 'aaaaaaaaaaaa', null, value('new2'), value('web2')],
    [3n, 'limit', 'aaaaaaaaaaaa', null, value('new3'), value('old3')],
    [4n, 'limit', 'bbbbbbbbbbbb', 'approved', value('new4'), value('old4')],
    // Approved with the value that it has now, refused with another.
    [5n, 'limit', 'bbbbbbbbbbbb', 'approved', value('new5'), value('old5')],
    [7n, 'conflict', 'aaaaaaaaaaaa', null, value('new7'), null],
    [8n, 'limit', 'aaaaaaaaaaaa', null, value('new8'), value('old8')],
    [9n, 'limit', null, 'rejected', value('new9'), null],
    [11n, 'limit', null, 'approved', value('new11'), value('old11')],
    [12n, 'gone', null, null, value('new12'), null],
  ]);
  expect(await sql('select user_id, reason from report.held where user_id in (3, 9) order by 1')).toEqual([
    [3n, 'asked'],
    [9n, 'rejected'],
  ]);
  expect(
    await sql(`select field, batch, decision, until from sync.held_fields where user_id is null order by 1`),
  ).toEqual([
    ['phone', 'aaaaaaaaaaaa', null, null],
    ['role_id', 'eeeeeeeeeeee', 'approved', null],
  ]);
  expect(
    await sql(`select new, batch, decided_by from sync.changes where kind = 'approve' and user_id is null`),
  ).toEqual([[{ role_id: null }, 'eeeeeeeeeeee', 'dora']]);
  expect(
    await sql(
      `select user_id, kind, new ->> 'email', decided_by from sync.changes
        where kind in ('approve', 'resolve') and user_id is not null order by user_id, 3`,
    ),
  ).toEqual([
    [4n, 'approve', value('new4'), 'anne'],
    [5n, 'approve', value('new5'), 'anne'],
    [6n, 'approve', value('new6'), 'anne'],
    [10n, 'approve', value('new10'), 'berta'],
    [10n, 'approve', value('other10'), 'anne'],
    [11n, 'resolve', value('new11'), 'carl'],
  ]);
  expect(await sql(`select coalesce(to_regclass('sync.plans'), to_regclass('sync.planned'))`)).toEqual([
    [null],
  ]);
  expect(await sql('select user_id, state from report.pending order by 1')).toEqual([
    [1n, 'refused'],
    [2n, 'refused'],
    [3n, 'held'],
    [4n, 'waiting'],
    [5n, 'waiting'],
    [6n, 'waiting'],
    [7n, 'held'],
    [8n, 'gone'],
    [9n, 'held'],
    [10n, 'waiting'],
    [11n, 'waiting'],
    [12n, 'held'],
  ]);
});

test('a batch takes in no value that was never in it, whatever else held the field', async () => {
  await migrateTo('0020');
  await sql(users);
  await sql(`insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, until) values
    (41, 1, 'email', 'asked', '"old1@example.com"', '"new1@example.com"', '"old1@example.com"', '"old1@example.com"', ${over}),
    (41, 2, 'email', 'brake', '"old2@example.com"', '"new2@example.com"', '"old2@example.com"', '"old2@example.com"', null)`);
  await insertPlan({
    state: 'refused',
    hash: 'aaaaaaaaaaaa',
    rows: [row(1, 'first1'), row(2, 'first2'), row(3)],
    expires: soon,
  });
  await migrateTo('9999');
  expect(await sql(`select user_id, outcome from sync.approve('aaaaaaaaaaaa') order by 1`)).toEqual([
    [1n, 'moved'],
    [3n, 'approved'],
  ]);
  expect(await sql('select user_id, batch, decision from sync.held_fields order by 1')).toEqual([
    [1n, 'aaaaaaaaaaaa', null],
    [2n, null, null],
    [3n, 'aaaaaaaaaaaa', 'approved'],
  ]);
});

test('rows of a name, of a phone that is cleared and of a role keep their values', async () => {
  await migrateTo('0020');
  await sql(users);
  await sql(
    `set local musterd.writing = 'on'; update mirror.users set phone = null, role_id = 9007199254740993, last_name = 'Borg' where id = 1`,
  );
  await sql(`insert into sync.plans (team_id, hash, changes, expires_at) values (41, 'aaaaaaaaaaaa', '[{"user_id": 1,
    "base": {"name": {"first": "Anne", "last": "Berg"}, "phone": "15550100", "role_id": 4},
    "service": {"phone": "15550100"},
    "patch": {"name": {"first": "Anne", "last": "Borg"}, "phone": null, "role_id": 9007199254740993}}]', ${soon})`);
  await migrateTo('9999');
  expect(
    await sql(
      'select field, base_value::text, mirror_value::text, service_value::text from sync.held_fields order by 1',
    ),
  ).toEqual([
    ['name', '{"last": "Berg", "first": "Anne"}', '{"last": "Borg", "first": "Anne"}', '"Anne Berg"'],
    ['phone', '"15550100"', null, '"15550100"'],
    ['role_id', '4', '9007199254740993', '4'],
  ]);
});

test('missing rows that wait, and what was said of others, stand with the missing rows from then on', async () => {
  await migrateTo('0023');
  await sql(`
    insert into sync.absences (team_id, resource, id, missing_since, verdict, verdict_scope, decided_at) values
      (41, 'users', 1, now(), null, null, null), (41, 'users', 2, now(), 'found', 'old', now()),
      (41, 'users', 3, now(), 'approved', 'now', now() - interval '59 minutes'), (41, 'users', 4, now(), 'left', null, now() - interval '59.7 minutes'),
      (41, 'users', 5, now(), null, null, null), (41, 'users', 6, now(), 'approved', 'now', now() - interval '119 minutes'), (41, 'tags', 1, now(), null, null, null), (42, 'users', 1, now(), null, null, null),
      (41, 'tags', 3, now(), 'approved', null, now() - interval '119 minutes')`);
  const decided = (hours: number, by: string) => `now() - interval '${hours} hours', '${by}', 'why ${by}'`;
  await sql(`
    insert into sync.withheld_absences (team_id, resource, hash, state, reason, ids, scope, made_at, decided_at, decided_by, decided_why) values
      (41, 'users', 'aaaaaaaaaaaa', 'waiting', 'too many', '{1,2,4,9}', 'now', now() - interval '5 hours', null, null, null),
      (41, 'users', 'bbbbbbbbbbbb', 'superseded', 'more', '{1,2,3,4,5}', 'now', now(), null, null, null),
      (41, 'users', 'bbbbbbbbbbbb', 'approved', 'more', '{3,6}', 'now', now(), ${decided(1, 'anne')}),
      (41, 'users', 'eeeeeeeeeeee', 'approved', 'of another', '{7}', 'now', now(), ${decided(0.99, 'dora')}),
      (41, 'users', 'cccccccccccc', 'approved', 'before', '{3,6,8}', 'now', now(), ${decided(2, 'berta')}),
      (41, 'tags', 'dddddddddddd', 'approved', 'tags', '{3}', null, now(), ${decided(2, 'carl')})`);
  await migrateTo('9999');
  const waiting = ['aaaaaaaaaaaa', 'too many', 'now', true];
  const nothing = [null, null, null, null];
  expect(
    await sql(`select team_id, resource, id, batch, detail, scope, withheld_at < now() - interval '4 hours',
        verdict, verdict_scope, decided_by, decided_why from sync.absences order by 1, 2, 3`),
  ).toEqual([
    [41n, 'tags', 1n, ...nothing, ...nothing],
    [41n, 'tags', 3n, ...nothing, 'approved', null, 'carl', 'why carl'],
    [41n, 'users', 1n, ...waiting, ...nothing],
    [41n, 'users', 2n, ...waiting, 'found', 'old', null, null],
    [41n, 'users', 3n, ...nothing, 'approved', 'now', 'anne', 'why anne'],
    [41n, 'users', 4n, ...waiting, 'left', null, 'anne', 'why anne'],
    [41n, 'users', 5n, ...nothing, ...nothing],
    // Approved twice, and it is the first of the two that it still has.
    [41n, 'users', 6n, ...nothing, 'approved', 'now', 'berta', 'why berta'],
    [42n, 'users', 1n, ...nothing, ...nothing],
  ]);
  expect(
    await sql('select user_id, kind, decided_by, decided_why from sync.changes order by change_id'),
  ).toEqual([
    [3n, 'approve', 'anne', 'why anne'],
    [6n, 'approve', 'anne', 'why anne'],
    [7n, 'approve', 'dora', 'why dora'],
    [3n, 'approve', 'berta', 'why berta'],
    [6n, 'approve', 'berta', 'why berta'],
    [8n, 'approve', 'berta', 'why berta'],
  ]);
  expect(await sql(`select to_regclass('sync.withheld_absences')`)).toEqual([[null]]);
});

/** Migrates to the end, and what Postgres says of it. */
async function migrateNoting(): Promise<readonly string[]> {
  const seen = await seeMessages(database.url, 'answers', (message) =>
    message.toString('latin1', 0, 1) === 'N' ? message.toString('utf8', 5) : undefined,
  );
  const db = createDatabase({ url: seen.url, applicationName: 'musterd test', maxConnections: 1 });
  try {
    for (const name of all) copyFileSync(join('migrations', name), join(folder, name));
    await migrate(db, { folder });
    return seen.take().flatMap((text) => /\d+ decisions were about [^\0]*/.exec(text)?.[0] ?? []);
  } finally {
    await db.close();
    await seen.close();
  }
}

/** Users 1 to 12 as both sides agreed on them, at the version before edits had an identity. */
const agreedUsers = `
  begin; set local musterd.writing = 'on';
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
    select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com', null, 2 from generate_series(1, 12) id;
  insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
    select team_id, id, name, first_name, last_name, 'known', email, phone, role_id, true from sync.user_base;
  commit`;
const editAs = (actor: string, text: string) =>
  sql(`begin; select set_config('musterd.actor', '${actor}', true); update mirror.users set ${text}; commit`);
const lastingEdits = () =>
  sql(`select user_id, field, old_value, new_value, actor, (select array_agg(a order by a) from unnest(authors) a where a <> session_user) from sync.edits
    where ended_at is null order by 1, 2`);

test('what was recorded by user becomes edits: of each field the last one lasts, if it is still one', async () => {
  await migrateTo('0061');
  await sql(agreedUsers);
  const mail = (name: string, id: number) => `email = '${name}${id}@example.com' where id = ${id}`;
  await editAs('Kim', mail('first', 1));
  await editAs('Lee', mail('second', 1));
  // Taken back, and edited again: who edited before that has no part in it.
  await editAs('Kim', mail('first', 2));
  await editAs('Kim', mail('old', 2));
  await editAs(' LEE  Ann ', mail('second', 2));
  await editAs('Kim', mail('first', 3));
  await editAs('Kim', mail('old', 3));
  await editAs('Kim', `phone = '15550104', last_name = 'Borg', role_id = 3 where id = 4`);
  await editAs('Kim', `name_split = 'guessed' where id = 5`);
  await editAs('Kim', mail('first', 6));
  // Past the triggers: another value, one without any record, and one that the service has by now.
  await sql(`begin; set local musterd.writing = 'on'; update mirror.users set ${mail('unheard', 6)};
    update mirror.users set ${mail('unheard', 7)}; commit`);
  await editAs('Kim', mail('sent', 8));
  await sql(`update sync.user_base set email = 'sent8@example.com' where id = 8`);
  await migrateTo('9999');
  expect(await lastingEdits()).toEqual([
    [1n, 'email', 'first1@example.com', 'second1@example.com', 'Lee', ['kim', 'lee']],
    [2n, 'email', 'old2@example.com', 'second2@example.com', ' LEE  Ann ', ['lee ann']],
    [4n, 'name', { first: 'Anne', last: 'Berg' }, { first: 'Anne', last: 'Borg' }, 'Kim', ['kim']],
    [4n, 'phone', null, '15550104', 'Kim', ['kim']],
    [4n, 'role_id', 2, 3, 'Kim', ['kim']],
    [6n, 'email', 'old6@example.com', 'unheard6@example.com', null, ['']],
    [7n, 'email', 'old7@example.com', 'unheard7@example.com', null, ['']],
  ]);
  expect(
    await sql(`select user_id, field, new_value, ended_how, ended_at = edited_at from sync.edits
      where ended_at is not null order by edit_id`),
  ).toEqual([
    [1n, 'email', 'first1@example.com', 'replaced', true],
    [2n, 'email', 'first2@example.com', 'replaced', true],
    [2n, 'email', 'old2@example.com', 'replaced', true],
    [3n, 'email', 'first3@example.com', 'replaced', true],
    [3n, 'email', 'old3@example.com', 'replaced', true],
    [5n, 'name_split', 'guessed', 'replaced', true],
    [6n, 'email', 'first6@example.com', 'replaced', true],
    [8n, 'email', 'sent8@example.com', 'replaced', true],
  ]);
  // From then on they are edits like any other.
  await editAs('Pat', mail('third', 1));
  await editAs('Pat', mail('old', 2));
  expect((await lastingEdits()).slice(0, 2)).toEqual([
    [1n, 'email', 'second1@example.com', 'third1@example.com', 'Pat', ['kim', 'lee', 'pat']],
    [4n, 'name', { first: 'Anne', last: 'Berg' }, { first: 'Anne', last: 'Borg' }, 'Kim', ['kim']],
  ]);
});

test('decisions that are about an edit stay without an end, and others are undecided again, with a word', async () => {
  await migrateTo('0061');
  await sql(agreedUsers);
  await sql(`update mirror.users set email = 'new' || id || '@example.com'`);
  await sql(`insert into sync.held_fields (team_id, user_id, field, reason, mirror_value, batch, decision, until, decided_by) values
    (41, 1, 'email', 'limit', '"new1@example.com"', 'aaaaaaaaaaaa', 'approved', ${soon}, 'anne'),
    (41, 2, 'email', 'limit', '"new2@example.com"', null, 'resolved', ${soon}, 'anne'),
    (41, 3, 'email', 'limit', '"new3@example.com"', 'aaaaaaaaaaaa', 'approved', ${over}, 'anne'),
    (41, 4, 'email', 'limit', '"other4@example.com"', 'aaaaaaaaaaaa', 'approved', ${soon}, 'anne'),
    (41, 5, 'phone', 'limit', '"15550105"', 'aaaaaaaaaaaa', 'approved', ${soon}, 'anne'),
    (41, 6, 'email', 'limit', '"new6@example.com"', 'aaaaaaaaaaaa', null, null, null),
    (41, 7, 'email', 'asked', '"new7@example.com"', null, null, '2999-01-01', null),
    (41, 8, 'email', 'rejected', '"new8@example.com"', null, null, null, 'anne'),
    (41, 9, 'email', 'rejected', '"other9@example.com"', null, null, null, 'anne'),
    (41, null, 'phone', 'limit', null, 'bbbbbbbbbbbb', 'approved', 'infinity', 'anne')`);
  await sql(`insert into sync.teams (team, team_id) values ('north', 41);
    update sync.held_fields set told_at = '2026-01-02' where user_id = 6; update sync.held_fields set decided_at = '2026-01-01' where user_id = 8;
    insert into sync.changes (team_id, user_id, kind, new, decided_by) values (41, 9, 'reject', '{"email": "other9@example.com"}', 'berta')`);
  expect(await migrateNoting()).toEqual([
    '2 decisions were about values that are no edits any more: these fields are undecided again',
  ]);
  expect(
    await sql(`select h.user_id, h.reason, h.batch, h.decision, h.until::date::text, h.edit_id = e.edit_id from sync.held_fields h
      left join sync.edits e on e.user_id = h.user_id and e.field = h.field and e.ended_at is null order by 1`),
  ).toEqual([
    [1n, 'limit', 'aaaaaaaaaaaa', 'approved', null, true],
    [2n, 'limit', null, 'approved', null, true],
    // Its day was over.
    [3n, 'limit', 'aaaaaaaaaaaa', null, null, true],
    [4n, 'limit', 'aaaaaaaaaaaa', null, null, null],
    [5n, 'limit', 'aaaaaaaaaaaa', null, null, null],
    [6n, 'limit', 'aaaaaaaaaaaa', null, null, true],
    [7n, 'asked', null, null, '2999-01-01', true],
    [8n, 'limit', null, 'rejected', null, true],
    [9n, 'limit', null, 'rejected', null, null],
    [null, 'limit', 'bbbbbbbbbbbb', 'approved', null, null],
  ]);
  // Who rejected it, where the ledger did not know, and when people were told.
  expect(
    await sql(
      `select user_id, decided_by, decided_at::date::text from report.held where decided_by is not null`,
    ),
  ).toEqual([[8n, 'anne', '2026-01-01']]);
  expect(await sql(`select learned_at::date::text from sync.learned where topic = 'refusal told'`)).toEqual([
    ['2026-01-02'],
  ]);
});

test('nothing is said where every decision is about an edit', async () => {
  await migrateTo('0061');
  await sql(agreedUsers);
  await sql(`update mirror.users set email = 'new' || id || '@example.com'`);
  await sql(`insert into sync.held_fields (team_id, user_id, field, reason, mirror_value, decision, until)
    values (41, 1, 'email', 'limit', '"new1@example.com"', 'approved', ${soon})`);
  expect(await migrateNoting()).toEqual([]);
});

test('a push that is under way is of the edits that it carries, and whoever might decide still may', async () => {
  await migrateTo('0061');
  await sql(agreedUsers);
  await sql(
    `update mirror.users set email = 'new' || id || '@example.com', phone = '1555010' || id where id < 4`,
  );
  await sql(`insert into sync.changes (team_id, user_id, kind, state, new) values
    (41, 1, 'push', 'open', '{"email": "new1@example.com", "phone": "15550101"}'),
    (41, 2, 'push', 'open', '{"email": "other2@example.com", "phone": "15550102"}'),
    (41, 3, 'push', 'closed', '{"email": "new3@example.com"}')`);
  await sql(`create role test_decider nologin;
    grant execute on function sync.approve(text, bigint[], text, bigint) to test_decider`);
  try {
    await migrateTo('9999');
    const decide = [
      'sync.approve(text, bigint[], text, bigint, bigint[])',
      'sync.reject(text, bigint[], text, boolean, bigint, bigint[])',
    ];
    for (const signature of decide)
      expect(
        await sql(`select has_function_privilege('test_decider', '${signature}', 'execute') as test_decider,
          has_function_privilege('musterd_approver', '${signature}', 'execute') as approver,
          has_function_privilege('musterd_editor', '${signature}', 'execute') as editor`),
      ).toEqual([[true, true, false]]);
    expect(
      await sql(`select c.user_id, f.key, f.value = to_jsonb(e.edit_id) from sync.changes c
        cross join lateral jsonb_each(c.edits) f
        join sync.edits e on e.user_id = c.user_id and e.field = f.key and e.ended_at is null order by 1, 2`),
    ).toEqual([
      [1n, 'email', true],
      [1n, 'phone', true],
      [2n, 'phone', true],
    ]);
  } finally {
    await sql('drop owned by test_decider; drop role test_decider');
  }
});
