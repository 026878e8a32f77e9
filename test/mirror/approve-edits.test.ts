import { beforeAll, describe, expect, it } from 'vitest';
import { approveEdits, type SeenEdit } from '../../src/mirror/users/decide-edits.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each([oldestServer()])('approveEdits on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  beforeAll(async () => {
    await run(`begin;
      select set_config('musterd.writing', 'on', true);
      insert into mirror.teams (team_id) values (41);
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
        select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old@example.com', '15550100' from unnest('{1,2,3,4,5,6,7,8,10,11,12,13,14}'::int[]) id;
      insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
        select team_id, id, name, first_name, last_name, email, phone, true from sync.user_base;
      commit`);
    await run(`update mirror.users set email = 'new@example.com', phone = '15550111'`);
    await run(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason, mirror_value, until, batch, decision)
      select 41, h.id, h.field, e.edit_id, h.reason, e.new_value, h.until, h.batch, h.decision
      from (values (4, 'email', 'conflict', null, null, null), (8, 'email', 'asked', now() + interval '1 h', null, null),
        (2, 'phone', 'limit', null, 'before', 'rejected'), (5, 'email', 'limit', null, 'before', null),
        (10, 'email', 'limit', null, 'before', 'rejected'), (11, 'email', 'limit', null, null, null)) as h (id, field, reason, until, batch, decision)
      join sync.edits e on e.user_id = h.id and e.field = h.field`);
    await run('update mirror.users set phone = null');
    await run('update sync.held_fields set alone = true where user_id = 11');
  });

  const email = (id: number, edit: Partial<SeenEdit> = {}): SeenEdit => ({
    userId: BigInt(id),
    field: 'email',
    to: 'new@example.com',
    base: 'old@example.com',
    ...edit,
  });
  const approve = (...rows: readonly SeenEdit[]) =>
    database.db.transaction(
      async (tx) => (await approveEdits(tx, 41n, { batch: 'abc', why: 'so' }, rows)).length,
    );

  it('approves the named edits with the values that the approver saw, and records the approval in the ledger', async () => {
    const phone = email(1, { field: 'phone', to: null, base: '15550100' });
    expect(await approve(email(1), phone, email(5))).toBe(3);
    const letPass = (id: bigint, field: string, base: string, mirror: string | null) =>
      [id, field, 'limit', 'abc', 'approved', base, mirror, base, null] as const;
    expect(
      await run(`select user_id, field, reason, batch, decision, base_value, mirror_value, service_value, until
        from sync.held_fields where decision = 'approved' order by 1, 2`),
    ).toEqual([
      letPass(1n, 'email', 'old@example.com', 'new@example.com'),
      letPass(1n, 'phone', '15550100', null),
      letPass(5n, 'email', 'old@example.com', 'new@example.com'),
    ]);
    expect(
      await run(
        `select user_id, kind, new, decided_by = session_user, decided_why from sync.changes order by 1`,
      ),
    ).toEqual([
      [1n, 'approve', { email: 'new@example.com', phone: null }, true, 'so'],
      [5n, 'approve', { email: 'new@example.com' }, true, 'so'],
    ]);
    // Of each field the edit that lasts, in what is approved as in the ledger.
    expect(
      await run(`select c.user_id, f.field from sync.changes c
        join sync.held_fields f on f.user_id = c.user_id and f.decision = 'approved'
        join sync.edits e on e.user_id = f.user_id and e.field = f.field and e.ended_at is null
        where e.edit_id = f.edit_id and f.edit_id = (c.edits ->> f.field)::bigint order by 1, 2`),
    ).toEqual([
      [1n, 'email'],
      [1n, 'phone'],
      [5n, 'email'],
    ]);
  });

  it('approves an edit even if an earlier edit of the same field was rejected', async () => {
    expect(await approve(email(2, { field: 'phone', to: null, base: '15550100' }))).toBe(1);
  });

  it('approves an edit that no trigger recorded, and stores its author as unknown', async () => {
    await run(`begin; select set_config('musterd.writing', 'on', true);
      update mirror.users set role_id = 7 where id = 2; commit`);
    expect(await approve(email(2, { field: 'roleId', to: 7n, base: null }))).toBe(1);
    expect(
      await run(`select e.authors, e.new_value from sync.edits e
        join sync.held_fields h on h.edit_id = e.edit_id and h.field = e.field and h.user_id = e.user_id
        where e.user_id = 2 and e.field = 'role_id'`),
    ).toEqual([[[''], 7]]);
  });

  it('under four eyes, approves neither edits by the approver nor edits by an unknown author', async () => {
    await run(`insert into sync.teams (team, team_id, four_eyes) values ('north', 41, true);
      update sync.edits set authors = '{kim}' where user_id = 6 and field = 'email' and ended_at is null;
      update sync.edits set authors = '{""}' where user_id = 7 and field = 'email' and ended_at is null`);
    try {
      await run(`begin; select set_config('musterd.writing', 'on', true);
        update mirror.users set role_id = 8 where id = 6; commit`);
      const unknown = email(6, { field: 'roleId', to: 8n, base: null });
      expect(await approve(email(3), email(7), unknown)).toBe(0);
      expect(await approve(email(6), email(3))).toBe(1);
      expect(
        await run(`select user_id from sync.held_fields where user_id in (3, 6) and field = 'email'`),
      ).toEqual([[6n]]);
    } finally {
      await run(`delete from sync.teams; delete from sync.held_fields where user_id = 6`);
    }
  });

  /** Of a user's email, each column that a decision writes. */
  const written = async (id: number) =>
    (
      await run(`select h.reason, h.base_value, h.mirror_value, h.service_value, h.shown_value, h.detail, h.batch, h.decision, h.until,
          h.edit_id = e.edit_id as is_lasting
        from sync.held_fields h left join sync.edits e on e.user_id = h.user_id and e.field = h.field and e.ended_at is null
        where h.user_id = ${id} and h.field = 'email'`)
    )[0];
  const holdAs = (id: number, reason: string, batch: string, edit: string) =>
    run(`insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail,
        batch, decision, until, edit_id)
      select 41, ${id}, 'email', '${reason}', '"base"', '"mirror"', '"service"', '"shown"', 'before', ${batch}, null, now() - interval '1 h',
        ${edit} from sync.edits e where e.user_id = ${id} and e.field = 'email' and e.ended_at is null`);
  const values = ['old@example.com', 'new@example.com', 'old@example.com', 'old@example.com'];

  it('approves an edit, and replaces the hold that an earlier edit of the same field left', async () => {
    await holdAs(12, 'refused', 'null', '0');
    const approval = { batch: 'abc', why: 'so', waits: 'review' } as const;
    await database.db.transaction((tx) => approveEdits(tx, 41n, approval, [email(12)]));
    const left = ['confirmed by its editor', 'abc', 'approved', null, true];
    expect(await written(12)).toEqual(['review', ...values, ...left]);
  });

  it.each([
    ['the limit held another edit', '0', 'approved'],
    ['the limit held this edit', 'e.edit_id', 'resolved'],
  ])('stores "resolved" if a field limit held the edit, else "approved": %s', async (_, edit, decision) => {
    await run(`delete from sync.held_fields where user_id = 14`);
    await holdAs(14, 'limit', `'abc'`, edit);
    await run('update sync.held_fields set alone = true, service_value = shown_value where user_id = 14');
    const approval = { batch: 'abc', why: 'so' } as const;
    await database.db.transaction((tx) => approveEdits(tx, 41n, approval, [email(14)]));
    const [hold] = (await readUserState(database.db.kysely, 41n, 14n)).held;
    expect(hold?.decision).toBe(decision);
  });

  it('approves an edit although the service’s value differs from the base, and stores the service’s value', async () => {
    await run(`select sync.decide_edits('approve', 41, '[{"user_id": 3, "field": "email", "base": "old@example.com",
      "mirror": "new@example.com", "service": "web@example.com"}]', 'so')`);
    expect(await run('select service_value, shown_value from sync.held_fields where user_id = 3')).toEqual([
      ['web@example.com', 'web@example.com'],
    ]);
  });

  it.each([
    ['the mirror has another value', email(2, { to: 'other@example.com' })],
    ['the base has another value', email(2, { base: 'other@example.com' })],
    ['the person saw no base', email(2, { base: undefined })],
    [
      'the named value equals the base',
      email(2, { field: 'name', to: { first: 'Anne', last: 'Berg' }, base: { first: 'Anne', last: 'Berg' } }),
    ],
    ['a conflict holds the edit', email(4)],
    ['the field is held on request', email(8)],
    ['the edit was rejected', email(10)],
    ['a limit on the single field holds the edit', email(11)],
    ['the user does not exist', email(9)],
  ])('approves nothing and leaves all holds unchanged if %s', async (_, edit) => {
    const held = await run('select * from sync.held_fields order by user_id, field');
    expect(await approve(edit)).toBe(0);
    expect(await run('select * from sync.held_fields order by user_id, field')).toEqual(held);
  });
});
