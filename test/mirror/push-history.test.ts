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

describe('earlier pushes without effect', () => {
  const phone = (outcome: string, value = '1', more: Partial<Row> = {}): Row => ({
    new: { phone: value },
    outcome: { phone: outcome },
    ...more,
  });
  it.each<readonly [string, readonly Row[], number | undefined]>([
    ['an empty ledger', [], undefined],
    ['ineffective, missing and unanswered', [phone('ineffective'), phone('missing'), phone('unanswered')], 3],
    ['other outcomes', [phone('refused'), phone('unsent'), phone('changed'), phone('unknown')], undefined],
    ['unsent in a request that left', [phone('unsent', '1', { hasLeft: true }), phone('ineffective')], 2],
    ['a push of another value', [phone('ineffective', '2')], undefined],
    ['a push of another user', [phone('ineffective', '1', { user: 2 })], undefined],
    ['a pull', [phone('ineffective', '1', { kind: 'pull' })], undefined],
    ['a push before a confirmed push', [phone('ineffective'), phone('confirmed', '2')], undefined],
    ['two around a confirmed push', [phone('ineffective'), phone('confirmed', '2'), phone('missing')], 1],
    [
      'a push before a confirmed change of another user, team, kind or field',
      [
        phone('ineffective'),
        phone('confirmed', '1', { user: 2 }),
        phone('confirmed', '1', { team: 42 }),
        phone('confirmed', '1', { kind: 'pull' }),
        { new: { email: 'a@example.com' }, outcome: { email: 'confirmed' } },
      ],
      1,
    ],
  ])('readEarlier counts earlier pushes of the same value that had no effect: %s', async (_, rows, count) => {
    await ledger(...rows);
    const [now = 0n] = await ledger({ new: { phone: '1' }, state: 'open' });
    // What is opened later, by another run, is of no concern.
    await ledger(phone('ineffective'), phone('confirmed'));
    const { tries } = await readEarlier(database.db.kysely, teamId, [intentOf({ phone: '1' }, now)]);
    expect(tries.get(1n)?.phone).toBe(count);
  });

  it('readEarlier counts pushes without effect by user and field', async () => {
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

describe('unanswered pushes', () => {
  const push = (outcome: string, more: Partial<Row> = {}): Row => ({
    new: { phone: '1' },
    outcome: { phone: outcome },
    ...more,
  });
  it.each<readonly [string, readonly Row[], boolean]>([
    ['an unanswered push after a confirmed one', [push('confirmed'), push('unanswered')], true],
    ['an unanswered push before a confirmed one', [push('unanswered'), push('confirmed')], false],
    ['an unanswered push before a pull', [push('unanswered'), push('', { kind: 'pull' })], true],
    ['an unanswered push of another team', [push('unanswered', { team: 42 })], false],
    ['an unanswered push of a user who was not requested', [push('unanswered', { user: 2 })], false],
    ['unanswered, and another user confirmed', [push('unanswered'), push('confirmed', { user: 2 })], true],
  ])('readEarlier returns users whose last push got no answer: %s', async (_, rows, found) => {
    await ledger(...rows);
    const pushes = [1n, 3n].map((id) => intentOf({}, 0n, id));
    const { unanswered } = await readEarlier(database.db.kysely, teamId, pushes);
    expect(unanswered).toEqual(new Set(found ? [1n] : []));
  });
});

describe('an update that keeps the name', () => {
  const phone = { new: { phone: '1' }, outcome: { phone: 'confirmed' } };
  it.each<readonly [string, Row, string]>([
    ['a confirmed update without the name', phone, 'keeps'],
    ['an update that sends the name', { new: { phone: '1', name: {} }, outcome: phone.outcome }, 'unknown'],
    ['an update without effect', { ...phone, outcome: { phone: 'ineffective' } }, 'unknown'],
    ['an update that is still open', { ...phone, state: 'open' }, 'unknown'],
  ])('noteKeptName stores "keeps" only for confirmed updates without name: %s', async (_, row, safety) => {
    await ledger(phone);
    const ids = await ledger(row);
    await database.db.transaction((tx) => noteKeptName(tx, teamId, ids));
    expect(await readNameSafety(database.db.kysely, teamId)).toBe(safety);
  });
});

describe('readGuardHistory', () => {
  const read = () => readGuardHistory(database.db.kysely, teamId);
  const phone = { new: { phone: '1' }, outcome: { phone: 'confirmed' } };

  it.each<readonly [string, Row, boolean]>([
    ['a push just now', phone, true],
    ['a push 23 hours ago', { ...phone, hoursAgo: 23 }, true],
    ['a push 25 hours ago', { ...phone, hoursAgo: 25 }, false],
    ['an approved push', { ...phone, approved: true }, false],
    ['a settled field', { ...phone, kind: 'settle' }, false],
    ['an open push', { new: { phone: '1' }, state: 'open' }, true],
    ['a push that never left', { ...phone, outcome: { phone: 'unsent' } }, false],
    ['a push that left in part', { ...phone, outcome: { phone: 'unsent', email: 'missing' } }, true],
  ])('counts a user as pushed to by an unapproved push of the last 24 h: %s (O1)', async (_, row, counts) => {
    await ledger(row);
    expect((await read()).pushedToday).toEqual(new Set(counts ? [1n] : []));
  });

  it.each<readonly [string, object, boolean, readonly Id[]]>([
    ['a limit on a present user, reported 25 hours ago', {}, true, [1n]],
    ['a limit on a present user, reported 23 hours ago', { told: 23 }, false, [1n]],
    ['a review, reported 25 hours ago', { reason: 'review' }, false, [1n]],
    ['a limit on one field only', { alone: true }, false, []],
    ['an approved limit', { decision: 'approved' }, false, []],
    ['a limit on a user who has left', { user: 2 }, false, []],
  ])(
    'returns users with a field held by a limit or a review, and isOld if a limit was reported over 24 h ago: %s',
    async (_, given, isOld, waiting) => {
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
    },
  );

  it('writeStopped records the time of the report only if the report contains a new hold', async () => {
    const stop = (isNews: boolean) =>
      database.db.transaction((tx) => writeStopped(tx, { teamId, runId: 1n }, { holds: [], isNews }));
    const told = async () => (await sql`select topic from sync.learned`.execute(database.db.kysely)).rows;
    await stop(false);
    expect(await told()).toEqual([]);
    await stop(true);
    expect(await told()).toEqual([{ topic: 'refusal told' }]);
  });

  it('writeStopped skips a hold that an open decision has locked, and writes the next hold', async () => {
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
      await db.transaction((tx) => writeStopped(tx, { teamId, runId: 1n }, stopped), { lockTimeoutMs: 900 });
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
    ['three pushes, each with a pull', [...twice, back, pull], true],
    ['two pushes, each with a pull', twice, false],
    ['three pushes, two with a pull', [...twice, back], false],
    ['three pushes without a pull', [back, back, back], false],
    ['a third push over another value', [...twice, { ...back, old: { phone: '3' } }, pull], false],
    ['a third push of another value', [...twice, { ...back, new: { phone: '3' } }, pull], false],
    ['a third push without effect', [...twice, { ...back, outcome: { phone: 'ineffective' } }, pull], false],
    ['a third pull of another user', [...twice, back, { ...pull, user: 2 }], false],
    ['a third pull that replaced another value', [...twice, back, { ...pull, old: { phone: '3' } }], false],
    ['a third push of another user', [...twice, { ...back, user: 2 }, pull], false],
    ['a third push in another team', [...twice, { ...back, team: 42 }, pull], false],
    ['a third push 25 hours ago', [...twice, { ...back, hoursAgo: 25 }, pull], false],
  ])('returns a value that the service put back after three pushes: %s', async (_, rows, isUndone) => {
    await ledger(...rows);
    const hold = { field: 'phone', reason: 'conflict', base: '2', mirror: '1' };
    expect((await read()).undone).toMatchObject(isUndone ? [{ id: 1n, hold }] : []);
  });
});
