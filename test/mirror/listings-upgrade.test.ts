/** What a mirror has of tags, contact fields and roles when it gets the tables for what became of them. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let folder: string;
const sql = async (text: string) => (await runSqlText(database.db, text)).rows;

/**
 * Two teams whose ids are the same. Of team 41: 1 and 2 have role 3 as "Worker", 3 has it as "Agent", 4 as well, by a held
 * edit that says nothing of the name; 5 has role 4, whose name is not known; 6 has left, 7 is unresolved, and of 8 nothing
 * was agreed on. Of team 42 user 1 alone, whose role is held.
 */
const before = `
  set local musterd.writing = 'on';
  insert into mirror.tags (team_id, id, tag, gone_at) values
    (41, 1, 'North', null), (41, 2, 'Old north', '2026-01-02Z'), (42, 1, 'South', '2026-01-04Z'), (42, 2, 'Young south', null);
  insert into mirror.contact_fields (team_id, id, title, gone_at) values
    (41, 1, 'Shoe', '2026-01-03Z'), (41, 2, 'Hat', null), (42, 1, 'Glove', null);
  insert into sync.user_base (team_id, id, name, first_name, last_name, role_id)
    select 41, id, 'Ana', 'Ana', '', case id when 5 then 4 else 3 end from generate_series(1, 7) id union all select 42, 1, 'Ana', 'Ana', '', 3;
  insert into mirror.users (team_id, id, name, role_id, role, resolved, gone_at)
    select 41, id, 'Ana', 3, case when id in (3, 4) then 'Agent' when id = 5 then '' else 'Worker' end, id <> 7,
      case id when 6 then now() end
    from generate_series(1, 8) id
    union all select 42, 1, 'Ana', 3, 'Seller', true, null;
  insert into sync.held_fields (team_id, user_id, field, reason) values
    (41, 4, 'role_id', 'limit'), (41, 1, 'email', 'conflict'), (42, 1, 'role_id', 'limit')`;

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  const all = readdirSync('migrations').filter((name) => name.endsWith('.sql'));
  const migrateTo = async (end: string) => {
    for (const name of all.filter((one) => one < end))
      copyFileSync(join('migrations', name), join(folder, name));
    await migrate(database.db, { folder });
  };
  await migrateTo('0035');
  await sql(`begin; ${before}; commit`);
  await migrateTo('9999');
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.close();
});

it('what was gone by then is in the ledger, since when it was', async () => {
  expect(
    await sql(`
      select team_id, resource, id, kind, old, new, to_char(changed_at at time zone 'UTC', 'MM-DD')
      from sync.listing_changes order by change_id`),
  ).toEqual([
    [41n, 'tags', 2n, 'gone', {}, {}, '01-02'],
    [41n, 'contact_fields', 1n, 'gone', {}, {}, '01-03'],
    [42n, 'tags', 1n, 'gone', {}, {}, '01-04'],
  ]);
  expect(
    await sql(
      `select team_id, resource, id, name from report.listing_history where kind = 'gone' order by changed_at`,
    ),
  ).toEqual([
    [41n, 'tags', 2n, 'Old north'],
    [41n, 'contact_fields', 1n, 'Shoe'],
    [42n, 'tags', 1n, 'South'],
  ]);
});

it('the roles are counted by what was agreed on, each with the name that most have of it', async () => {
  expect(
    await sql('select team_id, role_id, name, members, gone_at from mirror.roles order by team_id, role_id'),
  ).toEqual([
    [41n, 3n, 'Worker', 4n, null],
    [41n, 4n, null, 1n, null],
    [42n, 3n, null, 1n, null],
  ]);
});

it('from then on each row is compared with itself, and not with that of another team', async () => {
  await sql(`
    begin; set local musterd.writing = 'on';
    delete from sync.listing_changes;
    update mirror.tags set tag = case id when 1 then tag || ' end' else tag end;
    update mirror.contact_fields set title = 'Shoe', gone_at = null;
    update mirror.roles set name = 'Seller';
    commit`);
  expect(
    await sql(
      'select team_id, resource, id, kind, old, new from sync.listing_changes order by team_id, resource, id',
    ),
  ).toEqual([
    [41n, 'contact_fields', 1n, 'back', {}, {}],
    [41n, 'contact_fields', 2n, 'changed', { title: 'Hat' }, { title: 'Shoe' }],
    [41n, 'roles', 3n, 'changed', { name: 'Worker' }, { name: 'Seller' }],
    [41n, 'roles', 4n, 'changed', { name: null }, { name: 'Seller' }],
    [41n, 'tags', 1n, 'changed', { tag: 'North' }, { tag: 'North end' }],
    [42n, 'contact_fields', 1n, 'changed', { title: 'Glove' }, { title: 'Shoe' }],
    [42n, 'roles', 3n, 'changed', { name: null }, { name: 'Seller' }],
    [42n, 'tags', 1n, 'changed', { tag: 'South' }, { tag: 'South end' }],
  ]);
});
