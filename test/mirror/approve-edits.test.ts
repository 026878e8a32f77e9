import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApprovedEdit, approveEdits } from '../../src/mirror/approve-edits.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('edits that are confirmed, on $name,', (server) => {
  let database: TestDatabase;
  const run = async (text: string) => (await runSqlText(database.db, text)).rows;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
    await run(`begin;
      select set_config('musterd.writing', 'on', true);
      insert into mirror.teams (team_id) values (41);
      insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
        select 41, id, 'Anne Berg', 'Anne', 'Berg', 'new@example.com', null, true from generate_series(1, 5) id;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
        select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old@example.com', '15550100' from generate_series(1, 5) id;
      insert into sync.held_fields (team_id, user_id, field, reason) values (41, 4, 'email', 'conflict');
      insert into sync.held_fields (team_id, user_id, field, reason, batch) values (41, 5, 'email', 'limit', 'before');
      commit`);
  });
  afterAll(() => database.close());

  const email = (id: number, edit: Partial<ApprovedEdit> = {}): ApprovedEdit => ({
    userId: BigInt(id),
    field: 'email',
    to: 'new@example.com',
    base: 'old@example.com',
    ...edit,
  });
  const approve = (...rows: readonly ApprovedEdit[]) =>
    database.db.transaction(
      async (tx) => (await approveEdits(tx, 41n, { batch: 'abc', why: 'so', rows })).length,
    );

  it('pass the limits once, with their values', async () => {
    const phone = email(1, { field: 'phone', to: null, base: '15550100' });
    expect(await approve(email(1), phone, email(5))).toBe(3);
    expect(
      await run(`select user_id, field, reason, batch, decision, base_value, mirror_value, service_value,
        decided_by = session_user as is_mine, decided_why,
        until between now() + interval '23 hours' and now() + interval '25 hours' as is_a_day
        from sync.held_fields where decision is not null order by 1, 2`),
    ).toEqual([
      [
        1n,
        'email',
        'limit',
        'abc',
        'approved',
        'old@example.com',
        'new@example.com',
        'old@example.com',
        true,
        'so',
        true,
      ],
      [1n, 'phone', 'limit', 'abc', 'approved', '15550100', null, '15550100', true, 'so', true],
      [
        5n,
        'email',
        'limit',
        'abc',
        'approved',
        'old@example.com',
        'new@example.com',
        'old@example.com',
        true,
        'so',
        true,
      ],
    ]);
    expect(await run(`select user_id, kind, new from sync.changes order by 1`)).toEqual([
      [1n, 'approve', { email: 'new@example.com', phone: null }],
      [5n, 'approve', { email: 'new@example.com' }],
    ]);
  });

  it('pass over what the service showed, where that is not what was agreed on', async () => {
    expect(await approve(email(3, { service: 'web@example.com' }))).toBe(1);
    expect(await run('select service_value, shown_value from sync.held_fields where user_id = 3')).toEqual([
      ['web@example.com', 'web@example.com'],
    ]);
  });

  it.each([
    ['another value', email(2, { to: 'other@example.com' })],
    ['another base', email(2, { base: 'other@example.com' })],
    ['no base', email(2, { base: undefined })],
    [
      'what is no edit',
      email(2, { field: 'name', to: { first: 'Anne', last: 'Berg' }, base: { first: 'Anne', last: 'Berg' } }),
    ],
    ['another reason to be held', email(4)],
    ['a user who is not there', email(9)],
  ])('are not approved with %s', async (_, edit) => {
    const held = await run('select * from sync.held_fields order by user_id, field');
    expect(await approve(edit)).toBe(0);
    expect(await run('select * from sync.held_fields order by user_id, field')).toEqual(held);
  });
});
