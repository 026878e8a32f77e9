/** What one person did and one run held is one batch; and what an author takes back. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { nameBatches, readHeldEdits } from '../../src/mirror/users/last-edits.ts';
import type { Hold } from '../../src/model/user-plan.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each([oldestServer()])('batches of held edits on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  beforeAll(() =>
    run(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      insert into sync.runs (team, team_id, command) values ('north', 41, 'daemon'), ('north', 41, 'daemon')`),
  );
  /** Emails of six users: 1 to 3 edited for kim, 4 for pat, 5 and 6 for nobody. Run 1 holds 1, 2, 4 and 5, run 2 holds 3. */
  beforeEach(() =>
    run(`set local musterd.writing = 'on';
      delete from mirror.users; delete from sync.user_base; delete from sync.held_fields; delete from sync.changes; delete from sync.edits;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email)
        select 41, id, 'Anne Berg', 'Anne', 'Berg', 'old' || id || '@example.com' from generate_series(1, 6) id;
      insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, resolved)
        select team_id, id, name, first_name, last_name, 'known', email, true from sync.user_base;
      set local musterd.writing = 'off';
      set local musterd.actor = 'kim';
      update mirror.users set email = 'new' || id || '@example.com' where id < 4;
      set local musterd.actor = 'pat';
      update mirror.users set email = 'new4@example.com' where id = 4;
      set local musterd.actor = '';
      update mirror.users set email = 'new' || id || '@example.com' where id > 4;
      insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, run_id)
        select e.team_id, e.user_id, e.field, e.edit_id, case e.user_id when 2 then 'conflict' else 'limit' end, e.old_value, e.new_value,
          e.old_value, e.old_value, case e.user_id when 3 then 2 else 1 end
        from sync.edits e where e.user_id < 6`),
  );
  const name = () => database.db.transaction((tx) => nameBatches(tx, 1n));
  const batches = async () =>
    (await run('select batch from sync.held_fields order by user_id')).map(
      ([batch]) => batch as string | null,
    );

  it('nameBatches puts all edits of one author that one run held into one batch, even if the hold reasons differ', async () => {
    const before = await run(`select to_jsonb(h) - 'batch' from sync.held_fields h order by user_id`);
    await name();
    const [one, two, three, four, five] = await batches();
    expect([one, new Set([one, three, four, five]).size]).toEqual([two, 4]);
    expect(one).toMatch(/^[0-9a-f]{12}$/);
    expect(await run(`select to_jsonb(h) - 'batch' from sync.held_fields h order by user_id`)).toEqual(
      before,
    );
    await name();
    expect(await batches()).toEqual([one, two, three, four, five]);
  });

  it.each([
    ['it is approved already', `update sync.held_fields set decision = 'approved' where user_id = 5`, null],
    ['it is in a batch already', `update sync.held_fields set batch = 'abc' where user_id = 5`, 'abc'],
    ['it has no edit', `update sync.held_fields set edit_id = null where user_id = 5`, null],
    ['its edit has ended', `delete from sync.edits where user_id = 5`, null],
    ['it belongs to another team', `update sync.held_fields set team_id = 42 where user_id = 5`, null],
  ])('nameBatches does not change the batch of a held field if %s', async (_, change, batch) => {
    await name();
    const [expected] = await batches();
    await run(`update sync.held_fields set batch = null; ${change}`);
    await name();
    const [one, , , , five] = await batches();
    expect([one, five]).toEqual([expected, batch]);
  });

  it.each([
    ['a base value', `update sync.held_fields set base_value = '"x"' where user_id = 1`],
    ['a mirror value', `update sync.held_fields set mirror_value = '"x"' where user_id = 1`],
    ['a service value', `update sync.held_fields set service_value = '"x"' where user_id = 1`],
    ['the time of an edit', `update sync.edits set edited_at = edited_at + interval '1 s' where user_id = 1`],
    ['the number of edits', 'delete from sync.held_fields where user_id = 2'],
  ])('nameBatches gives two batches that differ only in %s different names', async (_, change) => {
    await name();
    const [before, , , four] = await batches();
    await run(`update sync.held_fields set batch = null; ${change}`);
    await name();
    const named = await batches();
    expect(named[0]).not.toBe(before);
    expect(named).toContain(four);
  });

  it('nameBatches adds edit and batch to the ledger entry of a new hold, and does not change the entry later', async () => {
    await run(
      `insert into sync.changes (team_id, user_id, run_id, kind, new) select 41, id, 1, 'hold', '{"email": "x"}' from generate_series(1, 2) id`,
    );
    // An edit that was replaced after the run had held it is recorded as well.
    await run(`update mirror.users set email = 'later@example.com' where id = 2`);
    await name();
    const ledger = `select c.user_id, c.edits = jsonb_build_object('email', e.edit_id) as is_first, c.batch from sync.changes c
      join sync.edits e on e.user_id = c.user_id and e.new_value = to_jsonb('new' || c.user_id || '@example.com') where c.kind = 'hold' order by 1`;
    const [batch] = await batches();
    const told = [1n, 2n].map((id) => [id, true, batch]);
    expect(await run(ledger)).toEqual(told);
    expect(await run('select edited_by, batch from report.changes')).toEqual(
      [1, 2].map(() => ['kim', batch]),
    );
    // A value that is typed in place of it waits on under the run that held the first one.
    await run(`select from sync.resolve(41, 1, 'email', 'value', 'typed@example.com')`);
    await name();
    expect((await batches())[0]).not.toBe(batch);
    expect(await run(ledger)).toEqual(told);
  });

  it('nameBatches records in the ledger each field’s own batch if two people edited two fields of one user', async () => {
    await run(`set local musterd.actor = 'kim'; update mirror.users set role_id = 2 where id = 4;
      insert into sync.held_fields (team_id, user_id, field, edit_id, reason, run_id)
        select team_id, user_id, field, edit_id, 'limit', 1 from sync.edits where field = 'role_id';
      insert into sync.changes (team_id, user_id, run_id, kind, new)
        select 41, 4, 1, 'hold', jsonb_build_object(field, 'x') from sync.held_fields where user_id = 4`);
    await name();
    const held = await run('select field, batch from sync.held_fields where user_id = 4 order by field');
    expect(new Set(held.map(([, batch]) => batch)).size).toBe(2);
    expect(await run('select field, batch from report.changes order by field')).toEqual(held);
  });

  it('readHeldEdits returns for each planned hold the author of its edit and the batch name that a run will give', async () => {
    await name();
    const rows = await run(
      `select user_id, edit_id, base_value, mirror_value, service_value, batch from sync.held_fields where user_id <> 3 order by 1`,
    );
    const holds = rows.map(([id, edit, base, mirror, service, batch]) => ({
      id: id as bigint,
      // What waits already keeps its name. The merge holds a field without the number of its edit.
      hold: {
        field: 'email',
        reason: 'limit',
        detail: '',
        ...(id === 2n ? {} : { edit }),
        base,
        mirror,
        service,
        ...(id === 5n ? { batch } : {}),
      } as Hold,
    }));
    const told = await readHeldEdits(database.db.kysely, 41n, holds);
    expect(told.map(({ userId, batch }) => [userId, batch])).toEqual(rows.map((row) => [row[0], row[5]]));
    expect(told.map(({ editedBy }) => editedBy)).toEqual(['kim', 'kim', 'pat', expect.any(String)]);
  });

  const withdraw = (args = '', actor = 'kim') =>
    run(
      `set local musterd.actor = '${actor}'; select user_id, field, state, outcome from sync.withdraw(${args})`,
    );
  it('sync.withdraw withdraws all held and waiting edits by the caller, and no edits by other authors', async () => {
    await name();
    await run('delete from sync.held_fields where user_id = 3');
    expect(await withdraw(`reason => 'a slip'`)).toEqual(
      [1n, 2n, 3n].map((id) => [id, 'email', 'ended', 'rejected']),
    );
    expect(
      await run(
        'select id from mirror.users u join sync.user_base b using (team_id, id) where u.email = b.email order by 1',
      ),
    ).toEqual([[1n], [2n], [3n]]);
    expect(await run('select user_id from sync.held_fields order by 1')).toEqual([[4n], [5n]]);
    expect(
      await run(
        'select kind, outcome, decided_by, decided_why, count(distinct decision_id) as decisions, count(*) from sync.changes group by 1, 2, 3, 4',
      ),
    ).toEqual([['reject', { email: 'withdrawn' }, 'kim, said by musterd', 'a slip', 1n, 3n]]);
    expect(await withdraw()).toEqual([]);
  });

  it('sync.withdraw fails in a repeatable read transaction', async () => {
    const later = `begin isolation level repeatable read; set local musterd.actor = 'kim'; select * from sync.withdraw()`;
    await expect(run(later)).rejects.toThrow('sees the pushes of other transactions');
    await run('rollback');
    expect(await run(`select count(*) from mirror.users where email like 'new%'`)).toEqual([[6n]]);
  });

  it('sync.withdraw withdraws edits whose author was named in other letters', async () => {
    expect((await withdraw('', ' KIM')).map(([id]) => id)).toEqual([1n, 2n, 3n]);
  });

  it('sync.withdraw with a batch name withdraws only the caller’s edits in that batch', async () => {
    await name();
    const [, , , four = ''] = await batches();
    expect((await withdraw(`'${four}'`, 'pat')).map(([id]) => id)).toEqual([4n]);
    expect(await withdraw(`'0123'`)).toEqual([]);
  });

  it.each([
    [
      'is being sent',
      `insert into sync.changes (team_id, user_id, kind, state, new, edits) select 41, 1, 'push', 'open', '{"email": "x"}', jsonb_build_object('email', edit_id) from sync.edits where user_id = 1`,
      'sending',
      'on its way',
    ],
    [
      'was rejected',
      `update sync.held_fields set decision = 'rejected' where user_id = 1`,
      'ended',
      'rejected',
    ],
    [
      'is held on request',
      `update sync.held_fields set until = now() + interval '1 h' where user_id = 1`,
      'held',
      'asked',
    ],
  ])(
    'sync.withdraw ends a rejected edit, and keeps an edit that is being sent or held on request: the edit %s',
    async (_, change, state, outcome) => {
      await run(change);
      expect((await withdraw())[0]).toEqual([1n, 'email', state, outcome]);
      const isBack = outcome === 'rejected';
      expect(await run('select email from mirror.users where id = 1')).toEqual([
        [`${isBack ? 'old' : 'new'}1@example.com`],
      ]);
    },
  );
});
