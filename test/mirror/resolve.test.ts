import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { splitName } from '../../src/model/name.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const name = (first: string, last: string) => ({ first, last });
type Name = ReturnType<typeof name>;

/** Of each field: what both sides agreed on, what was edited here, what the service shows, and a value that is typed. */
const fields = {
  name: {
    base: name('Anne', 'Berg'),
    mirror: name('Anna', 'Berg'),
    shown: 'Robin  M. Doe',
    taken: name('Robin M.', 'Doe'),
    typed: ['Eva Maria|von Berg', name('Eva Maria', 'von Berg')],
  },
  email: {
    base: 'old@example.com',
    mirror: 'new@example.com',
    shown: 'web@example.com',
    taken: 'web@example.com',
    typed: [' third@example.com ', 'third@example.com'],
  },
  phone: {
    base: '15550100',
    mirror: '15550101',
    shown: '15550102',
    taken: '15550102',
    typed: ['15550103', '15550103'],
  },
  role_id: { base: 2, mirror: 3, shown: 4, taken: 4, typed: ['5', 5] },
} as const;
type Field = keyof typeof fields;
const all = Object.keys(fields) as readonly Field[];

const json = (value: unknown) => `'${JSON.stringify(value)}'::jsonb`;
const assigned = (field: Field, value: unknown) =>
  field === 'name'
    ? `first_name = '${(value as Name).first}', last_name = '${(value as Name).last}'`
    : `${field} = ${field === 'role_id' ? String(value) : `'${String(value)}'`}`;

describe.each([oldestServer()])('sync.resolve() on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;
  beforeAll(() => run(`insert into sync.teams (team, team_id) values ('north', 41)`));
  beforeEach(async () => {
    await run(`set local musterd.writing = 'on';
      delete from mirror.users; delete from sync.user_base; delete from sync.held_fields; delete from sync.changes; delete from sync.edits;
      update sync.teams set four_eyes = false; delete from sync.due;
      insert into sync.due (team, run_group, mark) select 'north', g, pg_current_snapshot() from unnest(array['users', 'edits']) g;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
        values (41, 1, 'Anne Berg', 'Anne', 'Berg', 'old@example.com', '15550100', 2);
      insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
        select team_id, id, name, first_name, last_name, 'known', email, phone, role_id, true from sync.user_base;
      update sync.user_base set agreed_at = '2020-01-01';
      set local musterd.writing = 'off'`);
    await run(
      `update mirror.users set ${all.map((field) => assigned(field, fields[field].mirror)).join(', ')}`,
    );
  });

  const hold = (field: Field, more: Readonly<Record<string, string>> = {}) => {
    const columns = { reason: `'conflict'`, shown_value: json(fields[field].shown), ...more };
    return run(`insert into sync.held_fields (team_id, user_id, field, edit_id, base_value, mirror_value, service_value, ${Object.keys(columns).join(', ')})
      select 41, 1, '${field}', edit_id, ${json(fields[field].base)}, new_value, ${json(fields[field].shown)}, ${Object.values(columns).join(', ')}
      from sync.edits where field = '${field}' and ended_at is null`);
  };
  const resolve = async (field: Field, take: string, more = '') =>
    (
      await run(
        `select state, outcome from sync.resolve(41, 1, '${field}', '${take}', reason => 'so'${more})`,
      )
    )[0];
  const values = async (table: string) => {
    const [[first, last, email, phone, role] = []] = await run(
      `select first_name, last_name, email, phone, role_id from ${table}`,
    );
    return { name: { first, last }, email, phone, role_id: Number(role) };
  };
  const baseName = async () => (await run('select name from sync.user_base'))[0]?.[0];
  const split = async () => (await run('select name_split from mirror.users'))[0]?.[0];
  const holds = () =>
    run(`select h.field, h.reason, h.decision, h.alone, h.edit_id = e.edit_id from sync.held_fields h
      left join sync.edits e on e.field = h.field and e.ended_at is null`);
  const edit = (field: Field) =>
    run(`select new_value, ended_how from sync.edits where field = '${field}' order by edit_id desc limit 1`);
  const ledger = async () => {
    const rows = await run(
      'select kind, base, old, new, outcome, decided_why, decision_id is not null, run_id, edits from sync.changes',
    );
    expect(rows).toHaveLength(1);
    return rows[0];
  };
  const sideOf = (side: 'base' | 'mirror') =>
    Object.fromEntries(all.map((field) => [field, fields[field][side]]));

  it.each(all)('with "service", stores the value of the service and ends the edit: %s', async (field) => {
    const { base, mirror, shown, taken } = fields[field];
    await hold(field);
    const [[number] = []] = await run(`select edit_id from sync.held_fields`);
    expect(await resolve(field, 'service')).toEqual(['ended', 'resolved']);
    expect(await values('sync.user_base')).toEqual({ ...sideOf('base'), [field]: taken });
    expect(await values('mirror.users')).toEqual({ ...sideOf('mirror'), [field]: taken });
    expect(await baseName()).toBe(field === 'name' ? shown : 'Anne Berg');
    expect(await split()).toBe(field === 'name' ? 'guessed' : 'known');
    expect(await holds()).toEqual([]);
    expect(await edit(field)).toEqual([[mirror, 'withdrawn']]);
    const [old, now] = [{ [field]: shown }, { [field]: mirror }];
    const written = [{ [field]: 'withdrawn' }, 'so', true, null, { [field]: Number(number) }];
    expect(await ledger()).toEqual(['resolve', { [field]: base }, old, now, ...written]);
  });

  it.each(['email', 'phone'] as const)('with "service", stores an empty %s as NULL', async (field) => {
    await hold(field, { shown_value: `'""'` });
    expect(await resolve(field, 'service')).toEqual(['ended', 'resolved']);
    for (const table of ['sync.user_base', 'mirror.users']) expect((await values(table))[field]).toBeNull();
  });

  it.each(all)('with "mirror", approves the push of the mirror’s value: %s', async (field) => {
    const { base, mirror, shown } = fields[field];
    await hold(field);
    expect(await resolve(field, 'mirror')).toEqual(['waiting', 'resolved']);
    expect(await values('sync.user_base')).toEqual(sideOf('base'));
    expect(await values('mirror.users')).toEqual(sideOf('mirror'));
    expect(await holds()).toEqual([[field, 'conflict', 'approved', false, true]]);
    expect(await edit(field)).toEqual([[mirror, null]]);
    expect((await ledger())?.slice(0, 5)).toEqual([
      'resolve',
      { [field]: base },
      { [field]: shown },
      { [field]: mirror },
      {},
    ]);
  });

  it.each(all)('with "value", writes the typed value to the mirror as a new edit: %s', async (field) => {
    const { base, mirror, taken, shown, typed } = fields[field];
    await hold(field);
    const [text, value] = typed;
    expect(await resolve(field, 'value', `, value => '${text}'`)).toEqual(['waiting', 'resolved']);
    expect(await values('sync.user_base')).toEqual({ ...sideOf('base'), [field]: taken });
    expect(await values('mirror.users')).toEqual({ ...sideOf('mirror'), [field]: value });
    expect(await holds()).toEqual([]);
    expect(await edit(field)).toEqual([[value, null]]);
    expect(await run(`select ended_how from sync.edits where new_value = ${json(mirror)}`)).toEqual([
      ['replaced'],
    ]);
    const edited = [{ [field]: shown }, { [field]: value }, { [field]: 'edited' }];
    expect((await ledger())?.slice(0, 5)).toEqual(['resolve', { [field]: base }, ...edited]);
  });

  it.each([
    ['a limit on a batch', { reason: `'limit'`, batch: `'abc'` }, false, ['limit', null]],
    ['a review', { reason: `'review'` }, false, ['review', null]],
    ['a limit on this field only', { reason: `'limit'`, alone: 'true' }, false, undefined],
    ['a conflict under four eyes', {}, true, ['limit', null]],
    ['a rejected limit', { reason: `'limit'`, decision: `'rejected'` }, false, undefined],
  ])('holds a typed value only if the typed value needs approval: %s', async (_, more, fourEyes, left) => {
    await run(`update sync.teams set four_eyes = ${fourEyes}`);
    await hold('email', more);
    const state = await resolve('email', 'value', `, value => 'third@example.com'`);
    expect(state).toEqual([left === undefined ? 'waiting' : 'held', 'resolved']);
    expect((await holds()).map(([, ...rest]) => rest)).toEqual(
      left === undefined ? [] : [[...left, false, true]],
    );
  });

  it('with "value", approves the mirror’s value if the typed value is the same', async () => {
    await hold('name');
    expect(await resolve('name', 'value', `, value => 'Anna Berg'`)).toEqual(['waiting', 'resolved']);
    expect(await holds()).toEqual([['name', 'conflict', 'approved', false, true]]);
  });

  it('with "mirror", marks the split of an approved name as known', async () => {
    await run(
      `begin; select set_config('musterd.writing', 'on', true); update mirror.users set name_split = 'guessed'; commit`,
    );
    await hold('name', { reason: `'unsupported'` });
    expect(await resolve('name', 'mirror')).toEqual(['waiting', 'resolved']);
    expect(await split()).toBe('known');
  });

  it.each([
    ['conflict', 'email', null],
    ['refused', 'email', 'old@example.com'],
    ['returned', 'email', 'old@example.com'],
    ['limit', 'email', null],
    ['review', 'email', null],
  ] as const)(
    'with "service" on a hold "%s" of an %s that the service shows as empty, sets the value in the mirror to %s',
    async (reason, field, taken) => {
      await hold(field, { reason: `'${reason}'`, shown_value: 'null' });
      await run('update sync.held_fields set service_value = null');
      expect(await resolve(field, 'service', `, seen_service => ''`)).toEqual(['ended', 'resolved']);
      expect((await values('mirror.users')).email).toBe(taken);
    },
  );

  it.each(['conflict', 'refused', 'returned'])(
    'with "service", empties a field held as %s only if the caller has seen the empty value of the service',
    async (reason) => {
      await hold('phone', { reason: `'${reason}'`, shown_value: 'null' });
      expect(await resolve('phone', 'service', `, seen_service => '15550102'`)).toEqual(['held', 'moved']);
      expect(await resolve('phone', 'service', `, seen_service => ''`)).toEqual(['ended', 'resolved']);
      expect([(await values('mirror.users')).phone, (await values('sync.user_base')).phone]).toEqual([
        null,
        null,
      ]);
    },
  );

  it('with "service", restores the agreed name and the earlier split if the service shows the agreed name', async () => {
    await hold('name', { shown_value: json('Anne Berg') });
    expect(await resolve('name', 'service')).toEqual(['ended', 'resolved']);
    expect([await values('mirror.users'), await split()]).toEqual([
      { ...sideOf('mirror'), name: fields.name.base },
      'known',
    ]);
  });

  it.each(['conflict', 'limit', 'review'])(
    'with "mirror", approves a push of a field held as %s, although the service has emptied the field',
    async (reason) => {
      await hold('phone', { reason: `'${reason}'`, shown_value: 'null' });
      await run('update sync.held_fields set service_value = null');
      expect(await resolve('phone', 'mirror')).toEqual(['waiting', 'resolved']);
      expect((await values('sync.user_base')).phone).toBeNull();
      expect(
        await run('select base_value, service_value, mirror_value, decision from sync.held_fields'),
      ).toEqual([[null, null, '15550101', 'approved']]);
    },
  );

  it('with "service", makes the group "edits" due, and sets agreed_at of base to now', async () => {
    await hold('email');
    await resolve('email', 'service');
    expect(await run('select run_group from sync.due where mark is null')).toEqual([['edits']]);
    expect(await run(`select agreed_at > now() - interval '1 day' as is_new from sync.user_base`)).toEqual([
      [true],
    ]);
  });

  it('with "mirror", approves the push of an unedited name over an empty name of the service', async () => {
    await run(`update mirror.users set first_name = 'Anne'`);
    await run(`insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value)
      values (41, 1, 'name', 'conflict', ${json(fields.name.base)}, ${json(fields.name.base)}, '""', '""')`);
    expect(await resolve('name', 'mirror')).toEqual(['waiting', 'resolved']);
    expect([await baseName(), (await values('mirror.users')).name]).toEqual(['', fields.name.base]);
    expect(await holds()).toEqual([['name', 'conflict', 'approved', false, true]]);
  });

  it('checks a typed value and records its author, even if the session sets musterd.writing', async () => {
    await run(`update sync.teams set four_eyes = true; update sync.edits set authors = '{bob}'`);
    await hold('email');
    const forged = `set local musterd.writing = 'on'; set local musterd.run = '1';`;
    const typed = (value: string) =>
      run(`${forged} select outcome from sync.resolve(41, 1, 'email', 'value', '${value}', 'so')`);
    for (const value of ['nobody', '']) await expect(typed(value)).rejects.toThrow(/email/);
    await typed('third@example.com');
    expect(
      await run(`select authors @> array['bob', sync.person(session_user)] as has_both, edited_by = session_user as is_mine
      from sync.edits where ended_at is null and field = 'email'`),
    ).toEqual([[true, true]]);
    expect(
      await run(
        `select side from report.roster_changes where field = 'email' order by changed_at desc limit 1`,
      ),
    ).toEqual([['mirror']]);
    expect(
      await run(
        "set local musterd.writing = 'on'; select count(*) from sync.resolve(41, 1, 'email', 'mirror'); select current_setting('musterd.writing')",
      ),
    ).toEqual([['on']]);
  });

  it('refuses a typed value of an approver who may not edit the field', async () => {
    await hold('role_id');
    await run(`create role typist_${process.pid} login in role musterd_approver`);
    try {
      const typing = `set local session authorization typist_${process.pid}; select outcome from sync.resolve(41, 1, 'role_id',`;
      await expect(run(`${typing} 'value', '5')`)).rejects.toThrow('may not edit role_id');
      expect(await run(`${typing} 'mirror')`)).toEqual([['resolved']]);
    } finally {
      await run(`drop role typist_${process.pid}`);
    }
  });

  it.each(['service', 'mirror'])(
    'with "%s", leaves base unchanged while a push of an older edit of the field is open',
    async (take) => {
      await hold('email');
      await run(
        `insert into sync.changes (team_id, user_id, kind, state, new, edits) values (41, 1, 'push', 'open', '{"email": "mid@example.com"}', '{"email": 7}')`,
      );
      const done = await resolve('email', take);
      expect(done).toEqual(take === 'service' ? ['sending', 'on its way'] : ['waiting', 'resolved']);
      expect(await values('sync.user_base')).toEqual(sideOf('base'));
      expect(await values('mirror.users')).toEqual(sideOf('mirror'));
    },
  );

  it('refuses to empty a role, and withdraws the edit if the typed value is the agreed value', async () => {
    await hold('role_id');
    await expect(run(`select from sync.resolve(41, 1, 'role_id', 'value')`)).rejects.toThrow(
      'cannot be emptied',
    );
    await hold('email', { reason: `'limit'`, batch: `'abc'`, shown_value: json('old@example.com') });
    expect(await resolve('email', 'value', `, value => 'old@example.com'`)).toEqual(['ended', 'resolved']);
    expect((await ledger())?.[4]).toEqual({ email: 'withdrawn' });
    expect(await run(`select kind, old_value, new_value from report.changes`)).toEqual([
      ['discard', 'new@example.com', 'old@example.com'],
    ]);
  });

  const refusals = {
    'an unseen edit': [`, edit_id => 999`, 'select', ['ended', 'moved']],
    'an unseen value of the service': [`, seen_service => 'x@example.com'`, 'select', ['held', 'moved']],
    'a field that was edited again': [
      '',
      `update mirror.users set email = 'again@example.com'`,
      ['ended', 'moved'],
    ],
    'a field held on request': [
      '',
      `update sync.held_fields set until = now() + interval '1 h'`,
      ['held', 'asked'],
    ],
    'a user who has left': [
      '',
      `begin; select set_config('musterd.writing', 'on', true); update mirror.users set gone_at = now(); commit`,
      ['held', 'gone'],
    ],
    'an edit of the caller under four eyes': [
      '',
      `update sync.teams set four_eyes = true; update sync.edits set authors = array[sync.person(session_user)] where field = 'email'`,
      ['held', 'own'],
    ],
  } as const;
  it.each(Object.entries(refusals))(
    'changes nothing and returns an outcome other than "resolved" for %s',
    async (_, [more, change, answer]) => {
      await hold('email');
      await run(change);
      const state = async () => [await values('mirror.users'), await values('sync.user_base'), await holds()];
      const there = await state();
      expect(await resolve('email', 'mirror', more)).toEqual(answer);
      expect(await state()).toEqual(there);
      expect(await run('select from sync.changes')).toEqual([]);
    },
  );

  it('with "mirror", approves the push if edit_id and seen_service match the held field', async () => {
    await hold('email');
    const [[number] = []] = await run('select edit_id from sync.held_fields');
    const more = `, edit_id => ${String(number)}, seen_service => 'web@example.com'`;
    expect(await resolve('email', 'mirror', more)).toEqual(['waiting', 'resolved']);
  });

  it('gives two fields of one transaction the same decision id, and gives a field of a later transaction a new id', async () => {
    for (const field of all) await hold(field);
    const two = await run(`with one as materialized (select * from sync.resolve(41, 1, 'email', 'mirror'))
      select o.decision_id, t.decision_id as part_of from one o
      cross join lateral sync.resolve(41, 1, 'phone', 'mirror', part_of => o.decision_id) t`);
    expect(two[0]?.[0]).toBe(two[0]?.[1]);
    const [[later] = []] = await run(
      `select decision_id from sync.resolve(41, 1, 'role_id', 'mirror', part_of => ${String(two[0]?.[0])})`,
    );
    expect(later).not.toBe(two[0]?.[0]);
  });

  it.each([
    ['email', 'both', '', '"both" is not mirror, service or value'],
    ['role_id', 'value', `, value => 'chief'`, 'invalid input syntax for type bigint: "chief"'],
    ['email', 'value', `, value => 'nobody'`, '"nobody" is not an email address'],
    ['phone', 'mirror', '', 'The phone of user 1 is not held'],
  ] as const)('refuses the arguments %s, %s%s, and names the mistake', async (field, take, more, words) => {
    if (field !== 'phone') await hold(field);
    await expect(resolve(field, take, more)).rejects.toThrow(words);
  });

  it.each(['', 'Anne', 'Anne Berg', ' Anne\u00A0 Marie\tBerg ', 'A\u030Asa B', 'a|b c', '\u2003', 'x  y'])(
    'mirror.split_name splits %j in the same way as splitName',
    async (text) => {
      const [[halves] = []] = await run(`select mirror.split_name(${json(text)} #>> '{}')`);
      expect(halves).toEqual(splitName(text));
    },
  );
});
