import { randomBytes } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

/** Anybody can say musterd.writing; whom the triggers believe it is another matter. */
describe.each(servers())('the setting musterd.writing on $name', (server) => {
  const suffix = randomBytes(4).toString('hex');
  const [editor, bypassing, daemon] = [
    `test_editor_${suffix}`,
    `test_bypass_${suffix}`,
    `test_daemon_${suffix}`,
  ];
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ server, emulator: { users: 5, tags: 2, fields: 1 } });
    await stage.run();
    await stage.sql(
      `create role ${editor} in role musterd_editor; create role ${bypassing} bypassrls in role musterd_editor;
       create role ${daemon}; grant usage on schema mirror, sync to ${daemon};
       grant select, insert, update, delete on all tables in schema mirror, sync to ${daemon}`,
    );
  });
  afterAll(async () => {
    await stage.close();
    const admin = createDatabase({ url: server.url });
    await runSqlText(admin, `drop role ${editor}, ${bypassing}, ${daemon}`);
    await admin.close();
  });

  /** What a statement of that role answers, in a transaction that says that it is musterd's. */
  const as = (role: string, text: string, before = 'select') =>
    stage.db.transaction(async (tx) => {
      await tx.executeQuery(
        CompiledQuery.raw(`${before}; set local role ${role}; set local musterd.writing = 'on'`),
      );
      const { rows } = await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text));
      return rows.map((row) => Object.values(row).map(String));
    });
  const grants = `grant insert, update, delete on all tables in schema mirror to ${editor}, ${bypassing}`;
  const rowSecurityOff = `${grants}; alter table mirror.users disable row level security; alter table mirror.tags disable row level security`;

  const tries = [
    { who: 'an editor', role: editor, before: grants },
    { who: 'an editor who bypasses row-level security', role: bypassing, before: grants },
    { who: 'an editor while row-level security is off', role: editor, before: rowSecurityOff },
  ];
  it.each(tries)('does not lift the checks of the triggers for $who', async ({ role, before }) => {
    const edit = (setting: string) => as(role, `update mirror.users set ${setting}`, before);
    await expect(edit(`phone = 'mine'`)).rejects.toThrow('not a phone number');
    await expect(edit(`email = ''`)).rejects.toThrow('cannot be emptied');
    await expect(edit(`raw = '{}', gone_at = now()`)).rejects.toThrow('can be edited');
    await expect(edit(`phone = set_config('musterd.writing', 'on', true)`)).rejects.toThrow('not a phone');
    for (const statement of [
      'delete from mirror.users',
      `insert into mirror.users (team_id, id, resolved) values (41, 5, true)`,
      'delete from mirror.contact_fields',
      'delete from mirror.contact_counts',
      `update mirror.teams set name = 'mine'`,
      `update mirror.tags set tag = 'mine'`,
      `insert into mirror.tags (team_id, id, tag) values (41, 5, 'mine')`,
    ])
      await expect(as(role, statement, before)).rejects.toThrow('is not possible');
    const stamp = await as(
      role,
      `update mirror.users set phone = '15550177', edited_by = 'somebody else', edited_at = 'infinity'
       returning edited_by = session_user and edited_at < 'infinity'`,
      before,
    );
    expect(stamp.flat()).toContain('true');
    expect(stamp.flat()).not.toContain('false');
    expect(await stage.sql(`select from sync.edits where new_value = '"15550177"' limit 1`)).toHaveLength(1);
    await stage.sql(`revoke insert, update, delete on all tables in schema mirror from ${editor}, ${bypassing};
      alter table mirror.users enable row level security; alter table mirror.tags enable row level security`);
  });

  it.each(['the owner', 'a daemon of its own role'])('lifts the triggers’ checks for %s', async (who) => {
    const role = who === 'the owner' ? 'none' : daemon;
    const text = `update mirror.users set phone = 'as the service says', raw = '{"a": 1}' where id = (select min(id) from mirror.users) returning phone`;
    const answer = stage.db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(`set local role ${role}; set local musterd.writing = 'on'`));
      const { rows } = await tx.executeQuery<{ phone: string }>(CompiledQuery.raw(text));
      await tx.executeQuery(
        CompiledQuery.raw(`insert into mirror.tags (team_id, id) values (41, ${who.length})`),
      );
      return rows;
    });
    expect(await answer).toEqual([{ phone: 'as the service says' }]);
  });

  it('an editor has no right to execute a trigger function that runs with the owner’s rights', async () => {
    const open = await stage.sql(
      `select p.oid::regprocedure from pg_proc p
       where p.pronamespace::regnamespace::text in ('mirror', 'sync', 'report') and p.prosecdef
         and p.prorettype = 'trigger'::regtype and has_function_privilege('${editor}', p.oid, 'execute')`,
    );
    expect(open).toEqual([]);
  });
});
