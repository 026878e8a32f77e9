import { CompiledQuery, sql as text } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { applyResults } from '../../src/mirror/users/apply-results.ts';
import { markSent, openIntents, readIntents } from '../../src/mirror/users/intents.ts';
import { readMovedFields } from '../../src/mirror/users/moved-fields.ts';
import { type Field, type FieldValue, fields } from '../../src/model/fields.ts';
import type { Id } from '../../src/model/id.ts';
import type { Intent, IntentResult } from '../../src/model/intent.ts';
import type { ServiceValue, UserPatch } from '../../src/model/user.ts';
import type { Hold, UserPlan } from '../../src/model/user-plan.ts';
import { decisions, moveOf } from '../support/decisions.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';
import { columnsOf } from './columns-of.ts';

const teamId = 41n;
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
/** All four values of user 1 were agreed on, and edited since: in both teams, of which one must not be touched. */
beforeEach(async () => {
  await force(
    'delete from mirror.users; delete from sync.user_base; delete from sync.changes; delete from sync.held_fields; delete from sync.edits',
  );
  for (const team of [41, 42])
    for (const id of [1, 2]) {
      await force(`insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id,
          resolved, created_at, updated_at, user_created_at, user_updated_at, raw)
        values (${team}, ${id}, 'Anne Berg', 'Robin', 'Doe', 'guessed', 'robin${id}@example.com', '15550177', 9, true,
          '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '{"from": "before"}')`);
      await query(`insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
        values (${team}, ${id}, 'Anne Berg', 'Anne', 'Berg', 'anne@example.com', '15550100', 3)`);
    }
});

const run = () => ({ teamId, runId });
const robin = (id: Id = 1n) => ({
  name: { first: 'Robin', last: 'Doe' },
  email: `robin${id}@example.com`,
  phone: '15550177',
  roleId: 9n,
});
const agreedBefore = {
  name: { first: 'Anne', last: 'Berg' },
  email: 'anne@example.com',
  phone: '15550100',
  roleId: 3n,
};
const planOf = (patch: UserPatch, shows: Partial<Record<Field, ServiceValue>> = {}, id = 1n): UserPlan => {
  const push = (field: Field, mirror: FieldValue) =>
    moveOf('push', { base: agreedBefore[field], mirror, service: shows[field] });
  const edited = fields.flatMap((field) =>
    patch[field] === undefined ? [] : [[field, push(field, patch[field])]],
  );
  return { id, case: 'merge', fields: decisions(Object.fromEntries(edited)), write: null };
};
const openOrBusy = (plans: readonly UserPlan[], approved: readonly Id[] = []) =>
  write((tx) => openIntents(tx, run(), plans, new Set(approved)));
const open = async (...given: Parameters<typeof openOrBusy>) => (await openOrBusy(...given)).intents;
const ledger = () =>
  query(
    'select user_id, state, outcome, request_id, closed_at is not null as is_over from sync.changes order by change_id',
  );
const mirrored = async (id = 1, team = 41) =>
  (
    await query(`select first_name, last_name, name_split, email, phone, role_id, name, raw ->> 'from' as raw,
      concat_ws(' ', created_at::date, updated_at::date, user_created_at::date, user_updated_at::date) as times
      from mirror.users where team_id = ${team} and id = ${id}`)
  )[0];
const agreed = async (id = 1, team = 41) =>
  (
    await query(`select name, first_name, last_name, email, phone, role_id from sync.user_base
      where team_id = ${team} and id = ${id}`)
  )[0];

/** Edits of a user after a plan or a request: the changed values, and the columns that keep theirs. */
const later: readonly (readonly [string, string, object, readonly string[]])[] = [
  ['first name', `first_name = 'Robyn'`, { first_name: 'Robyn' }, ['first_name', 'last_name']],
  ['last name', `last_name = 'Dow'`, { last_name: 'Dow' }, ['first_name', 'last_name']],
  ['email', `email = 'later@example.com'`, { email: 'later@example.com' }, ['email']],
  ['phone', `phone = '15550178'`, { phone: '15550178' }, ['phone']],
  ['no phone', 'phone = null', { phone: null }, ['phone']],
  ['role', 'role_id = 10', { role_id: 10n }, ['role_id']],
];

describe('the intent of a push', () => {
  it('openIntents records the editor of each pushed field, and null for an edit that no trigger recorded', async () => {
    const editors = () => query('select user_id, edited_by from sync.changes order by change_id');
    const asActor = (actor: string, edit: string) =>
      database.db.transaction(async (tx) => {
        await text`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
        await tx.executeQuery(CompiledQuery.raw(`update mirror.users set ${edit} where team_id = 41`));
      });
    await query('delete from sync.edits');
    await asActor('Kim of HR', `phone = '15550178'`);
    await asActor('Lee', `first_name = 'Rob', phone = case when id = 1 then '15550199' end`);
    await query(`update mirror.users set phone = '15550178' where team_id = 42`);
    await query(`update mirror.users set email = 'rob@example.com' where team_id = 41 and id = 1`);
    await query(`update sync.edits set edited_by = 'mallory' where actor = 'Lee' and user_id = 2`);
    // What nobody saw: the triggers were off, or it was written before there was a record.
    await force(`update mirror.users set role_id = 8 where team_id = 41`);
    await force(`update mirror.users set phone = '15550178' where team_id = 41 and id = 1`);
    const name = { first: 'Rob', last: 'Doe' };
    await open([
      planOf({ name, email: 'rob@example.com', phone: '15550178', roleId: 8n }),
      planOf({ name, phone: null }, {}, 2n),
    ]);
    const [[me] = []] = (await query('select session_user::text as me')).map(({ me }) => [me]);
    expect(await editors()).toEqual([
      { user_id: 1n, edited_by: { name: 'Lee', email: me } },
      { user_id: 2n, edited_by: { name: 'mallory for Lee', phone: 'mallory for Lee' } },
    ]);
    await force('delete from sync.changes; delete from sync.edits');
    await open([planOf({ name })]);
    expect(await editors()).toEqual([{ user_id: 1n, edited_by: null }]);
    expect(await query('select user_id, field, edited_by, authors, new_value from sync.edits')).toEqual([
      { user_id: 1n, field: 'name', edited_by: null, authors: [''], new_value: name },
    ]);
  });

  it('openIntents records the sent, agreed and shown values as an open push', async () => {
    const [intent, ...more] = await open([
      planOf(robin(), { name: 'Anna Berg', email: '', phone: undefined, roleId: 5n }),
    ]);
    expect(more).toEqual([]);
    expect(intent).toMatchObject({
      userId: 1n,
      sent: robin(),
      base: { ...agreedBefore, joined: 'Anne Berg' },
      before: { ...agreedBefore, name: { first: 'Anna', last: 'Berg' }, email: null, roleId: 5n },
      decided: [],
      hasLeft: false,
    });
    expect(
      await query('select team_id, user_id, run_id, kind, state, approved, base, new from sync.changes'),
    ).toEqual([
      {
        team_id: teamId,
        user_id: 1n,
        run_id: runId,
        kind: 'push',
        state: 'open',
        approved: false,
        base: { name: agreedBefore.name, email: agreedBefore.email, phone: agreedBefore.phone, role_id: 3 },
        new: { name: robin().name, email: robin().email, phone: robin().phone, role_id: 9 },
      },
    ]);
    expect(await readIntents(database.db.kysely, teamId)).toMatchObject([{ userId: 1n, sent: robin() }]);
    expect(await readIntents(database.db.kysely, 42n)).toEqual([]);
  });

  describe('holds when the push begins', () => {
    /** The edits of `robin()`, of both teams and users, made as an editor makes them. */
    beforeEach(async () => {
      await force(
        'update mirror.users u set phone = b.phone, email = b.email from sync.user_base b where (b.team_id, b.id) = (u.team_id, u.id)',
      );
      await query(`update mirror.users set phone = '15550177', email = 'robin' || id || '@example.com'`);
    });
    const hold = (user: number, field: string, more: Readonly<Record<string, string>> = {}) => {
      const columns = {
        team_id: '41',
        user_id: String(user),
        field: `'${field}'`,
        detail: "''",
        reason: "'limit'",
        ...more,
      };
      return query(
        `insert into sync.held_fields (${Object.keys(columns).join(', ')}) values (${Object.values(columns).join(', ')})`,
      );
    };
    const lasting = `(select edit_id from sync.edits where team_id = 41 and user_id = 1 and field = 'phone' and ended_at is null)`;
    const letPass = { batch: "'abc'", decision: "'approved'" };

    it.each([
      ['no intent for a rejected field', 'phone', { decision: "'rejected'", edit_id: lasting }, 0],
      ['no intent for a field held in a batch', 'phone', { batch: "'abc'", edit_id: lasting }, 0],
      ['an intent for an approved field', 'phone', { ...letPass, edit_id: lasting }, 1],
      ['an intent for a resolved field', 'phone', { decision: "'approved'", edit_id: lasting }, 1],
      ['no intent if another edit of the same value was approved', 'phone', { ...letPass, edit_id: '1' }, 0],
      ['no intent if the approval has no edit', 'phone', letPass, 0],
      ['an intent for the phone while the email is held', 'email', {}, 1],
    ])('openIntents requires the approval of a field that is held: %s', async (_, field, more, opened) => {
      await hold(1, field, more);
      expect(await open([planOf({ phone: '15550177' })])).toHaveLength(opened);
    });

    it('openIntents ignores holds on other users and teams', async () => {
      await hold(2, 'phone');
      await hold(1, 'phone', { team_id: '42' });
      expect(await open([planOf({ phone: '15550177' })])).toHaveLength(1);
    });
  });

  /** Of user 1 in team 41: a phone that an editor set, and the edit that lasts. */
  const setPhone = async (phone = '15550155') => {
    await query(`update mirror.users set phone = '${phone}' where team_id = 41 and id = 1`);
    const [edit] = await query(
      `select edit_id from sync.edits where team_id = 41 and user_id = 1 and field = 'phone' and ended_at is null`,
    );
    return edit?.['edit_id'] as bigint;
  };
  const planOfPhone = (edit?: bigint): UserPlan => ({
    ...planOf({ phone: '15550155' }),
    fields: decisions({
      phone: {
        ...moveOf('push', { base: agreedBefore.phone, mirror: '15550155', service: undefined }),
        edit,
      },
    }),
  });

  it('openIntents opens an intent for the planned edit, and not for another edit of the same value', async () => {
    const planned = await setPhone();
    await query(`update mirror.users set phone = '15550100' where team_id = 41 and id = 1`);
    const another = await setPhone();
    expect(await open([planOfPhone(planned)])).toEqual([]);
    expect(await open([planOfPhone(another)])).toHaveLength(1);
    expect(await query('select user_id, edits from sync.changes')).toEqual([
      { user_id: 1n, edits: { phone: Number(another) } },
    ]);
  });

  it('openIntents records the current edit if the plan lacks an edit, and creates an edit that is not recorded yet', async () => {
    const found = await setPhone();
    expect(await open([planOfPhone()])).toHaveLength(1);
    expect(await query('select edits from sync.changes')).toEqual([{ edits: { phone: Number(found) } }]);
    await force('delete from sync.changes; delete from sync.edits');
    expect(await open([planOfPhone()])).toHaveLength(1);
    expect(
      await query(
        `select c.edits -> 'phone' = to_jsonb(e.edit_id) as is_it, e.edited_by from sync.changes c, sync.edits e`,
      ),
    ).toEqual([{ is_it: true, edited_by: null }]);
  });

  it.each([
    ['withdrawn', `update mirror.users set phone = '15550100' where team_id = 41 and id = 1`],
    ['replaced', `update mirror.users set phone = '15550156' where team_id = 41 and id = 1`],
    [
      'withdrawn and made again',
      `update mirror.users set phone = '15550100' where team_id = 41 and id = 1;
       update mirror.users set phone = '15550155' where team_id = 41 and id = 1`,
    ],
    [
      'rejected',
      `insert into sync.held_fields (team_id, user_id, field, reason, decision, edit_id)
       select team_id, user_id, field, 'limit', 'rejected', edit_id from sync.edits where field = 'phone' and ended_at is null`,
    ],
    [
      'held with another edit’s approval',
      `insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, edit_id)
       values (41, 1, 'phone', 'limit', 'abc', 'spent', 1)`,
    ],
    [
      'held and then approved',
      `insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, edit_id)
       select team_id, user_id, field, 'limit', 'abc', 'approved', edit_id from sync.edits where field = 'phone' and ended_at is null`,
    ],
  ])('markSent refuses a whole request if one of its edits was %s meanwhile', async (_, change) => {
    await open([planOfPhone(await setPhone()), planOf({ roleId: 9n }, {}, 2n)]);
    await query(change);
    expect(await write((tx) => markSent(tx, teamId, [1n, 2n]))).toEqual([1n]);
    expect(await query('select user_id from sync.changes where sent_at is not null')).toEqual([]);
    expect(await write((tx) => markSent(tx, teamId, [2n]))).toEqual([]);
    expect(await query('select user_id from sync.changes where sent_at is not null')).toEqual([
      { user_id: 2n },
    ]);
  });

  /** Somebody let the edit of the phone pass that lasts. */
  const letPhonePass = (more = '') =>
    query(`insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, edit_id)
      select team_id, user_id, field, 'limit', 'abc', 'approved', edit_id from sync.edits
      where team_id = 41 and user_id = 1 and field = 'phone' and ended_at is null;${more}`);

  it('markSent marks an approved edit as sent even if other fields of the user are held', async () => {
    const edit = await setPhone();
    await letPhonePass(`insert into sync.held_fields (team_id, user_id, field, reason)
      values (41, 1, 'email', 'conflict'), (42, 1, 'phone', 'conflict'), (41, 2, 'phone', 'conflict')`);
    await open([planOfPhone(edit)]);
    expect(await write((tx) => markSent(tx, teamId, [1n]))).toEqual([]);
    expect(await query('select user_id from sync.changes where sent_at is not null')).toEqual([
      { user_id: 1n },
    ]);
  });

  it('openIntents marks only the approval of the pushed edit as spent', async () => {
    const edit = await setPhone();
    await letPhonePass(`insert into sync.held_fields (team_id, user_id, field, reason, decision, edit_id)
      values (41, 1, 'email', 'limit', 'approved', ${edit}), (41, 1, 'role_id', 'limit', 'approved', null),
        (42, 1, 'phone', 'limit', 'approved', ${edit}), (41, 2, 'phone', 'limit', 'approved', ${edit}),
        (41, 1, 'name', 'limit', 'rejected', ${edit})`);
    const decided = () =>
      query(
        'select team_id::int as team, user_id::int as id, field, decision from sync.held_fields order by 1, 2, 3',
      );
    const before = await decided();
    expect(await open([planOfPhone(edit)])).toMatchObject([{ decided: ['phone'] }]);
    expect(await decided()).toEqual(
      before.map((row) =>
        row['team'] === 41 && row['id'] === 1 && row['field'] === 'phone'
          ? { ...row, decision: 'spent' }
          : row,
      ),
    );
    expect(await readIntents(database.db.kysely, teamId)).toMatchObject([{ decided: ['phone'] }]);
  });

  it('openIntents keeps an approval while another push of the user is open, and opens no intent for a spent approval', async () => {
    const edit = await setPhone();
    await letPhonePass();
    await query(
      `insert into sync.changes (team_id, user_id, run_id, kind, state) values (41, 1, ${runId}, 'push', 'open')`,
    );
    const decided = () => query('select decision from sync.held_fields');
    expect(await open([planOfPhone(edit)])).toEqual([]);
    expect(await decided()).toEqual([{ decision: 'approved' }]);
    await query(`delete from sync.changes; update sync.held_fields set decision = 'spent'`);
    expect(await open([planOfPhone(edit)])).toEqual([]);
  });

  it('markSent refuses an edit whose approval was changed to a rejection after openIntents (O8)', async () => {
    const edit = await setPhone();
    await letPhonePass();
    await open([planOfPhone(edit)]);
    await query(`update sync.held_fields set decision = 'rejected'`);
    expect(await write((tx) => markSent(tx, teamId, [1n]))).toEqual([1n]);
    expect(await readIntents(database.db.kysely, teamId)).toMatchObject([{ decided: [] }]);
  });

  it('openIntents records base values only for the pushed fields', async () => {
    await open([planOf({ phone: '15550177' })]);
    expect(await query('select base, new from sync.changes')).toEqual([
      { base: { phone: '15550100' }, new: { phone: '15550177' } },
    ]);
  });

  it('openIntents marks only the intents of approved users as approved', async () => {
    await open([planOf({ roleId: 9n }), planOf({ roleId: 9n }, {}, 2n)], [2n]);
    expect(await query('select user_id, approved from sync.changes order by 1')).toEqual([
      { user_id: 1n, approved: false },
      { user_id: 2n, approved: true },
    ]);
  });

  it.each([
    ['edits the user', `update mirror.users set phone = '15550188' where team_id = 41 and id = 1`, [1n]],
    [
      'decides about the user',
      `update sync.held_fields set decision = 'approved' where team_id = 41 and user_id = 1`,
      [1n],
    ],
    [
      'edits the user in another team',
      `update mirror.users set phone = '15550188' where team_id = 42 and id = 1`,
      [],
    ],
    [
      'decides about the user in another team',
      `update sync.held_fields set decision = 'approved' where team_id = 42 and user_id = 1`,
      [],
    ],
  ])('openIntents skips users locked in the given team: a transaction %s', async (_, statement, busy) => {
    await query(`insert into sync.held_fields (team_id, user_id, field, reason)
      values (41, 1, 'email', 'conflict'), (42, 1, 'email', 'conflict')`);
    const plans = [planOf({ roleId: 9n }), planOf({ roleId: 9n }, {}, 2n)];
    await other.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(statement));
      const opened = await openOrBusy(plans);
      expect(opened.busy).toEqual(busy);
      expect(opened.intents.map(({ userId }) => userId)).toEqual(busy.length > 0 ? [2n] : [1n, 2n]);
      expect((await openOrBusy(plans.slice(0, 1))).busy).toEqual(busy);
      await tx.executeQuery(CompiledQuery.raw('rollback; begin'));
    });
    expect((await openOrBusy(plans)).busy).toEqual([]);
    expect(await readIntents(database.db.kysely, teamId)).toHaveLength(2);
  });

  it.each(later)('openIntents opens no intent if the value changed after the plan: %s', async (_, edit) => {
    await query(`update mirror.users set ${edit} where team_id = 41 and id = 1`);
    expect(await open([planOf(robin()), planOf(robin(2n), {}, 2n)])).toMatchObject([{ userId: 2n }]);
    expect(await ledger()).toMatchObject([{ user_id: 2n }]);
  });

  it('openIntents opens an intent although another field of the user has changed, and also for an emptied phone', async () => {
    await query(`update mirror.users set phone = null where team_id = 41 and id = 1`);
    expect(await open([planOf({ email: robin().email })])).toHaveLength(1);
    await query('delete from sync.changes');
    expect(await open([planOf({ phone: null })])).toMatchObject([{ sent: { phone: null } }]);
  });

  it.each([
    ['is marked as gone', 'update mirror.users set gone_at = now() where id = 1'],
    ['has no row', 'delete from mirror.users where team_id = 41 and id = 1'],
    ['has no base', 'delete from sync.user_base where team_id = 41 and id = 1'],
  ])('openIntents opens no intent for a gone or unknown user: the user %s', async (_, change) => {
    await force(change);
    expect(await open([planOf(robin())])).toEqual([]);
    expect(await ledger()).toEqual([]);
  });

  it('openIntents opens no intent while the user has an open push in this team', async () => {
    await query(`insert into sync.changes (team_id, user_id, run_id, kind, state)
      values (42, 1, ${runId}, 'push', 'open'), (41, 1, ${runId}, 'push', 'closed')`);
    expect(await open([planOf({ roleId: 9n })])).toHaveLength(1);
    expect(await open([planOf({ email: robin().email })])).toEqual([]);
  });

  it('markSent marks only the intents of the given users as sent', async () => {
    await open([planOf({ roleId: 9n }), planOf({ roleId: 9n }, {}, 2n)]);
    await query(`insert into sync.changes (team_id, user_id, run_id, kind, state)
      values (42, 2, ${runId}, 'push', 'open'), (41, 2, ${runId}, 'push', 'closed')`);
    await query(`update sync.changes set opened_at = now() - interval '1 hour'`);
    await write((tx) => markSent(tx, teamId, [2n]));
    const intents = await readIntents(database.db.kysely, teamId);
    expect(intents.map(({ userId, hasLeft }) => [userId, hasLeft])).toEqual([
      [1n, false],
      [2n, true],
    ]);
    expect(intents.map(({ ageMs }) => ageMs >= 3_600_000)).toEqual([true, false]);
    expect(await query('select count(*)::int as count from sync.changes where sent_at is not null')).toEqual([
      { count: 1 },
    ]);
  });
});

it('readMovedFields returns each moved field, and whether its user has an open push, has a hold or is gone', async () => {
  const pulled = `'pull', '{"phone": "15550100"}', '{"phone": "15550177"}'`;
  await query(`insert into sync.changes (team_id, user_id, run_id, kind, old, new) values
    (41, 1, ${runId}, ${pulled}), (41, 2, ${runId}, ${pulled}), (41, 3, ${runId}, ${pulled.replace('15550100', '')})`);
  await query(
    `insert into sync.held_fields (team_id, user_id, field, reason) values (41, 2, 'phone', 'conflict')`,
  );
  await force('update mirror.users set gone_at = now() where team_id = 41 and id = 3');
  await open([planOf({ email: robin().email })]);
  await query(
    `insert into sync.changes (team_id, user_id, kind, state, new) values (42, 2, 'push', 'open', '{"phone": "1"}')`,
  );
  const moved = await readMovedFields(database.db.kysely, teamId, runId);
  expect(
    moved.map((of) => [of.userId, of.old, of.hasOpenIntent, of.heldBecause, of.now !== undefined]),
  ).toEqual([
    [1n, '15550100', true, null, true],
    [2n, '15550100', false, 'conflict', true],
    [3n, null, false, null, false],
  ]);
});

/** What the service shows of these values, in bytes of its own. */
const taken = {
  name: { first: 'Robin', last: 'D.' },
  email: 'ROBIN@example.com',
  phone: '+15550177',
  roleId: 11n,
};
const inMirror = columnsOf(robin());
const inBase = columnsOf(agreedBefore);
const takenInSql = columnsOf(taken);
const newer = {
  createdAt: '2026-02-01T00:00:00Z',
  updatedAt: '2026-02-02T00:00:00Z',
  userCreatedAt: '2026-02-03T00:00:00Z',
  userUpdatedAt: '2026-02-04T00:00:00Z',
};
const timesBefore = '2026-01-01 2026-01-02 2026-01-03 2026-01-04';
const all = { name: 'confirmed', email: 'confirmed', phone: 'confirmed', roleId: 'confirmed' } as const;
const resultOf = (intent: Intent, more: Partial<IntentResult> = {}): IntentResult => ({
  intent,
  outcomes: all,
  seen: { id: intent.userId, raw: { from: 'now' }, ...newer },
  taken,
  joined: 'Robin  D.',
  holds: [],
  harmed: false,
  closed: true,
  isDirect: true,
  hasLeft: true,
  requestId: 'request-1',
  ...more,
});
const apply = (...results: readonly IntentResult[]) => write((tx) => applyResults(tx, run(), results));
const opened = async (id: Id = 1n): Promise<Intent> => {
  const [intent] = await open([planOf(robin(id), {}, id)]);
  if (intent === undefined) throw new Error('nothing to send');
  return intent;
};

describe('applyResults of a confirmed field', () => {
  it('stores the service’s values in mirror and base, only for the pushed user, and closes the push', async () => {
    expect(await apply(resultOf(await opened()))).toEqual([]);
    expect(await mirrored()).toEqual({
      ...takenInSql,
      name: 'Robin  D.',
      name_split: 'known',
      raw: 'now',
      times: '2026-02-01 2026-02-02 2026-02-03 2026-02-04',
    });
    expect(await agreed()).toEqual({ ...takenInSql, name: 'Robin  D.' });
    for (const [id, team] of [
      [2, 41],
      [1, 42],
    ] as const) {
      expect(await mirrored(id, team)).toMatchObject({ last_name: 'Doe', times: timesBefore, raw: 'before' });
      expect(await agreed(id, team)).toEqual({ ...inBase, name: 'Anne Berg' });
    }
    expect(await ledger()).toEqual([
      {
        user_id: 1n,
        state: 'closed',
        is_over: true,
        request_id: 'request-1',
        outcome: { name: 'confirmed', email: 'confirmed', phone: 'confirmed', role_id: 'confirmed' },
      },
    ]);
  });

  it.each([true, false])('keeps sent_at of a request that has left, else clears it: %s', async (hasLeft) => {
    const intent = await opened();
    await write((tx) => markSent(tx, teamId, [1n]));
    const outcomes = { name: 'unsent', email: 'unsent', phone: 'unsent', roleId: 'unsent' } as const;
    await apply(resultOf(intent, { outcomes, hasLeft }));
    expect(await query('select sent_at is not null as sent from sync.changes')).toEqual([{ sent: hasLeft }]);
  });

  it('stores for each of two users the values in the user’s own result', async () => {
    const [one, other] = [await opened(), await opened(2n)];
    const others = { name: { first: 'Robin', last: 'E.' }, email: 'E@example.com', phone: '1', roleId: 12n };
    const results = [resultOf(one), resultOf(other, { taken: others, joined: 'Robin E.', requestId: 'r2' })];
    for (const id of [1, 2]) expect(await agreed(id)).toMatchObject(inBase);
    expect(await apply(...results.toReversed())).toEqual([]);
    const second = { ...columnsOf(others), name: 'Robin E.' };
    expect([await mirrored(1), await agreed(1)]).toMatchObject(Array(2).fill(takenInSql));
    expect([await mirrored(2), await agreed(2)]).toMatchObject(Array(2).fill(second));
    expect(await ledger()).toMatchObject([
      { user_id: 1n, state: 'closed', request_id: 'request-1' },
      { user_id: 2n, state: 'closed', request_id: 'r2' },
    ]);
  });

  it.each(later)(
    'keeps a value that was edited while the request was on its way: %s',
    async (_, edit, edited, kept) => {
      const intent = await opened();
      await query(`update mirror.users set ${edit} where team_id = 41 and id = 1`);
      await apply(resultOf(intent));
      const stays = Object.fromEntries(
        Object.entries({ ...inMirror, ...edited }).filter(([column]) => kept.includes(column)),
      );
      expect(await mirrored()).toMatchObject({ ...takenInSql, ...stays });
      expect(await agreed()).toEqual({ ...takenInSql, name: 'Robin  D.' });
    },
  );

  it('stores a confirmed empty phone as null in base', async () => {
    await query('update mirror.users set phone = null where team_id = 41 and id = 1');
    const [empty] = await open([planOf({ phone: null })]);
    if (empty === undefined) throw new Error('nothing to send');
    await apply(resultOf(empty, { outcomes: { phone: 'confirmed' }, taken: { ...taken, phone: null } }));
    expect(await agreed()).toMatchObject({ phone: null });
  });

  it.each<readonly [Field, readonly string[]]>([
    ['name', ['first_name', 'last_name']],
    ['email', ['email']],
    ['phone', ['phone']],
    ['roleId', ['role_id']],
  ])('changes only the confirmed field in mirror and base: %s', async (field, columns) => {
    const outcomes = { name: 'changed', email: 'missing', phone: 'refused', roleId: 'unknown' } as const;
    await apply(resultOf(await opened(), { outcomes: { ...outcomes, [field]: 'confirmed' }, closed: false }));
    const took = Object.fromEntries(
      Object.entries(takenInSql).filter(([column]) => columns.includes(column)),
    );
    const name = field === 'name' ? 'Robin  D.' : 'Anne Berg';
    const split = field === 'name' ? 'known' : 'guessed';
    expect(await mirrored()).toMatchObject({ ...inMirror, ...took, name, name_split: split });
    expect(await agreed()).toEqual({ ...inBase, ...took, name });
  });

  it('keeps a push open while the outcome of one of its fields is unknown', async () => {
    const outcomes = { ...all, phone: 'unknown' } as const;
    await apply(resultOf(await opened(), { outcomes, closed: false, requestId: null }));
    expect(await ledger()).toMatchObject([{ state: 'open', is_over: false, request_id: null }]);
    expect(await readIntents(database.db.kysely, teamId)).toMatchObject([{ sent: { phone: '15550177' } }]);
    const [intent] = await readIntents(database.db.kysely, teamId);
    expect(Object.keys(intent?.sent ?? {})).toEqual(['phone']);
  });
});

describe('applyResults with the user’s row in the answer', () => {
  const shownWith = async (times: Partial<typeof newer>) => {
    const seen = { id: 1n, raw: { from: 'now' }, ...newer, ...times };
    await apply(resultOf(await opened(), { seen }));
    // Values are confirmed by the answer itself, whatever its age.
    expect(await mirrored()).toMatchObject(takenInSql);
    return (await mirrored())?.['raw'];
  };
  it.each([
    [
      'an older updated_at loses',
      { updatedAt: '2026-01-01T00:00:00Z', userUpdatedAt: '2026-01-04T00:00:00Z' },
      'before',
    ],
    [
      'an older user_updated_at loses',
      { updatedAt: '2026-01-02T00:00:00Z', userUpdatedAt: '2026-01-03T00:00:00Z' },
      'before',
    ],
    ['one older and one newer time win', { updatedAt: '2026-01-01T00:00:00Z' }, 'now'],
    ['equal times win', { updatedAt: '2026-01-02T00:00:00Z', userUpdatedAt: '2026-01-04T00:00:00Z' }, 'now'],
  ])('stores the row of the answer unless the times of the row are older: %s', async (_, times, raw) => {
    expect(await shownWith(times)).toBe(raw);
  });

  const decided = (where: string) =>
    query(
      `insert into sync.held_fields (team_id, user_id, field, reason, batch, decision) values (${where})`,
    );
  it.each([
    ['another field is approved', `41, 1, 'phone', 'limit', 'abc', 'approved'`, 'before'],
    ['only the pushed field is approved', `41, 1, 'email', 'limit', 'abc', 'approved'`, 'now'],
    ['another field is held without a decision', `41, 1, 'phone', 'limit', 'abc', null`, 'now'],
    ['another user is approved', `41, 2, 'phone', 'limit', 'abc', 'approved'`, 'now'],
    ['another team has the approval', `42, 1, 'phone', 'limit', 'abc', 'approved'`, 'now'],
  ])('stores the row of a lookup unless another field of the user is approved: %s', async (_, hold, raw) => {
    for (const isDirect of [false, true]) {
      const [intent] = await open([planOf({ email: `robin1@example.com` })]);
      if (intent === undefined) throw new Error('nothing to send');
      await decided(hold);
      const seen = { id: 1n, raw: { from: isDirect ? 'answer' : 'now' }, ...newer };
      await apply(resultOf(intent, { outcomes: { email: 'confirmed' }, seen, isDirect }));
      expect(await mirrored()).toMatchObject({ email: taken.email, raw: isDirect ? 'answer' : raw });
      await force(`delete from sync.held_fields;
        update mirror.users set email = 'robin1@example.com' where team_id = 41 and id = 1;
        update sync.user_base set email = 'anne@example.com' where team_id = 41 and id = 1`);
    }
  });

  it('keeps the stored row and its times if the answer does not show the user', async () => {
    await apply(resultOf(await opened(), { seen: null, outcomes: { ...all, name: 'missing' } }));
    expect(await mirrored()).toMatchObject({
      last_name: 'Doe',
      email: taken.email,
      times: timesBefore,
      raw: 'before',
    });
  });
});

describe('applyResults of an unconfirmed field', () => {
  const none = { name: 'changed', email: 'ineffective', phone: 'refused', roleId: 'unsent' } as const;
  const hold: Hold = {
    field: 'email',
    reason: 'refused',
    base: 'anne@example.com',
    mirror: 'robin1@example.com',
    service: null,
    detail: 'no such host',
  };

  it('changes neither mirror nor base, closes the push, and stores the hold', async () => {
    await apply(resultOf(await opened(), { outcomes: none, seen: null, holds: [hold] }));
    expect(await mirrored()).toMatchObject({ ...inMirror, name: 'Anne Berg', times: timesBefore });
    expect(await agreed()).toEqual({ ...inBase, name: 'Anne Berg' });
    expect(await ledger()).toMatchObject([
      { state: 'closed', outcome: { role_id: 'unsent' } },
      { is_over: true, outcome: { email: 'refused' } },
    ]);
    expect(await query('select team_id, user_id, field, reason, run_id from sync.held_fields')).toEqual([
      { team_id: teamId, user_id: 1n, field: 'email', reason: 'refused', run_id: runId },
    ]);
  });

  describe('a field that a person had approved', () => {
    const edits = () =>
      query(`select field, edit_id from sync.edits where team_id = 41 and user_id = 1 and ended_at is null`);
    /** A person let all four fields of user 1 pass, and their push is open. */
    const openDecided = async (): Promise<Intent> => {
      await query(`update mirror.users set first_name = 'Robin', last_name = 'Doe', email = 'robin1@example.com', phone = '15550177',
        role_id = 9 where team_id = 41 and id = 1`);
      await force(
        `select sync.find_edit(41, 1, f) from unnest(array['name', 'email', 'phone', 'role_id']) f`,
      );
      expect(await edits()).toHaveLength(4);
      await query(`insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, edit_id)
        select team_id, user_id, field, 'limit', 'abc', 'approved', edit_id from sync.edits
        where team_id = 41 and user_id = 1 and ended_at is null`);
      // Another team has the same users and numbers of edits.
      await query(`insert into sync.held_fields (team_id, user_id, field, reason, decision, edit_id)
        select 42, user_id, field, 'limit', 'spent', edit_id from sync.held_fields where team_id = 41
        union all select 41, 2, field, 'limit', 'spent', edit_id from sync.held_fields where team_id = 41`);
      return await opened();
    };
    const decided = async () =>
      Object.fromEntries(
        (
          await query(
            `select field, coalesce(decision, reason) as is from sync.held_fields where team_id = 41 and user_id = 1`,
          )
        ).map(({ field, is }) => [field, is]),
      );
    const others = () =>
      query(`select distinct decision from sync.held_fields where (team_id, user_id) <> (41, 1)`);

    it('restores the approval if the outcome is unsent, unanswered or missing, but not if the outcome is unknown', async () => {
      const intent = await openDecided();
      const outcomes = { name: 'unsent', email: 'unanswered', phone: 'missing', roleId: 'unknown' } as const;
      await apply(resultOf(intent, { outcomes, seen: null, closed: false }));
      expect(await decided()).toEqual({
        name: 'approved',
        email: 'approved',
        phone: 'approved',
        role_id: 'spent',
      });
      expect(await others()).toEqual([{ decision: 'spent' }]);
    });

    it('keeps the approval spent if the outcome is changed, ineffective, refused or unknown (A20)', async () => {
      const intent = await openDecided();
      await apply(resultOf(intent, { outcomes: { ...none, roleId: 'unknown' }, seen: null, closed: false }));
      expect(new Set(Object.values(await decided()))).toEqual(new Set(['spent']));
    });

    it('removes a field from its batch if the result of the push holds the field', async () => {
      const intent = await openDecided();
      const outcomes = { ...none, name: 'confirmed', roleId: 'unanswered' } as const;
      const holds = (['email', 'phone', 'roleId'] as const).map(
        (field): Hold => ({
          ...hold,
          field,
          reason: 'ineffective',
          mirror: robin()[field],
          base: agreedBefore[field],
        }),
      );
      await apply(resultOf(intent, { outcomes, holds }));
      expect(await decided()).toEqual({ email: 'ineffective', phone: 'ineffective', role_id: 'ineffective' });
      expect(
        await query(`select distinct batch from sync.held_fields where team_id = 41 and user_id = 1`),
      ).toEqual([{ batch: null }]);
    });

    it('keeps a decision that was made during the push, and does not restore the approval for a newer edit', async () => {
      const intent = await openDecided();
      await query(`update sync.held_fields set decision = 'rejected' where field = 'phone';
        update sync.held_fields set decision = null where field = 'email';
        update sync.held_fields set edit_id = edit_id + 1000 where field = 'role_id'`);
      const outcomes = { name: 'unsent', email: 'unsent', phone: 'unsent', roleId: 'unsent' } as const;
      await apply(resultOf(intent, { outcomes, seen: null }));
      expect(await decided()).toEqual({
        name: 'approved',
        email: 'limit',
        phone: 'rejected',
        role_id: 'spent',
      });
    });

    it('removes the decision if the outcome is confirmed, and keeps a decision about a newer edit', async () => {
      const intent = await openDecided();
      await query(`update sync.held_fields set edit_id = edit_id + 1000 where field = 'phone'`);
      await apply(resultOf(intent));
      expect(await decided()).toEqual({ phone: 'spent' });
    });

    it('restores all approvals if the row of the user no longer exists', async () => {
      const intent = await openDecided();
      await force('delete from mirror.users where team_id = 41 and id = 1');
      await apply(resultOf(intent));
      expect(Object.values(await decided())).toEqual(['approved', 'approved', 'approved', 'approved']);
      expect(await others()).toEqual([{ decision: 'spent' }]);
    });
  });

  it('stores the damaged name of the service in base, and keeps the name of the mirror', async () => {
    const intent = { ...(await opened()), sent: { email: robin().email } };
    await apply(
      resultOf(intent, {
        outcomes: { email: 'confirmed' },
        harmed: true,
        taken: { ...taken, name: { first: '', last: '' } },
        joined: '',
      }),
    );
    expect(await mirrored()).toMatchObject({ first_name: 'Robin', last_name: 'Doe', name: 'Anne Berg' });
    expect(await agreed()).toMatchObject({ name: '', first_name: '', last_name: '', email: taken.email });
  });
});

describe('applyResults on a row that cannot be written', () => {
  it('keeps the push open while an editor has locked the row, and writes other users', async () => {
    const [one, two] = [await opened(), await opened(2n)];
    const outcome = { email: 'confirmed', phone: 'refused' } as const;
    await other.transaction(async (tx) => {
      await text`select from mirror.users where team_id = 41 and id = 1 for update`.execute(tx);
      expect(await apply(resultOf(one, { outcomes: outcome }), resultOf(two))).toEqual([1n]);
    });
    expect(await mirrored()).toMatchObject(inMirror);
    expect(await agreed()).toEqual({ ...inBase, name: 'Anne Berg' });
    expect(await agreed(2)).toMatchObject(takenInSql);
    expect(await ledger()).toMatchObject([
      { user_id: 1n, state: 'open', outcome, request_id: 'request-1' },
      { user_id: 2n, state: 'closed' },
    ]);
  });

  it('closes the push with the outcome "missing" if the row no longer exists (O4)', async () => {
    const intent = await opened();
    await force('delete from mirror.users where team_id = 41 and id = 1');
    expect(await apply(resultOf(intent))).toEqual([]);
    const outcome = { name: 'missing', email: 'missing', phone: 'missing', role_id: 'missing' };
    expect(await ledger()).toMatchObject([{ user_id: 1n, state: 'closed', is_over: true, outcome }]);
    expect(await agreed()).toEqual({ ...inBase, name: 'Anne Berg' });
  });
});
