import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';

const batch = 'aaaaaaaaaaaa';
const users = `
  set local musterd.writing = 'on';
  insert into sync.user_base (team_id, id, name, first_name, last_name, email)
    select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com' from generate_series(1, 20) id;
  insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, resolved)
    select team_id, id, name, first_name, last_name, 'known', email, true from sync.user_base;`;
const hold = `
  insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch)
    select e.team_id, e.user_id, e.field, e.edit_id, 'limit', e.old_value, e.new_value, e.old_value, e.old_value, '${batch}'
    from sync.edits e where e.ended_at is null and not exists (select from sync.held_fields)`;
const decisions = ['approve', 'reject'] as const;

describe.each(servers())('what people write has a bound, on $name:', (server) => {
  let database: TestDatabase;
  let editor: Database;
  const role = `test_editor_${randomBytes(4).toString('hex')}`;
  const run = async (text: string) => (await runSqlText(database.db, text)).rows;
  const edit = (actor: string, to: string) =>
    runSqlText(
      editor,
      `begin; select set_config('musterd.actor', ${actor}, true);
       update mirror.users set email = '${to}' || id || '@example.com'; commit`,
    );
  beforeAll(async () => {
    database = await createTestDatabase({ server });
    await run(`insert into sync.teams (team, team_id) values ('north', 41);
      create role ${role} login password 'secret' in role musterd_editor`);
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'secret'];
    editor = createDatabase({ url: url.href });
  });
  beforeEach(async () => {
    await run(`set local musterd.writing = 'on';
      delete from mirror.users; delete from sync.user_base; delete from mirror.user_lookups;
      delete from sync.held_fields; delete from sync.changes; delete from sync.edits; delete from sync.user_periods; ${users}`);
  });
  afterAll(async () => {
    await editor.close();
    await run(`drop role ${role}`);
    await database.close();
  });

  /** Whether these edits are of whoever gives this name. */
  const isOwn = async (name: string) =>
    (
      await run(
        `select set_config('musterd.actor', ${name}, true); select bool_and(sync.is_own(authors)) from sync.edits where ended_at is null`,
      )
    ).flat();

  it('an editor who says 10 MB of a name leaves 200 characters of it, and is known by them', async () => {
    await edit(`'  Kim' || repeat('x', 10000000)`, 'new');
    expect(
      await run('select count(*)::int, max(length(actor)), max(length(authors::text)) < 500 from sync.edits'),
    ).toEqual([[20, 200, true]]);
    expect(await run('select distinct length(actor) from sync.user_periods where actor is not null')).toEqual(
      [[`${role} for `.length + 200]],
    );
    expect(await isOwn(`'KIM' || repeat('x', 5000)`)).toEqual([true]);
    expect(await isOwn(`'KIM' || repeat('x', 100)`)).toEqual([false]);
  });

  it('of many names the last ones stay with an edit, and that there were others', async () => {
    for (let n = 1; n <= 50; n += 1) await edit(`'person ${n}'`, `new${n}`);
    const [[most, nobody] = []] = await run(
      `select max(cardinality(authors)), bool_and('' = any (authors)) from sync.edits where ended_at is null`,
    );
    expect([Number(most) <= 32, nobody]).toEqual([true, true]);
    expect(
      await run(
        `select bool_and(authors @> array['person 50', 'person 49', '${role}']) from sync.edits where ended_at is null`,
      ),
    ).toEqual([[true]]);
    // Whoever may edit users may be one of the others.
    expect(await isOwn(`'person 1'`)).toEqual([true]);
  });

  it.each(decisions)(
    'to %s takes a reason of 1,000 characters, and says so of a longer one',
    async (decision) => {
      await edit(`'kim'`, 'new');
      await run(hold);
      const decide = (length: number) =>
        run(`select distinct outcome from sync.${decision}('${batch}', reason => repeat('x', ${length}))`);
      await expect(decide(1001)).rejects.toThrow('reason_has_at_most_1000_characters');
      expect(await decide(1000)).toEqual([[decision === 'approve' ? 'approved' : 'rejected']]);
    },
  );

  it.each([
    ['email', 320],
    ['phone', 40],
  ])('the %s of a lookup has at most %d characters', async (column, length) => {
    const insert = (more: number) =>
      runSqlText(
        editor,
        `insert into mirror.user_lookups (team_id, ${column}) values (41, repeat('1', ${length + more}))`,
      );
    await expect(insert(1)).rejects.toThrow(`${column}_has_at_most_${length}_characters`);
    await expect(insert(0)).resolves.toBeDefined();
  });

  it('every column for such a text has a constraint, and every function asks for whom by one', async () => {
    expect(
      await run(`
        select c.oid::regclass::text || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace in ('sync'::regnamespace, 'mirror'::regnamespace) and c.relkind = 'r'
          and (a.attname in ('actor', 'application', 'decided_by', 'decided_why')
            or c.relname = 'user_lookups' and a.attname in ('email', 'phone'))
          and not exists (
            select from pg_constraint k
            where k.conrelid = c.oid and k.contype = 'c' and k.convalidated and k.conkey = array[a.attnum]
              and pg_get_constraintdef(k.oid) like '%char_length(%<=%')`),
    ).toEqual([]);
    expect(
      await run(
        `select oid::regprocedure::text from pg_proc where prosrc like '%current_setting(''musterd.actor''%'`,
      ),
    ).toEqual([['sync.actor()']]);
  });
});

it('what is longer already is cut by the migration, and who had a longer name is nobody that is known', async () => {
  const database = await createTestDatabase({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  const run = async (text: string) => (await runSqlText(database.db, text)).rows;
  try {
    for (const name of readdirSync('migrations').filter((one) => one < '0065'))
      copyFileSync(join('migrations', name), join(folder, name));
    await migrate(database.db, { folder });
    await run(`${users}; set local musterd.writing = 'off'; set local musterd.actor = 'Kim${'x'.repeat(5000)}';
      update mirror.users set email = 'new' || id || '@example.com' where id = 1;
      insert into sync.edits (xid, team_id, user_id, field, edited_at, authors)
        select '9', 41, 2, 'email', now(), array_agg('person ' || n) from generate_series(1, 100) n;
      insert into sync.changes (team_id, user_id, kind, decided_by, decided_why) values (41, 1, 'reject', repeat('b', 5000), repeat('w', 5000));
      insert into sync.absences (team_id, resource, id, missing_since, decided_by, decided_why) values (41, 'tags', 1, now(), 'kim', repeat('w', 5000));
      insert into mirror.user_lookups (team_id, email) values (41, repeat('x', 321)), (41, repeat('x', 320));
      grant delete, truncate, references on mirror.user_lookups to public;
      ${hold}; update sync.held_fields set decided_why = repeat('w', 5000)`);
    await migrate(database.db);
    expect(
      await run(`select e.user_id, length(e.actor), cardinality(e.authors), '' = any (e.authors) as others, 'person 1' = any (e.authors) as first
        from sync.edits e order by 1`),
    ).toEqual([
      [1n, 200, 2, true, false],
      [2n, null, 32, true, true],
    ]);
    expect(
      await run(`select (select max(length(actor)) from sync.user_periods), (select length(decided_by) from sync.changes),
        array(select length(decided_why) from sync.changes union all select length(decided_why) from sync.absences), (select count(*)::int from mirror.user_lookups)`),
    ).toEqual([[300, 300, [1000, 1000], 1]]);
    expect(
      await run(`select a.privilege_type from pg_class c, aclexplode(c.relacl) a
        where c.oid = 'mirror.user_lookups'::regclass and a.grantee = 0`),
    ).toEqual([]);
    expect(
      await run(
        `select has_function_privilege('public', 'mirror.forget_lookups(bigint, text[])', 'execute')`,
      ),
    ).toEqual([[true]]);
  } finally {
    rmSync(folder, { recursive: true });
    await database.close();
  }
});
