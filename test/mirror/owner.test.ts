import { CompiledQuery } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { oldestServer } from '../support/servers.ts';
import { aside, useDatabase } from '../support/use-database.ts';

/** O4 O5: privileges do not bind the owner of the tables, nor a superuser; the triggers do. */
describe('the owner of the tables', () => {
  const database = useDatabase({ server: oldestServer() });
  const { rows: sql } = database;
  beforeAll(() =>
    database.force(`
      insert into mirror.teams (team_id, name) values (41, 'North');
      insert into mirror.users (team_id, id, name, first_name, resolved, user_updated_at)
        select 41, n, 'Ana', 'Ana', true, now() from generate_series(1, 5) n;
      insert into mirror.tags (team_id, id, tag) values (41, 1, 'VIP');
      insert into mirror.contact_fields (team_id, id, title) values (41, 1, 'Size');
      insert into mirror.contact_counts (team_id, segment, counted_at, count) values (41, 'all', now(), 7)`),
  );

  const tables = ['users', 'tags', 'contact_fields', 'teams', 'contact_counts'];
  /** Every row of the mirror, and the transaction that wrote it. */
  const dump = () =>
    sql(
      tables.map((table) => `select t.xmin::text, t::text from mirror.${table} t`).join(' union all ') +
        ' order by 2',
    );

  it('the role of these tests owns every table of the mirror', async () => {
    expect(
      await sql(`select distinct tableowner = current_user from pg_tables where schemaname = 'mirror'`),
    ).toEqual([[true]]);
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
  ])('the owner gets an error for an update of users that sets %s (O5)', async (setting) => {
    const before = await dump();
    await expect(sql(`update mirror.users set ${setting}`)).rejects.toThrow(
      'Only first_name, last_name, name_split, email, phone and role_id of mirror.users can be edited',
    );
    expect(await dump()).toEqual(before);
  });

  it.each([
    [`insert into mirror.tags (team_id, id, tag) values (41, 5, 'mine')`, 'musterd tag create makes a tag'],
    [`update mirror.tags set tag = 'mine'`, 'UPDATE on mirror.tags is not possible'],
    ['delete from mirror.tags', 'DELETE on mirror.tags is not possible'],
  ])('the statement %s of the owner fails with an error and a hint', async (statement, words) => {
    const before = await dump();
    await expect(sql(statement)).rejects.toThrow(words);
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
  ])('the owner gets an error for %s (O4, O5)', async (statement) => {
    const before = await dump();
    await expect(sql(statement)).rejects.toThrow('is not possible: the service gives no way to do the same');
    expect(await dump()).toEqual(before);
  });

  it('the owner can edit fields that reach the service, like any editor', async () => {
    await sql(`update mirror.users set email = 'x' || id || '@example.com'`);
    expect(await sql(`select count(*) from mirror.users where email like 'x%'`)).toEqual([[5n]]);
  });

  it.each([
    [
      `update mirror.users set name = 'X'`,
      'Only first_name, last_name, name_split, email',
      'set first_name and last_name',
    ],
    [
      `insert into mirror.users (team_id, id, name, phone) select team_id, id, name, '15550100' from mirror.users
       on conflict (team_id, id) do update set phone = excluded.phone`,
      'INSERT on mirror.users is not possible',
      'update mirror.users set',
    ],
  ])('the statement %s of an editor fails with an error and a hint', async (statement, words, hint) => {
    const attempt = aside(database.db, async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(`set local role musterd_editor; ${statement}`));
    });
    await expect(attempt).rejects.toMatchObject({
      message: expect.stringContaining(words) as string,
      hint: expect.stringContaining(hint) as string,
    });
  });
});
