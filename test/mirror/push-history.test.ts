import { sql } from 'kysely';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { noteKeptName, readNameSafety } from '../../src/mirror/team/name-safety.ts';
import { readGuardHistory, writeStopped } from '../../src/mirror/users/held-batches.ts';
import { readEarlier } from '../../src/mirror/runs/push-history.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { Intent } from '../../src/model/intent.ts';
import type { Id } from '../../src/model/id.ts';
import type { UserPatch } from '../../src/model/user.ts';
import { useDatabase } from '../support/use-database.ts';

const teamId = 41n;
const database = useDatabase();
beforeAll(() =>
  database.rows(`insert into sync.teams (team, team_id) values ('main', 41), ('other', 42);
     insert into sync.runs (team, team_id, command) values ('main', 41, 'daemon');
     begin; set local musterd.writing = 'on';
     insert into mirror.users (team_id, id, name, gone_at, resolved)
     values (41, 1, 'Anne', null, true), (41, 2, 'Kim', now(), true); commit`),
);
afterEach(() => database.rows('truncate sync.changes, sync.learned, sync.held_fields'));

interface Row {
  readonly team?: number;
  readonly user?: number;
  readonly kind?: string;
  readonly state?: string;
  readonly old?: object;
  readonly new: object;
  readonly outcome?: object;
  readonly approved?: boolean;
  readonly hasLeft?: boolean;
  readonly hoursAgo?: number;
}

/** @returns their numbers */
async function ledger(...rows: readonly Row[]): Promise<readonly Id[]> {
  const ids: Id[] = [];
  for (const row of rows) {
    const { team = 41, user = 1, kind = 'push', state = 'closed', old = {}, outcome = {} } = row;
    const written = await sql<{ change_id: Id }>`
      insert into sync.changes (team_id, user_id, run_id, kind, state, old, new, outcome, approved, opened_at, sent_at)
      select ${team}, ${user}, run_id, ${kind}, ${state}, ${old}::jsonb, ${row.new}::jsonb, ${outcome}::jsonb,
        ${row.approved ?? false}, clock_timestamp() - ${row.hoursAgo ?? 0} * interval '1 hour',
        case when ${row.hasLeft ?? false} then clock_timestamp() end
      from sync.runs returning change_id`.execute(database.db.kysely);
    ids.push(...written.rows.map(({ change_id: id }) => id));
  }
  return ids;
}

const values = { name: { first: 'Anne', last: 'Berg' }, email: null, phone: null, roleId: null };
const intentOf = (sent: UserPatch, changeId: Id, userId = 1n): Intent => ({
  changeId,
  userId,
  sent,
  base: { ...values, joined: 'Anne Berg' },
  before: values,
  decided: [],
  hasLeft: true,
  ageMs: 0,
});

describe('tries to no effect', () => {
  const phone = (outcome: string, value = '1', more: Partial<Row> = {}): Row => ({
    new: { phone: value },
    outcome: { phone: outcome },
    ...more,
  });
  it.each<readonly [string, readonly Row[], number | undefined]>([
    ['none', [], undefined],
    ['one of each kind', [phone('ineffective'), phone('missing'), phone('unanswered')], 3],
    ['others', [phone('refused'), phone('unsent'), phone('changed'), phone('unknown')], undefined],
    ['refused together with others', [phone('unsent', '1', { hasLeft: true }), phone('ineffective')], 2],
    ['of another value', [phone('ineffective', '2')], undefined],
    ['of another user', [phone('ineffective', '1', { user: 2 })], undefined],
    ['of another team', [phone('ineffective', '1', { team: 42 })], undefined],
    ['what was no push', [phone('ineffective', '1', { kind: 'pull' })], undefined],
    ['before one that had an effect', [phone('ineffective'), phone('confirmed', '2')], undefined],
    ['after it', [phone('ineffective'), phone('confirmed', '2'), phone('missing')], 1],
    [
      'before an effect on another user, team, field, or by another kind',
      [
        phone('ineffective'),
        phone('confirmed', '1', { user: 2 }),
        phone('confirmed', '1', { team: 42 }),
        phone('confirmed', '1', { kind: 'pull' }),
        { new: { email: 'a@example.com' }, outcome: { email: 'confirmed' } },
      ],
      1,
    ],
  ])('counts the tries that had no effect: %s', async (_, rows, count) => {
    await ledger(...rows);
    const [now = 0n] = await ledger({ new: { phone: '1' }, state: 'open' });
    // What is opened later, by another run, is of no concern.
    await ledger(phone('ineffective'), phone('confirmed'));
    const { tries } = await readEarlier(database.db.kysely, teamId, [intentOf({ phone: '1' }, now)]);
    expect(tries.get(1n)?.phone).toBe(count);
  });

  it('counts tries to no effect by user and field', async () => {
    await ledger(
      phone('ineffective'),
      { new: { phone: '1', role_id: 7 }, outcome: { phone: 'missing', role_id: 'ineffective' } },
      { user: 2, new: { phone: '2' }, outcome: { phone: 'unanswered' } },
    );
    const intents = [intentOf({ phone: '1', roleId: 7n }, 99n), intentOf({ phone: '2' }, 100n, 2n)];
    expect((await readEarlier(database.db.kysely, teamId, intents)).tries).toEqual(
      new Map([
        [1n, { phone: 2, roleId: 1 }],
        [2n, { phone: 1 }],
      ]),
    );
  });
});

describe('whose last push was not answered for', () => {
  const push = (outcome: string, more: Partial<Row> = {}): Row => ({
    new: { phone: '1' },
    outcome: { phone: outcome },
    ...more,
  });
  it.each<readonly [string, readonly Row[], boolean]>([
    ['the last one', [push('confirmed'), push('unanswered')], true],
    ['one before', [push('unanswered'), push('confirmed')], false],
    ['followed by a pull', [push('unanswered'), push('', { kind: 'pull' })], true],
    ['of another team', [push('unanswered', { team: 42 })], false],
    ['of a user who is not asked for', [push('unanswered', { user: 2 })], false],
    ['followed by that of another', [push('unanswered'), push('confirmed', { user: 2 })], true],
  ])('finds the user, or not: %s', async (_, rows, found) => {
    await ledger(...rows);
    const pushes = [1n, 3n].map((id) => intentOf({}, 0n, id));
    const { unanswered } = await readEarlier(database.db.kysely, teamId, pushes);
    expect(unanswered).toEqual(new Set(found ? [1n] : []));
  });
});

describe('a name that was kept', () => {
  const phone = { new: { phone: '1' }, outcome: { phone: 'confirmed' } };
  it.each<readonly [string, Row, string]>([
    ['an update without it', phone, 'keeps'],
    ['one with it', { new: { phone: '1', name: {} }, outcome: phone.outcome }, 'unknown'],
    ['one without effect', { ...phone, outcome: { phone: 'ineffective' } }, 'unknown'],
    ['one that is not over', { ...phone, state: 'open' }, 'unknown'],
  ])('a kept name is learned, or not, from %s', async (_, row, safety) => {
    await ledger(phone);
    const ids = await ledger(row);
    await database.db.transaction((tx) => noteKeptName(tx, teamId, ids));
    expect(await readNameSafety(database.db.kysely, teamId)).toBe(safety);
  });
});

describe('the memory of the guard', () => {
  const read = () => readGuardHistory(database.db.kysely, teamId);
  const phone = { new: { phone: '1' }, outcome: { phone: 'confirmed' } };

  it.each<readonly [string, Row, boolean]>([
    ['a push of today', phone, true],
    ['one of 23 hours ago', { ...phone, hoursAgo: 23 }, true],
    ['one of 25 hours ago', { ...phone, hoursAgo: 25 }, false],
    ['an approved one', { ...phone, approved: true }, false],
    ['one of another team', { ...phone, team: 42 }, false],
    ['what was settled', { ...phone, kind: 'settle' }, false],
    ['one that is not over', { new: { phone: '1' }, state: 'open' }, true],
    ['one that never left', { ...phone, outcome: { phone: 'unsent' } }, false],
    ['one of which a part left', { ...phone, outcome: { phone: 'unsent', email: 'missing' } }, true],
  ])('counts a user as pushed to in the last day, or not: %s', async (_, row, counts) => {
    await ledger(row);
    expect((await read()).pushedToday).toEqual(new Set(counts ? [1n] : []));
  });

  it.each<readonly [string, object, boolean, readonly Id[]]>([
    ['after a day, of somebody present', {}, true, [1n]],
    ['within the day', { told: 23 }, false, [1n]],
    ['after a day, of a review', { reason: 'review' }, false, [1n]],
    ['after a day, of a limit on the field alone', { alone: true }, false, []],
    ['after a day, of a decided limit', { decision: 'approved' }, false, []],
    ['after a day, of somebody who has left', { user: 2 }, false, []],
    ['after a day, in another team', { team: 42 }, false, []],
  ])('reports a limit again %s', async (_, given, isOld, waiting) => {
    const row = { told: 25, reason: 'limit', alone: false, decision: null, user: 1, team: 41, ...given };
    await sql`
      with told as (insert into sync.learned (team, topic, value, learned_at)
        values ('main', 'refusal told', '{}', clock_timestamp() - ${row.told} * interval '1 hour'))
      insert into sync.held_fields (team_id, user_id, field, reason, alone, decision)
      values (${row.team}, ${row.user}, 'phone', ${row.reason}, ${row.alone}, ${row.decision})`.execute(
      database.db.kysely,
    );
    const history = await read();
    expect([history.isOld, history.waiting.map(({ userId }) => userId)]).toEqual([isOld, waiting]);
  });

  it('counts a day from the last report of something new', async () => {
    const stop = (isNews: boolean) =>
      database.db.transaction((tx) => writeStopped(tx, { teamId, runId: 1n }, { holds: [], isNews }));
    const told = async () => (await sql`select topic from sync.learned`.execute(database.db.kysely)).rows;
    await stop(false);
    expect(await told()).toEqual([]);
    await stop(true);
    expect(await told()).toEqual([{ topic: 'refusal told' }]);
  });

  it('leaves out a hold whose field an open transaction decides about', async () => {
    const { db } = database;
    await runSqlText(
      db,
      `insert into sync.held_fields (team_id, user_id, field, reason, detail) values (41, 1, 'phone', 'limit', 'old')`,
    );
    const hold = {
      field: 'phone',
      reason: 'limit',
      base: '1',
      mirror: '1',
      service: '1',
      detail: 'new',
    } as const;
    const stopped = { holds: [1n, 2n].map((id) => ({ id, hold })), isNews: false };
    await db.transaction(async (deciding) => {
      await sql`select from sync.held_fields where user_id = 1 for update`.execute(deciding);
      await db.transaction((tx) => writeStopped(tx, { teamId, runId: 1n }, stopped));
    });
    const { rows } = await runSqlText(db, 'select user_id, detail from sync.held_fields order by 1');
    expect(rows).toEqual([
      [1n, 'old'],
      [2n, 'new'],
    ]);
  });

  const back = { old: { phone: '2' }, new: { phone: '1' }, outcome: { phone: 'confirmed' } };
  const pull = { kind: 'pull', old: back.new, new: back.old };
  const twice = [back, pull, back, pull];
  it.each<readonly [string, readonly Row[], boolean]>([
    ['three times, and put back by the service', [...twice, back, pull], true],
    ['twice', twice, false],
    ['three times, and put back twice', [...twice, back], false],
    ['three times, and put back by pushes', [back, back, back], false],
    ['once over another value', [...twice, { ...back, old: { phone: '3' } }, pull], false],
    ['once with another value', [...twice, { ...back, new: { phone: '3' } }, pull], false],
    ['once without effect', [...twice, { ...back, outcome: { phone: 'ineffective' } }, pull], false],
    ['three times, and once put back for another user', [...twice, back, { ...pull, user: 2 }], false],
    [
      'three times, and once put back from another value',
      [...twice, back, { ...pull, old: { phone: '3' } }],
      false,
    ],
    ['once for another user', [...twice, { ...back, user: 2 }, pull], false],
    ['once in another team', [...twice, { ...back, team: 42 }, pull], false],
    ['once a day before', [...twice, { ...back, hoursAgo: 25 }, pull], false],
  ])('the guard knows a value that was sent %s', async (_, rows, isUndone) => {
    await ledger(...rows);
    const hold = { field: 'phone', reason: 'conflict', base: '2', mirror: '1' };
    expect((await read()).undone).toMatchObject(isUndone ? [{ id: 1n, hold }] : []);
  });
});
