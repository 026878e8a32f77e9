import { sql as text } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { writeHolds } from '../../src/mirror/users/holds.ts';
import { applyUsers, forgetUsers } from '../../src/mirror/users/users-write.ts';
import type { Field } from '../../src/model/fields.ts';
import type {
  Hold,
  HoldReason,
  Move,
  UserCase,
  UserDetails,
  UserPlan,
  UserWrite,
} from '../../src/model/user-plan.ts';
import type { MirrorRow, MirrorUser } from '../../src/model/user.ts';
import { decisions, moveOf } from '../support/decisions.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';
import { columnsOf } from './columns-of.ts';

const teamId = 41n;
const observed = { joined: '', role: null, resolved: true, gone: false };
const anne: MirrorRow = {
  ...observed,
  name: { first: 'Anne', last: 'Berg' },
  split: 'known',
  email: 'anne@example.com',
  phone: '15550100',
  roleId: 3n,
};
const eva: MirrorRow = {
  ...observed,
  name: { first: 'Eva', last: 'Dahl' },
  split: 'guessed',
  email: 'eva@example.com',
  phone: '15550200',
  roleId: 4n,
};

const database = useDatabase();
const { objects: query, write, force } = database;
let other: Database;
let runId = 0n;

beforeAll(async () => {
  other = createDatabase({ url: database.url, applicationName: 'musterd test' });
  await query(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`);
  runId = await beginRun(database);
});
afterAll(() => other.close());
beforeEach(async () => {
  const tables = [
    'mirror.users',
    'sync.user_base',
    'sync.held_fields',
    'sync.absences',
    'sync.changes',
    'sync.edits',
  ];
  await force(tables.map((table) => `delete from ${table}`).join(';'));
  // The same person of another team, whom no statement of this one may touch.
  for (const team of [41, 42]) {
    await force(`insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id,
        role, resolved, created_at, updated_at, user_created_at, user_updated_at, raw)
      values (${team}, 1, 'Anne Berg', 'Anne', 'Berg', 'known', 'anne@example.com', '15550100', 3, 'agent', true,
        '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '{"from": "before"}')`);
    await query(`insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      values (${team}, 1, 'Anne Berg', 'Anne', 'Berg', 'anne@example.com', '15550100', 3)`);
  }
});

const details: UserDetails = {
  createdAt: '2026-02-01T00:00:00Z',
  updatedAt: '2026-02-02T00:00:00Z',
  userCreatedAt: '2026-02-03T00:00:00Z',
  userUpdatedAt: '2026-02-04T00:00:00Z',
  raw: { from: 'now' },
};
const writeOf = (more: Partial<UserWrite> = {}): UserWrite => ({
  id: 1n,
  expected: anne,
  mirror: eva,
  observed: { name: 'Eva Dahl', role: 'owner', resolved: true, details },
  base: { ...eva, joined: 'Eva Dahl' },
  ...more,
});
const planOf = (more: Partial<UserPlan> = {}): UserPlan => ({
  id: 1n,
  case: 'merge',
  fields: decisions(),
  write: writeOf(),
  ...more,
});
const run = () => ({ teamId, runId });
const apply = (...plans: readonly UserPlan[]) => write((tx) => applyUsers(tx, run(), plans));
const mirrored = (id = 1, team = 41) =>
  query(`select first_name, last_name, name_split, email, phone, role_id, name, role, resolved, gone_at,
    updated_at::date::text as updated, raw from mirror.users where team_id = ${team} and id = ${id}`);
const agreed = (id = 1, team = 41) =>
  query(`select name, first_name, last_name, email, phone, role_id from sync.user_base
    where team_id = ${team} and id = ${id}`);
const [evaInSql, anneInSql] = [columnsOf(eva), columnsOf(anne)];

describe('applyUsers, if the row is unchanged since its read', () => {
  it('writes the row of the mirror and the row of base, only in the given team', async () => {
    expect(await apply(planOf())).toEqual([]);
    const seen = { name: 'Eva Dahl', role: 'owner', resolved: true, gone_at: null };
    expect(await mirrored()).toEqual([
      { ...evaInSql, ...seen, name_split: 'guessed', updated: '2026-02-02', raw: { from: 'now' } },
    ]);
    expect(await agreed()).toEqual([{ ...evaInSql, name: 'Eva Dahl' }]);
    expect(await mirrored(1, 42)).toMatchObject([{ ...anneInSql, updated: '2026-01-02' }]);
    expect(await agreed(1, 42)).toMatchObject([anneInSql]);
  });

  it('keeps times and raw values of a row if the plan has no new times and raw values', async () => {
    const observed = { ...writeOf().observed, resolved: false, details: null };
    await apply(planOf({ write: writeOf({ observed }) }));
    expect(await mirrored()).toMatchObject([
      { ...evaInSql, resolved: false, updated: '2026-01-02', raw: { from: 'before' } },
    ]);
  });

  it('creates a missing row, with empty values if the service has no values', async () => {
    const nobody: MirrorRow = {
      ...eva,
      name: { first: '', last: '' },
      email: null,
      phone: null,
      roleId: null,
    };
    const plan = planOf({
      id: 2n,
      case: 'adopt',
      write: writeOf({ id: 2n, expected: null, mirror: nobody, base: { ...nobody, joined: '' } }),
    });
    expect(await apply(plan)).toEqual([]);
    const values = { first_name: '', last_name: '', email: null, phone: null, role_id: null };
    expect(await mirrored(2)).toMatchObject([{ ...values, updated: '2026-02-02' }]);
    expect(await agreed(2)).toEqual([{ ...values, name: '' }]);
    // It is told from a row that holds something.
    const changed = { ...nobody, phone: '15550300' };
    const again = (expected: MirrorRow) =>
      planOf({ id: 2n, write: writeOf({ id: 2n, expected, mirror: changed }) });
    expect(await apply(again({ ...nobody, email: 'somebody@example.com' }))).toEqual([2n]);
    expect(await apply(again(nobody))).toEqual([]);
    expect(await mirrored(2)).toMatchObject([{ ...values, phone: '15550300' }]);
  });

  it('writes base only if a base value differs', async () => {
    await force("update sync.user_base set agreed_at = now() - interval '1 day'");
    const base = { ...anne, joined: 'Anne Berg' };
    const isOld = () =>
      query(
        "select agreed_at < now() - interval '12 hours' as old from sync.user_base where team_id = 41 and id = 1",
      );
    await apply(planOf({ write: writeOf({ base }) }));
    expect(await isOld()).toEqual([{ old: true }]);
    await apply(planOf({ write: writeOf({ expected: eva, base: { ...base, joined: 'Anne  Berg' } }) }));
    expect(await isOld()).toEqual([{ old: false }]);
  });
});

/** Says of users that the service shows them older than before. */
const showOlder = 'update sync.user_base set older_since = now(), older_passes = 1';
const older = () =>
  query('select team_id, id from sync.user_base where older_since is not null order by 1, 2');

describe('applyUsers, if the row has changed since its read', () => {
  const untouched = async () => {
    expect(await agreed()).toMatchObject([anneInSql]);
    expect(await query('select * from sync.changes')).toEqual([]);
    expect(await query('select field from sync.held_fields')).toEqual([]);
    expect(await query('select id from sync.absences')).toEqual([{ id: 1n }]);
    expect(await older()).toEqual([{ team_id: 41n, id: 1n }]);
  };
  const hold: Hold = {
    field: 'name',
    reason: 'conflict',
    base: null,
    mirror: null,
    service: null,
    detail: '',
  };
  const full = planOf({
    fields: decisions({
      email: moveOf('pull', { base: 'a', mirror: 'a', service: 'b' }),
      name: { kind: 'hold', hold },
    }),
  });
  const edits = {
    first_name: `first_name = 'Anna'`,
    last_name: `last_name = 'Borg'`,
    name_split: `name_split = 'guessed'`,
    email: `email = 'anna@example.com'`,
    phone: `phone = '15550101'`,
    'phone (to null)': 'phone = null',
    role_id: 'role_id = 5',
  };
  beforeEach(async () => {
    await query(
      `insert into sync.absences (team_id, resource, id, missing_since) values (41, 'users', 1, now())`,
    );
    await query(`${showOlder} where team_id = 41`);
  });

  it.each(Object.entries(edits))('does not write the row if %s was edited', async (_, edit) => {
    await query(`update mirror.users set ${edit} where team_id = 41`);
    const before = await mirrored();
    expect(await apply(full)).toEqual([1n]);
    expect(await mirrored()).toEqual(before);
    await untouched();
  });

  it('skips a row that an editor has locked, and writes the next row', async () => {
    await apply(planOf({ id: 2n, case: 'adopt', write: writeOf({ id: 2n, expected: null, mirror: anne }) }));
    await query('delete from sync.changes');
    await other.transaction(async (tx) => {
      await text`select from mirror.users where team_id = 41 and id = 1 for update`.execute(tx);
      const second = planOf({ id: 2n, write: writeOf({ id: 2n }) });
      expect(await apply(full, second)).toEqual([1n]);
    });
    expect(await mirrored()).toMatchObject([anneInSql]);
    expect(await mirrored(2)).toMatchObject([evaInSql]);
    await untouched();
  });

  it('skips a row that was created or deleted since its read', async () => {
    expect(await apply({ ...full, case: 'adopt', write: writeOf({ expected: null }) })).toEqual([1n]);
    await untouched();
    expect(await apply(planOf({ id: 9n, write: writeOf({ id: 9n }) }))).toEqual([9n]);
    expect(await mirrored(9)).toEqual([]);
    expect(await agreed(9)).toEqual([]);
  });
});

describe('applyUsers, if the service shows a user again', () => {
  const presences: Readonly<Record<UserCase, { readonly missing: boolean; readonly stale: boolean }>> = {
    adopt: { missing: false, stale: false },
    return: { missing: false, stale: false },
    merge: { missing: false, stale: false },
    unresolved: { missing: false, stale: true },
    missing: { missing: true, stale: true },
    forget: { missing: false, stale: false },
    stranger: { missing: true, stale: true },
    waiting: { missing: true, stale: true },
  };

  it('clears gone_at of the user', async () => {
    await force('update mirror.users set gone_at = now() where id = 1');
    await apply(planOf({ case: 'return', write: writeOf({ expected: { ...anne, gone: true } }) }));
    expect(await mirrored()).toMatchObject([{ ...evaInSql, gone_at: null }]);
    expect(await mirrored(1, 42)).toMatchObject([{ gone_at: expect.any(Date) as Date }]);
  });

  it.each(Object.entries(presences))(
    'a plan with the case "%s" leaves the marks "missing" and "stale" of the user as %j',
    async (presence, left) => {
      await query(`insert into sync.absences (team_id, resource, id, missing_since)
      values (41, 'users', 1, now()), (41, 'users', 2, now()), (41, 'tags', 1, now()), (42, 'users', 1, now())`);
      await query(
        `insert into sync.user_base (team_id, id, name, first_name, last_name) values (41, 2, '', '', ''); ${showOlder}`,
      );
      await apply(planOf({ case: presence as UserCase, write: null }));
      expect(await query('select team_id, resource, id from sync.absences order by 1, 2, 3')).toEqual([
        { team_id: 41n, resource: 'tags', id: 1n },
        ...(left.missing ? [{ team_id: 41n, resource: 'users', id: 1n }] : []),
        { team_id: 41n, resource: 'users', id: 2n },
        { team_id: 42n, resource: 'users', id: 1n },
      ]);
      expect(await older()).toEqual([
        ...(left.stale ? [{ team_id: 41n, id: 1n }] : []),
        { team_id: 41n, id: 2n },
        { team_id: 42n, id: 1n },
      ]);
    },
  );
});

type Edit = 'the same edit' | 'the same value again' | 'another value';

describe('a held field', () => {
  const holdOf = (reason: HoldReason, mirror = 'new'): Hold => ({
    field: 'email',
    reason,
    base: 'new',
    mirror,
    service: 'new',
    detail: 'new',
  });
  const held = () =>
    query(
      'select team_id, field, sync.held_because(reason, decision, until) as reason, base_value, mirror_value, service_value, shown_value, detail, until, run_id from sync.held_fields order by 1, 2',
    );
  /** The first edit of the email, to `old`, is held. */
  const heldBefore = (reason: HoldReason, until: string) =>
    force(`update mirror.users set email = 'old' where team_id = 41 and id = 1;
      insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, detail, until, edit_id, decision)
      values (41, 1, 'email', replace('${reason}', 'rejected', 'review'), '"old"', '"old"', '"old"', 'old', ${until},
        sync.find_edit(41, 1, 'email'), ${reason === 'rejected' ? `'${reason}'` : 'null'})`);
  /** It is another edit by now: it may have the same value. */
  const editAgain = (to: string) =>
    force(`update sync.edits set ended_at = now(), ended_how = 'replaced' where team_id = 41 and ended_at is null;
      update mirror.users set email = '${to}' where team_id = 41 and id = 1; select sync.find_edit(41, 1, 'email')`);
  const ahead = `now() + interval '1 hour'`;
  const past = `now() - interval '1 hour'`;

  /** What was held, until when, what is held now, of which edit: which of both stands. */
  const cases: readonly (readonly [HoldReason, string, HoldReason, Edit, 'old' | 'new'])[] = [
    ['asked', ahead, 'conflict', 'another value', 'old'],
    ['asked', ahead, 'rejected', 'another value', 'old'],
    ['asked', past, 'conflict', 'another value', 'new'],
    ['rejected', 'null', 'limit', 'the same edit', 'old'],
    ['rejected', 'null', 'limit', 'the same value again', 'new'],
    ['rejected', 'null', 'limit', 'another value', 'new'],
    ['rejected', 'null', 'rejected', 'the same edit', 'new'],
    ['conflict', 'null', 'limit', 'the same edit', 'new'],
  ];
  it.each(cases)(
    'writeHolds replaces a hold, but no requested hold and no rejection of the same edit: "%s" until %s, "%s" of %s: %s (O1)',
    async (was, until, now, edit, stands) => {
      await heldBefore(was, until);
      const mirror = edit === 'another value' ? 'new' : 'old';
      if (edit !== 'the same edit') await editAgain(mirror);
      await write((tx) => writeHolds(tx, run(), [{ id: 1n, hold: holdOf(now, mirror) }]));
      const old = { reason: was, base_value: 'old', mirror_value: 'old', detail: 'old', run_id: null };
      const values = { base_value: 'new', mirror_value: mirror, service_value: 'new', shown_value: 'new' };
      const one = { reason: now, ...values, detail: 'new', until: null, run_id: runId };
      expect(await held()).toMatchObject([stands === 'old' ? old : one]);
      const recorded = now === 'rejected' ? [] : [{ outcome: { email: now } }];
      expect(await query(`select outcome from sync.changes where kind = 'hold'`)).toEqual(recorded);
      const isOfLasting = `select h.edit_id = e.edit_id as is_lasting from sync.held_fields h
        join sync.edits e on e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null`;
      expect(await query(isOfLasting)).toEqual([
        { is_lasting: stands === 'new' || edit === 'the same edit' },
      ]);
    },
  );

  it('writeHolds refers to an edit by an unknown author if the field was edited with triggers off', async () => {
    await force(`update mirror.users set email = 'new' where team_id = 41 and id = 1`);
    const held = { ...holdOf('conflict'), base: 'old' };
    await write((tx) => writeHolds(tx, run(), [{ id: 1n, hold: held }]));
    expect(
      await query(`select e.authors, h.base_value, h.mirror_value, h.service_value, h.shown_value from sync.held_fields h
        join sync.edits e on e.edit_id = h.edit_id and e.ended_at is null`),
    ).toEqual([
      { authors: [''], base_value: 'old', mirror_value: 'new', service_value: 'new', shown_value: 'new' },
    ]);
  });

  describe('with a decision made during the run', () => {
    const decided = (when: string, edit = 7) =>
      query(`insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value,
          shown_value, detail, decision, edit_id)
        values (41, 1, 'email', 'limit', '"old"', '"old"', '"old"', '"old"', 'old', 'approved', 7);
        insert into sync.changes (team_id, user_id, kind, edits, decision_id, closed_at)
        select 41, 1, 'approve', '{"email": ${edit}}', 1, started_at ${when} from sync.runs where run_id = ${runId}`);
    const after = `+ interval '1 second'`;
    const before = `- interval '1 second'`;
    const decisionNow = async () => (await query('select decision from sync.held_fields'))[0]?.['decision'];

    it.each([
      ['is held again', decisions({ email: { kind: 'hold', hold: holdOf('conflict') } }), null],
      ['is no longer held', decisions({ email: { kind: 'same', ends: true } }), undefined],
      ['shows another value', decisions({ email: { kind: 'held', shown: 'other' } }), null],
    ] as const)('keeps a decision made during the run even if the field %s', async (_, fields, otherwise) => {
      await decided(after);
      await apply(planOf({ fields, write: null }));
      expect(await decisionNow()).toBe('approved');
      for (const decide of [() => decided(before), () => decided(after, 8)]) {
        await query('delete from sync.held_fields; delete from sync.changes');
        await decide();
        await apply(planOf({ fields, write: null }));
        expect(await decisionNow()).toBe(otherwise);
      }
    });
  });

  it.each([
    ['asked', ahead, true],
    ['asked', past, false],
    ['conflict', 'null', false],
    ['limit', ahead, true],
  ] as const)(
    'applyUsers removes a hold of a field with equal sides, unless its end is in the future: "%s" until %s, kept: %s',
    async (reason, until, stays) => {
      await heldBefore(reason, until);
      await query(`insert into sync.held_fields (team_id, user_id, field, reason)
      values (41, 1, 'phone', 'conflict'), (41, 2, 'email', 'conflict'), (42, 1, 'email', 'conflict')`);
      await apply(planOf({ fields: decisions({ email: { kind: 'same', ends: true } }), write: null }));
      const left = (await query('select team_id, user_id, field from sync.held_fields order by 1, 2, 3')).map(
        (row) => Object.values(row).join(' '),
      );
      expect(left).toEqual([...(stays ? ['41 1 email'] : []), '41 1 phone', '41 2 email', '42 1 email']);
    },
  );
});

describe('applyUsers in the ledger', () => {
  const rows = () => query('select kind, state, base, old, new from sync.changes order by change_id');
  const move = (kind: Move['kind'], field: Field) =>
    moveOf(kind, { base: `base of ${field}`, mirror: `mirror of ${field}`, service: `service of ${field}` });

  it('records old and new values of pulled and settled fields, and nothing of a push', async () => {
    await apply(
      planOf({
        fields: decisions({
          email: move('pull', 'email'),
          phone: move('settle', 'phone'),
          roleId: move('push', 'roleId'),
        }),
      }),
    );
    expect(await rows()).toEqual([
      {
        kind: 'pull',
        state: 'closed',
        base: { email: 'base of email' },
        old: { email: 'mirror of email' },
        new: { email: 'eva@example.com' },
      },
      {
        kind: 'settle',
        state: 'closed',
        base: { phone: 'base of phone' },
        old: { phone: 'mirror of phone' },
        new: { phone: '15550200' },
      },
    ]);
  });

  it('records an adopted user, and a returning user with the values of the old row', async () => {
    const inLedger = ({ name, email, phone, roleId }: MirrorUser) => ({
      name,
      email,
      phone,
      role_id: Number(roleId),
    });
    await apply(planOf({ case: 'return', write: writeOf({ expected: { ...anne, gone: true } }) }));
    await apply(planOf({ id: 2n, case: 'adopt', write: writeOf({ id: 2n, expected: null }) }));
    expect(await rows()).toEqual([
      { kind: 'return', state: 'closed', base: {}, old: inLedger(anne), new: inLedger(eva) },
      { kind: 'adopt', state: 'closed', base: {}, old: {}, new: inLedger(eva) },
    ]);
  });
});

describe('forgetUsers', () => {
  it('deletes base, holds and absence of a user in one team, ends the period, and adds a line to the ledger', async () => {
    for (const team of [41, 42]) {
      await query(
        `insert into sync.held_fields (team_id, user_id, field, reason) values (${team}, 1, 'email', 'returned')`,
      );
      await query(`insert into sync.absences (team_id, resource, id, missing_since)
        values (${team}, 'users', 1, now()), (${team}, 'tags', 1, now())`);
    }
    await force('delete from mirror.users');
    await query(`delete from sync.user_periods;
      insert into sync.user_periods (team_id, user_id, valid_from, present, name, first_name, last_name, resolved)
      values (41, 1, now(), true, '', '', '', true), (42, 1, now(), true, '', '', '', true)`);
    await write((tx) => forgetUsers(tx, run(), [1n]));
    const left = await query(`
      select 'base' as what, team_id from sync.user_base union all select 'held', team_id from sync.held_fields
      union all select resource, team_id from sync.absences
      union all select 'there', team_id from sync.user_periods where present and valid_to = 'infinity'
      order by 2, 1`);
    expect(left.map((row) => Object.values(row).join(' '))).toEqual([
      'tags 41',
      ...['base', 'held', 'tags', 'there', 'users'].map((what) => `${what} 42`),
    ]);
    expect(await query('select team_id, user_id, kind from sync.changes')).toEqual([
      { team_id: 41n, user_id: 1n, kind: 'forget' },
    ]);
  });
});
