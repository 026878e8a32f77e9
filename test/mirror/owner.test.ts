import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

/** O4 O5: privileges do not bind the owner of the tables, nor a superuser; the triggers do. */
describe.each(servers())('the owner of the tables on $name', (server) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ server, emulator: { users: 5, tags: 2, fields: 1 } });
    await stage.run();
  });
  afterAll(() => stage.close());

  const tables = ['users', 'tags', 'contact_fields', 'teams', 'contact_counts'];
  /** Every row of the mirror, and the transaction that wrote it. */
  const dump = () =>
    stage.sql(
      tables.map((table) => `select t.xmin::text, t::text from mirror.${table} t`).join(' union all ') +
        ' order by 2',
    );

  it('the owner of the tables owns all of them', async () => {
    const { rows } = await runSqlText(
      stage.db,
      `select distinct tableowner = current_user from pg_tables where schemaname = 'mirror'`,
    );
    expect(rows).toEqual([[true]]);
  });

  it.each([
    'team_id = team_id + 1',
    'id = id + 1000000',
    `name = 'Somebody Else'`,
    `role = 'another'`,
    'created_at = now()',
    'updated_at = now()',
    'user_created_at = now()',
    'user_updated_at = null',
    'resolved = not resolved',
    'gone_at = now()',
    `raw = '{"a": 1}'`,
    `first_name = 'Robin', name = 'Robin'`,
  ])('the owner gets an error for an update of users that sets %s', async (setting) => {
    const before = await dump();
    await expect(stage.sql(`update mirror.users set ${setting}`)).rejects.toThrow(
      'Only first_name, last_name, name_split, email, phone and role_id of mirror.users can be edited',
    );
    expect(await dump()).toEqual(before);
  });

  it.each([
    [`insert into mirror.tags (team_id, id, tag) values (41, 5, 'mine')`, 'musterd tag create makes a tag'],
    [`update mirror.tags set tag = 'mine'`, 'UPDATE on mirror.tags is not possible'],
    ['delete from mirror.tags', 'DELETE on mirror.tags is not possible'],
  ])('the owner gets an error with advice for %s', async (statement, words) => {
    const before = await dump();
    await expect(stage.sql(statement)).rejects.toThrow(words);
    expect(await dump()).toEqual(before);
  });

  it.each([
    'insert into mirror.users (team_id, id, resolved) values (41, 5, true)',
    'delete from mirror.users',
    'truncate mirror.users',
    'truncate mirror.tags cascade',
    `insert into mirror.contact_fields (team_id, id, title) values (41, 5, 'mine')`,
    `update mirror.contact_fields set title = 'mine'`,
    'delete from mirror.contact_fields',
    'truncate mirror.contact_fields',
    `insert into mirror.teams (team_id, name) values (5, 'mine')`,
    `update mirror.teams set name = 'mine'`,
    'delete from mirror.teams',
    'truncate mirror.teams',
    `insert into mirror.contact_counts (team_id, segment, counted_at, count) values (41, 'mine', now(), 1)`,
    'update mirror.contact_counts set count = 1',
    'delete from mirror.contact_counts',
    'truncate mirror.contact_counts',
  ])('the owner gets an error for %s', async (statement) => {
    const before = await dump();
    await expect(stage.sql(statement)).rejects.toThrow(
      'is not possible: the service gives no way to do the same',
    );
    expect(await dump()).toEqual(before);
  });

  it('the owner can edit fields that reach the service, like any editor', async () => {
    await stage.sql(`update mirror.users set email = 'x' || id || '@example.com'`);
    expect(await stage.sql(`select count(*) from mirror.users where email like 'x%'`)).toEqual([['5']]);
  });
});
