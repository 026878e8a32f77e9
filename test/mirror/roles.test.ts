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
});
