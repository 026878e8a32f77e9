import { CompiledQuery } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { approveEdits } from '../../src/mirror/users/decide-edits.ts';
import { writeStopped } from '../../src/mirror/users/held-batches.ts';
import { writeHolds } from '../../src/mirror/users/holds.ts';
import { applyResults } from '../../src/mirror/users/apply-results.ts';
import { openIntents } from '../../src/mirror/users/intents.ts';
import { readDifferingUsers } from '../../src/mirror/users/users-compare.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { applyUsers } from '../../src/mirror/users/users-write.ts';
import { noteMovedAlone } from '../../src/mirror/db/versions.ts';
import type { FieldOutcomes } from '../../src/model/intent.ts';
import type { Hold, UserPlan } from '../../src/model/user-plan.ts';
import { resultOf } from '../../src/reconcile/push/result.ts';
import type { ServiceUser, ServiceValue } from '../../src/model/user.ts';
import { createTestDatabase } from '../support/database.ts';
import { decisions, moveOf } from '../support/decisions.ts';

const database = await createTestDatabase();
const { db } = database;
afterAll(() => database.close());
const teamId = 41n;
const sql = async (text: string) =>
  (await db.kysely.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows;
const as = (text: string) =>
  db.transaction(async (tx) => {
    await tx.executeQuery(CompiledQuery.raw(`select set_config('musterd.writing', 'on', true)`));
    await tx.executeQuery(CompiledQuery.raw(text));
  });
let runId = 0n;
const run = () => ({ teamId, runId });

beforeEach(async () => {
  for (const table of [
    'mirror.users',
    'sync.user_base',
    'sync.held_fields',
    'sync.changes',
    'sync.edits',
    'sync.learned',
    'sync.teams',
  ])
    await as(`delete from ${table}`);
  await sql(`insert into sync.teams (team, team_id) values ('north', ${teamId}), ('south', 42)`);
  await as(`insert into mirror.users (team_id, id, name, first_name, last_name, resolved, updated_at, user_updated_at)
    values (${teamId}, 1, 'Anne', 'Anne', '', true, '2026-03-01T09:00:00Z', '2026-03-01T09:00:00Z')`);
  await sql(
    `insert into sync.user_base (team_id, id, name, first_name, last_name) values (${teamId}, 1, 'Anne', 'Anne', '')`,
  );
  const [row] = await sql(
    `insert into sync.runs (team, command) values ('north', 'reconcile') returning run_id`,
  );
  runId = row?.['run_id'] as bigint;
});

const readUser = (updatedAt: string | null, userUpdatedAt: string | null = null) => {
  const user = {
    id: 1n,
    name: 'Anne',
    email: null,
    phone: null,
    roleId: 9n,
    updatedAt,
    userUpdatedAt,
    raw: {},
  };
  return readDifferingUsers(db, teamId, [user], new Map());
};
const read = async (...versions: Parameters<typeof readUser>) => (await readUser(...versions))[0]?.versions;

describe('the versions of a user', () => {
  it.each([
    ['2026-03-01T09:00:00Z', null, false],
    ['2026-03-01T09:00:00.001Z', null, true],
    ['2026-03-01T08:00:00Z', '2026-03-01T09:00:00.001Z', true],
    ['2026-03-01T08:00:00Z', null, false],
    [null, '2026-03-01T09:00:01Z', true],
    [null, null, false],
    ['no time', null, false],
  ])('%s and %s are newer than on record: %s', async (updated, userUpdated, isNewer) => {
    expect(await read(updated, userUpdated)).toMatchObject({ isNewer, isTelling: true });
  });

  it('are not newer where none was on record', async () => {
    await as('update mirror.users set updated_at = null, user_updated_at = null');
    expect(await read('2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z')).toMatchObject({ isNewer: false });
  });

  describe('beside an edit', () => {
    const edited = async (at: string, field = 'phone') => {
      await sql(`update mirror.users set phone = '15550100', email = 'new@example.com' where id = 1`);
      await as(`update sync.edits set edited_at = '${at}' where field = '${field}' and ended_at is null`);
    };
    const readEdits = async (updatedAt: string | null, userUpdatedAt: string | null) => {
      const [state] = await readUser(updatedAt, userUpdatedAt);
      return state?.edits;
    };

    it.each([
      ['2026-03-01T10:01:00.000Z', false],
      ['2026-03-01T10:01:00.001Z', true],
    ])('of 10:00 and an edit of %s: it was made since is %s', async (at, isSince) => {
      await edited(at);
      // The other field was edited much later, and says nothing of this one.
      const [earlier, later] = ['2026-03-01T09:00:00Z', '2026-03-01T10:00:00Z'];
      const expected = { phone: { isSince }, email: { isSince: true } };
      expect(await readEdits(later, earlier)).toMatchObject(expected);
      expect(await readEdits(earlier, later)).toMatchObject(expected);
    });

    it('where the service shows none: nothing was made since', async () => {
      await edited('2026-03-01T10:02:00Z');
      expect(await readEdits(null, null)).toMatchObject({ phone: { isSince: false } });
    });

    it('that was replaced past the triggers: it is not the edit of what the mirror has by then', async () => {
      await edited('2026-03-01T10:02:00Z');
      await as(`update mirror.users set phone = '15550199'`);
      expect(Object.keys((await readEdits('2026-03-01T10:00:00Z', null)) ?? {})).toEqual(['email']);
    });

    it('that is over: there is none', async () => {
      await edited('2026-03-01T10:02:00Z');
      await sql(`update mirror.users set phone = null`);
      expect(Object.keys((await readEdits('2026-03-01T10:00:00Z', null)) ?? {})).toEqual(['email']);
    });
  });
});

describe('the version that comes with the outcome of a push', () => {
  const push = async (outcomes: FieldOutcomes, shown: Partial<ServiceUser> = {}, approved = '') => {
    await sql(`update mirror.users set role_id = 3, email = 'new@example.com' where id = 1`);
    await sql(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason, decision)
      select team_id, user_id, field, edit_id, 'review', 'approved' from sync.edits where field = '${approved}'`);
    const fields = decisions({
      roleId: moveOf('push', { mirror: 3n, service: undefined }),
      email: moveOf('push', { mirror: 'new@example.com', service: undefined }),
    });
    const plan = { id: 1n, case: 'merge', fields, write: null } as const;
    const seen = { id: 1n, name: 'Anne', email: null, phone: null, roleId: null, raw: {}, ...shown };
    await db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(`select set_config('musterd.writing', 'on', true)`));
      const {
        intents: [intent],
      } = await openIntents(tx, run(), [plan], new Set());
      if (intent === undefined) throw new Error('nothing to send');
      const answered = {
        intent,
        outcomes,
        requestId: null,
        seen: { ...seen, updatedAt: '2026-03-01T10:00:00Z' },
      };
      await applyResults(tx, run(), [resultOf(answered, new Map(), 3)]);
    });
    return (await read('2026-03-01T10:00:00Z'))?.isNewer;
  };
  it.each<[FieldOutcomes, boolean]>([
    [{ roleId: 'ineffective', email: 'ineffective' }, true],
    [{ roleId: 'changed', email: 'ineffective' }, true],
    [{ roleId: 'unanswered', email: 'confirmed' }, true],
    // Both are held: nothing of it is sent before somebody decides.
    [{ roleId: 'unanswered', email: 'unanswered' }, true],
    [{ roleId: 'unknown', email: 'unknown' }, false],
    [{ roleId: 'unknown', email: 'confirmed' }, false],
    [{ roleId: 'missing', email: 'confirmed' }, false],
    [{ roleId: 'missing', email: 'ineffective' }, false],
  ])('%j: it is on record: %s', async (outcomes, isOnRecord) => {
    expect(await push(outcomes)).toBe(!isOnRecord);
  });

  it.each<[FieldOutcomes, boolean]>([
    [{ roleId: 'changed', email: 'unsent' }, false],
    [{ roleId: 'changed', email: 'changed' }, true],
  ])('%j, and somebody agreed to the email: it is on record: %s', async (outcomes, isOnRecord) => {
    expect(await push(outcomes, {}, 'email')).toBe(!isOnRecord);
  });

  it('is on record where what was sent is shown, though it proves nothing', async () => {
    const outcomes = { roleId: 'unanswered', email: 'unanswered' } as const;
    expect(await push(outcomes, { roleId: 3n, email: 'New@example.com' })).toBe(false);
  });
});

describe('versions that move alone', () => {
  const note = (users: number, shown: number, of = teamId) =>
    db.transaction((tx) => noteMovedAlone(tx, of, users, shown));
  const isTelling = async () => (await read('2026-03-01T10:00:00Z'))?.isTelling;

  it('tell nothing once they are many, of that team', async () => {
    await note(9, 30, 42n);
    await note(2, 30);
    expect(await isTelling()).toBe(true);
    await note(2, 30);
    expect(await isTelling()).toBe(false);
  });

  it('have to be more in a large team', async () => {
    await note(40, 1000);
    expect(await isTelling()).toBe(true);
    await note(40, 1000);
    expect(await isTelling()).toBe(false);
  });

  it('are forgotten after some days, however many they were', async () => {
    await note(30, 30);
    await note(30, 30);
    const age = (days: number) =>
      sql(`update sync.learned set learned_at = learned_at - interval '${days} days'`);
    await age(3);
    expect(await isTelling()).toBe(false);
    await age(1);
    expect(await isTelling()).toBe(true);
  });
});

describe('the version with which an edit was stopped', () => {
  const held = async () => (await readUserState(db.kysely, teamId, 1n)).held[0];
  const stop = (seen?: Pick<ServiceUser, 'updatedAt' | 'userUpdatedAt'>) => {
    const hold = {
      field: 'phone',
      reason: 'limit',
      detail: '',
      base: null,
      mirror: null,
      service: null,
    } as const;
    const stopped = {
      holds: [{ id: 1n, hold: { ...hold, batch: 'abc' }, seen }],
      isNews: false,
    };
    return db.transaction((tx) => writeStopped(tx, run(), stopped));
  };
  const [early, late] = ['2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z'];

  it.each([
    ['of the membership', { updatedAt: late, userUpdatedAt: early }],
    ['of the person', { updatedAt: early, userUpdatedAt: late }],
    ['of the membership, where the person has none', { updatedAt: late, userUpdatedAt: null }],
    ['of the person, where the membership has none', { userUpdatedAt: late }],
  ])('is the later one: %s', async (_, seen) => {
    await stop(seen);
    expect(await held()).toMatchObject({ batch: 'abc', seenMs: Date.parse(late) });
    // Whoever approves it has seen no other one.
    await sql(`insert into sync.edits (xid, team_id, user_id, field, new_value, edited_at, authors) values ('9', 41, 1, 'phone', '"1"', now(), '{kim}');
      update sync.held_fields set edit_id = (select edit_id from sync.edits), mirror_value = '"1"'`);
    await as(`update mirror.users set phone = '1'; select sync.approve('abc')`);
    expect(await held()).toMatchObject({ decision: 'approved', seenMs: Date.parse(late) });
  });

  it('is none where a run wrote the row, and none once another edit is approved in its place', async () => {
    await stop();
    expect(await held()).not.toHaveProperty('seenMs');
    await stop({ updatedAt: late });
    await as(`update mirror.users set phone = '1'`);
    const edit = { userId: 1n, field: 'phone', to: '1', base: null } as const;
    await db.transaction((tx) => approveEdits(tx, teamId, { batch: 'def', why: '' }, [edit]));
    const now = await held();
    expect([now?.decision, now?.batch, now?.seenMs]).toEqual(['approved', 'def', undefined]);
  });
});

describe('what a held field shows', () => {
  const hold: Hold = {
    field: 'phone',
    reason: 'conflict',
    base: null,
    mirror: null,
    service: '1',
    detail: '',
  };
  const plan = (shown: ServiceValue): UserPlan => ({
    id: 1n,
    case: 'merge',
    fields: decisions({ phone: { kind: 'held', shown } }),
    write: null,
  });
  const rows = () =>
    sql(
      'select field, service_value, shown_value, xmin::text as written from sync.held_fields order by field',
    );
  const apply = (shown?: ServiceValue) => db.transaction((tx) => applyUsers(tx, run(), [plan(shown)]));

  it('is kept beside what it showed when it was held, and written when it is another', async () => {
    const two = [hold, { ...hold, field: 'email' as const, service: 'a@example.com' }];
    await db.transaction((tx) =>
      writeHolds(
        tx,
        run(),
        two.map((one) => ({ id: 1n, hold: one })),
      ),
    );
    const [, before] = await rows();
    expect(before).toMatchObject({ field: 'phone', service_value: '1', shown_value: '1' });
    await apply();
    await apply('1');
    expect((await rows())[1]).toEqual(before);
    await apply('2');
    expect(await rows()).toMatchObject([
      { field: 'email', service_value: 'a@example.com', shown_value: 'a@example.com' },
      { field: 'phone', service_value: '1', shown_value: '2' },
    ]);
    await apply(null);
    expect((await rows())[1]).toMatchObject({ shown_value: null });
    await db.transaction((tx) => writeHolds(tx, run(), [{ id: 1n, hold: { ...hold, service: '3' } }]));
    expect((await rows())[1]).toMatchObject({ service_value: '3', shown_value: '3' });
  });
});
