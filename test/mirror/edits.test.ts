import { beforeEach, describe, expect, it } from 'vitest';
import { editUsers } from '../../src/mirror/users/edits.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { rows: sql } = database;
const teamId = 41n;

/** A name of three words, cut by a guess, of users 1 and 2; the last name of user 1 was edited, and waits. */
beforeEach(() =>
  sql(`
    begin;
    select set_config('musterd.writing', 'on', true);
    delete from sync.held_fields; delete from sync.user_base; delete from mirror.users;
    insert into mirror.users (team_id, id, name, first_name, last_name, phone, resolved)
    values (${teamId}, 1, 'Ana Maria Lopez', 'Ana Maria', 'Garcia', '15550100', true),
      (${teamId}, 2, 'Ana Maria Lopez', 'Ana Maria', 'Lopez', '15550101', true);
    insert into sync.user_base (team_id, id, name, first_name, last_name, phone)
    select team_id, id, name, 'Ana Maria', 'Lopez', phone from mirror.users;
    insert into sync.held_fields (team_id, user_id, field, reason)
    values (${teamId}, 1, 'name', 'unsupported'), (${teamId}, 2, 'email', 'unsupported');
    commit`),
);
const expected = (id: bigint) => ({
  name: { first: 'Ana Maria', last: id === 1n ? 'Garcia' : 'Lopez' },
  split: 'guessed' as const,
  email: null,
  phone: id === 1n ? '15550100' : '15550101',
  roleId: null,
});
const rows = () => sql('select id, first_name, last_name, name_split, phone from mirror.users order by id');
const edit = (values: Readonly<Record<string, Parameters<typeof editUsers>[2][number]['values']>>) =>
  database.db.transaction((tx) =>
    editUsers(
      tx,
      teamId,
      Object.entries(values).map(([id, one]) => ({
        id: BigInt(id),
        expected: expected(BigInt(id)),
        values: one,
      })),
    ),
  );

describe('editUsers', () => {
  it('leaves name_split "guessed" if the edit changes only the phone', async () => {
    expect(await edit({ 1: { phone: '15550190' }, 2: { phone: '15550191' } })).toEqual(new Set([1n, 2n]));
    expect(await rows()).toEqual([
      [1n, 'Ana Maria', 'Garcia', 'guessed', '15550190'],
      [2n, 'Ana Maria', 'Lopez', 'guessed', '15550191'],
    ]);
  });

  it('holds an ambiguous phone, and removes the hold when the phone is set back to the base value', async () => {
    const change = (from: string, to: string, unsure: string) =>
      database.db.transaction((tx) =>
        editUsers(tx, teamId, [
          { id: 1n, expected: { ...expected(1n), phone: from }, values: { phone: to }, unsure },
        ]),
      );
    const held = () =>
      sql(`select h.reason, h.base_value, h.mirror_value, h.service_value, h.shown_value, h.detail, h.alone, h.batch, h.decision,
          h.edit_id = sync.find_edit(h.team_id, h.user_id, h.field)
        from sync.held_fields h where h.field = 'phone'`);
    const row = (phone: string, why: string) => [
      ['limit', '15550100', phone, '15550100', '15550100', why, false, null, null, true],
    ];
    await change('15550100', '15550190', 'no country');
    expect(await held()).toEqual(row('15550190', 'no country'));
    await sql(
      `update sync.held_fields set alone = true, decision = 'rejected', batch = 'a' where field = 'phone'`,
    );
    await change('15550190', '15550191', 'none again');
    expect(await held()).toEqual(row('15550191', 'none again'));
    await change('15550191', '15550100', 'it had been so');
    expect(await held()).toEqual([]);
  });

  it('sets name_split to "known" for a user whose name is edited, and not for a user whose phone is edited', async () => {
    const name = { first: 'Ana', last: 'Maria Garcia' };
    expect(await edit({ 1: { name }, 2: { phone: null } })).toEqual(new Set([1n, 2n]));
    expect(await rows()).toEqual([
      [1n, 'Ana', 'Maria Garcia', 'known', '15550100'],
      [2n, 'Ana Maria', 'Lopez', 'guessed', null],
    ]);
  });

  it('skips a user whose row differs from the expected values, and edits the next user', async () => {
    await sql(`update mirror.users set phone = '15550150' where id = 1`);
    expect(await edit({ 1: { phone: '15550190' }, 2: { name: { first: 'Eva', last: 'Borg' } } })).toEqual(
      new Set([2n]),
    );
    expect(await rows()).toEqual([
      [1n, 'Ana Maria', 'Garcia', 'guessed', '15550150'],
      [2n, 'Eva', 'Borg', 'known', '15550101'],
    ]);
  });
});
