import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { readLastEdits } from '../../src/mirror/users/last-edits.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { oldestServer } from '../support/servers.ts';
import { castShadows } from '../support/shadows.ts';
import { connectAs } from '../support/use-database.ts';

/** Of the fields that are held, the edits that last: what was edited since is what is held. */
const holdLasting = `
  update sync.held_fields h set edit_id = e.edit_id, mirror_value = e.new_value from sync.edits e
  where (e.team_id, e.user_id, e.field) = (h.team_id, h.user_id, h.field) and e.ended_at is null`;

/** Three users of team 41, one of team 42; each has an email that was edited, and waits in a batch. */
const seed = `
  set local musterd.writing = 'on';
  truncate mirror.users, sync.user_base, sync.held_fields, sync.changes, sync.edits, mirror.team_roles;
  insert into mirror.team_roles (role_name, all_teams) values ('public', true);
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
    select t, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com', '15550100'
    from (values (41, 1), (41, 2), (41, 3), (42, 4)) v (t, id);
  insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
    select team_id, id, name, first_name, last_name, email, phone, true from sync.user_base;
  set local musterd.writing = 'off';
  update mirror.users set email = 'new' || id || '@example.com';
  insert into sync.held_fields (team_id, user_id, field, reason, base_value, service_value, shown_value, batch)
    select u.team_id, u.id, 'email', 'limit', to_jsonb(b.email), to_jsonb(b.email), to_jsonb(b.email),
      case u.team_id when 41 then 'aaaaaaaaaaaa' else 'bbbbbbbbbbbb' end
    from mirror.users u join sync.user_base b using (team_id, id);
  ${holdLasting}`;

describe.each([oldestServer()])('deciding about a batch on $name', (server) => {
  const suffix = randomBytes(4).toString('hex');
  const [approver, editor, stranger] = ['approver', 'editor', 'stranger'].map(
    (name) => `test_${name}_${suffix}`,
  );
  let database: TestDatabase;
  let asApprover: Database;
  let asEditor: Database;
  let asStranger: Database;
  const run = async (text: string, db = database.db) => (await runSqlText(db, text)).rows;
  const approve = (db: Database, args: string) =>
    run(`select user_id, field, outcome from sync.approve(${args})`, db);
  const reject = (db: Database, args: string) =>
    run(`select user_id, field, outcome from sync.reject(${args})`, db);
  const held = () =>
    run(`select user_id, sync.held_because(reason, decision, until), case when decision is distinct from 'rejected' then batch end,
           nullif(decision, 'rejected'), c.decided_by, c.decided_why, until
         from sync.held_fields h left join lateral (
           select decided_by, decided_why from sync.changes c
           where c.user_id = h.user_id and (c.edits ->> h.field)::bigint = h.edit_id order by change_id desc limit 1) c on true
         order by 1`);
  const asActor = async (db: Database, actor: string, text: string) =>
    await run(`begin; select set_config('musterd.actor', '${actor}', true); ${text}; commit`, db);
  const untouched = [1n, 2n, 3n].map((id) => [id, 'limit', 'aaaaaaaaaaaa', null, null, null, null]);
  const other = [4n, 'limit', 'bbbbbbbbbbbb', null, null, null, null];

  beforeAll(async () => {
    database = await createTestDatabase({ server });
    await run(`
      create role ${approver} login password 'secret' in role musterd_approver;
      create role ${editor} login password 'secret' in role musterd_editor;
      create role ${stranger} login password 'secret';
      insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      insert into sync.due (team, run_group, mark) values ('north', 'edits', '7:7:'), ('south', 'edits', '7:7:');
      grant create on schema public to ${stranger}, ${approver};
      grant usage on schema sync to ${stranger}, ${editor}`);
    [asApprover, asEditor, asStranger] = [approver, editor, stranger].map((role) =>
      connectAs(database.url, role ?? '', 1),
    ) as [Database, Database, Database];
  });
  beforeEach(() => run(seed));
  afterAll(async () => {
    await Promise.all([asApprover, asEditor, asStranger].map((db) => db.close()));
    await database.close();
    const admin = createDatabase({ url: server.url });
    await runSqlText(admin, `drop role ${approver}, ${editor}, ${stranger}`);
    await admin.close();
  });

  it('sync.approve accepts the batch name in capitals, and wakes only the daemon of the batch’s team', async () => {
    await run(`update sync.due set mark = '7:7:'`);
    expect(await approve(asApprover, `'AAAAAAAAAAAA', reason => 'the new domain'`)).toEqual([
      [1n, 'email', 'approved'],
      [2n, 'email', 'approved'],
      [3n, 'email', 'approved'],
    ]);
    expect(await held()).toEqual([
      ...[1n, 2n, 3n].map((id) => [
        id,
        'limit',
        'aaaaaaaaaaaa',
        'approved',
        approver,
        'the new domain',
        null,
      ]),
      other,
    ]);
    expect(await run(`select team, mark from sync.due order by 1`)).toEqual([
      ['north', null],
      ['south', '7:7:'],
    ]);
  });

  it('views name the editor of each field, even if another person edits a second field later', async () => {
    // The edit before is over, and whoever made it is not named any more.
    await run(`update mirror.users set phone = '15550198' where id = 2`);
    await asActor(asEditor, 'Kim', `update mirror.users set phone = '15550199' where id = 2`);
    const editorsIn = (view: string, db: Database) =>
      run(`select field, edited_by from ${view} where user_id = 2 order by 1`, db);
    for (const db of [database.db, asApprover]) {
      expect(await editorsIn('report.pending', db)).toEqual([
        ['email', 'musterd'],
        ['phone', `${editor} for Kim`],
      ]);
      expect(await editorsIn('report.held', db)).toEqual([['email', 'musterd']]);
    }
    for (const view of ['report.pending', 'report.held'])
      expect(
        await run(`select distinct v.edited_at = e.edited_at from ${view} v
          join sync.edits e on e.team_id = v.team_id and e.user_id = v.user_id and e.field = v.field and e.ended_at is null`),
      ).toEqual([[true]]);
  });

  it('readLastEdits names an editor as "role for person", and sync.named_editor omits the owner and a blank person', async () => {
    await asActor(asEditor, 'Kim ', `update mirror.users set email = 'kim@example.com' where id = 2`);
    const named = (await readLastEdits(database.db.kysely, 41n, [2n])).map(({ editedBy }) => editedBy);
    expect(named).toContain(`${editor} for Kim`);
    expect(
      await run(`select sync.named_editor(role, person) from (values (1, session_user::text, ' Kim '),
        (2, '${editor}', ' '), (3, 'nobody any more', 'Kim')) as v (n, role, person) order by n`),
    ).toEqual([['Kim'], [editor], ['nobody any more for Kim']]);
  });

  it('sync.approve refuses, under four eyes, edits by the approver or by the person whom the approver acts for', async () => {
    const all = `'aaaaaaaaaaaa'`;
    await run(`update sync.teams set four_eyes = true; grant musterd_editor to ${approver}`);
    await run(`update mirror.users set email = 'own@example.com' where id = 1`, asApprover);
    await asActor(asEditor, 'Kim ', `update mirror.users set email = 'kim@example.com' where id = 2`);
    await run(`${holdLasting}; revoke musterd_editor from ${approver}`);
    const refused = (of: string) => `edited, or may have edited, ${of}`;
    await expect(approve(asApprover, all)).rejects.toThrow(`${approver} ${refused('1 of these users: 1')}`);
    await expect(asActor(asApprover, 'kim', `select sync.approve(${all})`)).rejects.toThrow(
      `${approver} for kim ${refused('2 of these users: 1, 2')}`,
    );
    await run('rollback', asApprover);
    expect(await held()).toEqual([...untouched, other]);
    await approve(asApprover, `${all}, only_users => '{2}'`);
    await asActor(database.db, 'Kim', `select sync.approve(${all}, only_users => '{1}')`);
    expect(await run(`select user_id, decided_by, decided_role from sync.changes order by 1`)).toEqual([
      [1n, 'Kim, said by musterd', expect.not.stringContaining(approver ?? '')],
      [2n, approver, approver],
    ]);
    await run(`update sync.teams set four_eyes = false`);
  });

  it('sync.reject with revert records the approver, instead of a run, as the author of restored values', async () => {
    const lent = `begin; set local musterd.run = '77'; set local musterd.actor = 'Kim'`;
    await run(lent, asApprover);
    await reject(asApprover, `'aaaaaaaaaaaa', only_users => '{1}', revert => true`);
    expect(await run(`select current_setting('musterd.run', true)`, asApprover)).toEqual([['77']]);
    await run('commit', asApprover);
    expect(
      await run(`select field, new_value, side, edited_by, connected_as, run_id from report.roster_changes
        where user_id = 1 order by changed_at desc limit 1`),
    ).toEqual([['email', 'old1@example.com', 'mirror', `${approver} for Kim`, approver, null]]);
    expect(await run('select id, edited_by from mirror.users where id < 3 order by id', asApprover)).toEqual([
      [1n, approver],
      [2n, 'musterd'],
    ]);
  });

  it('sync.reject with revert restores an empty email, which an editor could not set', async () => {
    await run(
      `update sync.user_base set email = null where id = 1; update sync.held_fields set base_value = null where user_id = 1`,
    );
    await run('begin', asApprover);
    await reject(asApprover, `'aaaaaaaaaaaa', revert => true`);
    expect(await run(`select current_setting('musterd.writing', true)`, asApprover)).toEqual([['']]);
    await run('commit', asApprover);
    expect(await run('select email from mirror.users where id = 1')).toEqual([[null]]);
  });

  it.each([
    ['an unknown batch', `'dddddddddddd'`, 'There is no held batch dddddddddddd'],
    [
      'a user of another batch',
      `'aaaaaaaaaaaa', only_users => '{1,4}'`,
      'User 4 is not in batch aaaaaaaaaaaa',
    ],
    ['a batch of another team than was named', `'aaaaaaaaaaaa', team => 42`, 'There is no held batch'],
  ])('sync.approve and sync.reject refuse %s, and change nothing', async (_, args, told) => {
    for (const decide of [approve, reject]) await expect(decide(asApprover, args)).rejects.toThrow(told);
    expect(await held()).toEqual([...untouched, other]);
  });

  it('sync.approve fails without the argument team if two teams have a batch of the same name', async () => {
    await run(`update sync.held_fields set batch = 'aaaaaaaaaaaa'`);
    await expect(approve(asApprover, `'aaaaaaaaaaaa'`)).rejects.toThrow('exists in 2 teams');
    expect(await approve(asApprover, `'aaaaaaaaaaaa', team => 42`)).toEqual([[4n, 'email', 'approved']]);
    await run(`update sync.held_fields set decision = 'rejected' where team_id = 42`);
    expect(await approve(asApprover, `'aaaaaaaaaaaa'`)).toHaveLength(3);
  });

  it('a role without rights cannot decide through a security definer function of an approver', async () => {
    await run(
      `create or replace function public.lend() returns bigint language sql security definer
         as 'select count(*) from sync.approve(''aaaaaaaaaaaa'')'`,
      asApprover,
    );
    await expect(run('select public.lend()', asStranger)).rejects.toThrow('may not decide');
    expect(await run('select public.lend()', asApprover)).toEqual([[3n]]);
  });

  it('sync.keep_place fails if an approver calls it', async () => {
    const told = expect(run(`select sync.keep_place(null, '{}', null)`, asApprover));
    await told.rejects.toThrow('has no right to record the address');
  });

  it('a decision fails in a trigger that another role created and a statement of an approver fires', async () => {
    await run(
      `create table if not exists public.bait (id int); grant insert on public.bait to ${approver};
       create or replace function public.bite() returns trigger language plpgsql as
         'begin perform sync.approve(''aaaaaaaaaaaa''); return new; end';
       create or replace trigger bite before insert on public.bait for each row execute function public.bite()`,
      asStranger,
    );
    await expect(run('insert into public.bait values (1)', asApprover)).rejects.toThrow(
      'A trigger cannot decide',
    );
    expect(await held()).toEqual([...untouched, other]);
  });

  const seen = `select jsonb_agg(jsonb_build_object('user_id', user_id, 'field', field, 'edit_id', edit_id, 'base', base_value,
    'mirror', mirror_value, 'service', service_value)) from sync.held_fields where team_id = 41`;
  it.each([
    ['a batch is approved', `sync.approve('aaaaaaaaaaaa')`, [null, 'approved', 'approved']],
    [
      'edits are approved',
      `sync.decide_edits('approve', 41, (${seen}), 'so')`,
      ['held', 'approved', 'approved'],
    ],
  ])('a decision waits for an open decision, and skips decided users: %s', async (_, call, outcomes) => {
    const second = createDatabase({ url: database.url, maxConnections: 1 });
    const waiting = () =>
      run(`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    let ended: Promise<unknown> | undefined;
    try {
      await run(`begin; select sync.reject('aaaaaaaaaaaa', 'no', only_users => '{1}')`, asApprover);
      ended = run(`select user_id, field, outcome from ${call}`, second);
      await eventually('the second waits', async () => (await waiting()).length > 0);
      await run('commit', asApprover);
      expect(await ended).toEqual(
        outcomes.flatMap((outcome, at) => (outcome === null ? [] : [[BigInt(at + 1), 'email', outcome]])),
      );
      expect((await held())[0]?.[1]).toBe('rejected');
    } finally {
      await ended?.catch(() => {});
      await second.close();
    }
  });

  it('a decision uses no function, operator or table of another role, whatever the search_path', async () => {
    await castShadows(asStranger);
    await run(
      `create temp table held_fields (batch text); create temp table users (id bigint);
       set search_path = public, pg_temp, pg_catalog; set row_security = off`,
      asApprover,
    );
    expect((await approve(asApprover, `'aaaaaaaaaaaa'`)).length).toBe(3);
    expect((await reject(asApprover, `'aaaaaaaaaaaa', revert => true`)).length).toBe(3);
    await run('reset all', asApprover);
  });
});
