import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/mirror/db/database.ts';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { oldestServer } from '../support/servers.ts';
import { connectAs, useDatabase } from '../support/use-database.ts';

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
const halves = ['email', 'first_name', 'last_name', 'name', 'name_split', 'phone'];
const lookups = ['email', 'phone'].map((column) => `insert mirror.user_lookups.${column}`);
/** What has no fixed length and people may write. */
const writable: Readonly<Record<string, readonly string[]>> = {
  musterd_editor: [
    ...lookups,
    ...halves.flatMap((column) => [`insert mirror.users.${column}`, `update mirror.users.${column}`]),
  ],
};
const decisions = ['approve', 'reject'] as const;

describe.each([oldestServer()])('limits on text that people write, on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  let editor: Database;
  const role = `test_editor_${randomBytes(4).toString('hex')}`;
  const edit = (actor: string, to: string) =>
    runSqlText(
      editor,
      `begin; select set_config('musterd.actor', ${actor}, true);
       update mirror.users set email = '${to}' || id || '@example.com'; commit`,
    );
  beforeAll(async () => {
    await run(`insert into sync.teams (team, team_id) values ('north', 41);
      create role ${role} login password 'secret' in role musterd_editor`);
    editor = connectAs(database.url, role);
  });
  beforeEach(() =>
    run(`set local musterd.writing = 'on';
      delete from mirror.users; delete from sync.user_base; delete from mirror.user_lookups;
      delete from sync.held_fields; delete from sync.changes; delete from sync.edits; delete from sync.user_periods; ${users}`),
  );
  afterAll(async () => {
    await editor.close();
    await run(`drop role ${role}`);
  });

  /** Whether these edits are of whoever gives this name. */
  const isOwn = async (name: string) =>
    (
      await run(
        `select set_config('musterd.actor', ${name}, true); select bool_and(sync.is_own(authors)) from sync.edits where ended_at is null`,
      )
    ).flat();

  it('musterd cuts an author name of 10 MB to 200 characters, and still recognizes the author', async () => {
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

  it('musterd stores at most 32 author names of an edit, and replaces the earliest names by an unknown author', async () => {
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

  it.each(decisions)('sync.%s accepts a reason of at most 1,000 characters', async (decision) => {
    await edit(`'kim'`, 'new');
    await run(hold);
    const decide = (length: number) =>
      run(`select distinct outcome from sync.${decision}('${batch}', reason => repeat('x', ${length}))`);
    await expect(decide(1001)).rejects.toThrow('reason_has_at_most_1000_characters');
    expect(await decide(1000)).toEqual([[decision === 'approve' ? 'approved' : 'rejected']]);
  });

  it.each([
    ['email', 320],
    ['phone', 40],
  ])('mirror.user_lookups limits the %s to %d characters', async (column, length) => {
    const insert = (more: number) =>
      runSqlText(
        editor,
        `insert into mirror.user_lookups (team_id, ${column}) values (41, repeat('1', ${length + more}))`,
      );
    await expect(insert(1)).rejects.toThrow(`${column}_has_at_most_${length}_characters`);
    await expect(insert(0)).resolves.toBeDefined();
  });

  it.each(rolesForPeople)('each column that %s may write refuses 100,000 characters', async (role) => {
    const columns = (await run(`
      select c.oid::regclass::text, a.attname::text, v.way, case
          when t.typcategory = 'A' then format('array_fill(null::%s, array[100000])', t.typelem::regtype)
          when t.typname like 'json%' then format('to_jsonb(repeat(''1'', 100000))::%I', t.typname)
          else format('repeat(''1'', 100000)::%s', t.oid::regtype) end
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid cross join (values ('insert'), ('update')) v (way)
      where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and t.typlen = -1 and has_column_privilege('${role}', c.oid, a.attnum, v.way)
      order by 1, 2, 3`)) as readonly (readonly [string, string, string, string])[];
    const places = columns.map(([place, column, way]) => `${way} ${place}.${column}`);
    expect(places).toEqual(writable[role] ?? []);
    for (const [place, column, way, value] of columns) {
      const statement =
        way === 'insert'
          ? `insert into ${place} (team_id, ${column}) values (41, ${value})`
          : `update ${place} set ${column} = ${value}`;
      await expect(run(`set local role ${role}; ${statement}`)).rejects.toThrow(
        /is longer than \d+ characters|_has_at_most_\d+_characters|is not a phone number|violates check constraint|^INSERT on mirror.users is not possible|can be edited$/,
      );
    }
  });

  it('musterd lets people insert only into mirror.user_lookups and mirror.users', async () => {
    const places = await run(`
      select distinct c.oid::regclass::text from pg_class c, unnest('{${rolesForPeople.join()}}'::text[]) role
      where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and has_any_column_privilege(role, c.oid, 'insert')`);
    // lookups.test.ts adds more than that takes; mirror.users refuses each row.
    expect(places).toEqual([['mirror.user_lookups'], ['mirror.users']]);
  });

  it('musterd limits the length of every column for a name or a reason, and only sync.actor() reads musterd.actor (S49)', async () => {
    expect(
      await run(`
        select c.oid::regclass::text || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace in ('sync'::regnamespace, 'mirror'::regnamespace) and c.relkind = 'r'
          and (a.attname in ('actor', 'application', 'asked_by', 'asked_why', 'decided_by', 'decided_why')
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
