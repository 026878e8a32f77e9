import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

describe.each(servers())('the roles for people on $name', (server) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ server, emulator: { users: 5, tags: 2, fields: 1 } });
    await stage.run();
  });
  afterAll(() => stage.close());

  /** Runs a statement as that role, in a transaction that is rolled back. */
  const as = (role: string, statement: string) =>
    runSqlText(stage.db, `begin; set local role ${role}; ${statement}; rollback`);

  it.each([
    ['musterd_reader', 'select * from mirror.users'],
    ['musterd_reader', 'select * from report.pending'],
    ['musterd_reader', 'select * from report.held'],
    ['musterd_editor', 'select * from report.changes'],
    ['musterd_editor', `update mirror.users set first_name = 'Robin', email = 'x' || id || '@example.com'`],
    ['musterd_editor', `insert into mirror.user_lookups (team_id, email) values (41, 'a@example.com')`],
    ['musterd_editor', `select mirror.forget_lookups(41, '{a@example.com}')`],
    ['musterd_reader', 'select team_id, email, phone, added_at from mirror.user_lookups'],
    ['musterd_role_editor', 'update mirror.users set role_id = 1'],
    ['musterd_role_editor', 'select * from report.roster'],
  ])('%s may %s', async (role, statement) => {
    await expect(as(role, statement)).resolves.toBeDefined();
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
  ])('tell an editor what to write in place of %s', async (statement, words, hint) => {
    await expect(as('musterd_editor', statement)).rejects.toMatchObject({
      message: expect.stringContaining(words) as string,
      hint: expect.stringContaining(hint) as string,
    });
    await runSqlText(stage.db, 'rollback').catch(() => {});
  });

  it.each([
    ['musterd_reader', `update mirror.users set first_name = 'Robin'`],
    ['musterd_reader', 'select edit_key from sync.teams'],
    ['musterd_editor', 'update sync.user_base set email = null'],
    ['musterd_editor', 'delete from sync.changes'],
    ['musterd_editor', 'update mirror.users set gone_at = null'],
    ['musterd_editor', `update mirror.tags set tag = 'x'`],
    ['musterd_editor', 'truncate mirror.users'],
    ['musterd_editor', 'delete from mirror.users'],
    ['musterd_editor', 'update mirror.users set role_id = 1'],
    ['musterd_editor', `update mirror.users set phone = '15550100', role_id = 1`],
    ['musterd_role_editor', `update mirror.users set phone = '15550100'`],
    ['musterd_role_editor', `insert into mirror.user_lookups (team_id, email) values (41, 'a@example.com')`],
    ['musterd_reader', 'select lookup_id from mirror.user_lookups'],
    ['musterd_editor', 'delete from mirror.user_lookups'],
    ['musterd_reader', `select mirror.forget_lookups(41, '{a@example.com}')`],
    [
      'musterd_editor',
      `insert into mirror.user_lookups (lookup_id, team_id, email) overriding system value values (1, 41, 'a@example.com')`,
    ],
    ['musterd_editor', `insert into mirror.user_lookups (team_id, email, added_at) values (41, 'a', now())`],
  ])('%s may not %s', async (role, statement) => {
    await expect(as(role, statement)).rejects.toThrow(/permission denied/);
    await runSqlText(stage.db, 'rollback').catch(() => {});
  });
});
