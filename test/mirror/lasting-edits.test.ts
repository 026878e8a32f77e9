import { CompiledQuery, sql as text } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applyResults } from '../../src/mirror/users/apply-results.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { endWithdrawn } from '../../src/mirror/users/edits.ts';
import { markSent, openIntents } from '../../src/mirror/users/intents.ts';
import { applyUsers, forgetUsers } from '../../src/mirror/users/users-write.ts';
import type { FieldOutcomes, Intent, IntentResult } from '../../src/model/intent.ts';
import type { UserPlan, UserWrite } from '../../src/model/user-plan.ts';
import type { MirrorRow } from '../../src/model/user.ts';
import { decisions, moveOf } from '../support/decisions.ts';
import { oldestServer } from '../support/servers.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';

const teamId = 41n;

describe.each([oldestServer()])('an edit on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: sql, objects, write, force } = database;
  let other: Database;
  let runId: bigint;
  let me: string;
  let began: unknown;
  /** As a form does, that says for whom. */
  const edit = (actor: string, set: string, where = 'team_id = 41 and id = 1') =>
    other.transaction(async (tx) => {
      await text`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
      await tx.executeQuery(CompiledQuery.raw(`update mirror.users set ${set} where ${where}`));
    });

  beforeAll(async () => {
    other = createDatabase({ url: database.url, applicationName: 'a form' });
    await sql(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`);
    runId = await beginRun(database);
    const [[role] = []] = await sql('select session_user::text as me');
    me = role as string;
    began = (await sql('select clock_timestamp()::text'))[0]?.[0];
  });
  /** Whatever ended in a test ended then. */
  afterEach(async () => {
    expect(
      await sql(
        `select field, ended_how from sync.edits where ended_at < '${String(began)}' or ended_at > clock_timestamp()`,
      ),
    ).toEqual([]);
  });
  afterAll(() => other.close());
  beforeEach(() =>
    force(`
      delete from mirror.users; delete from sync.user_base; delete from sync.held_fields; delete from sync.changes; delete from sync.edits; delete from sync.absences;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
        select t, n, 'Ana Maria Lopez', 'Ana Maria', 'Lopez', n || '@example.com', '15550100', 2
        from unnest('{41,42}'::bigint[]) t, generate_series(1, 3) n;
      insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
        select team_id, id, name, first_name, last_name, 'guessed', email, phone, role_id, true from sync.user_base`),
  );

  /** In the order in which they were made; the authors besides the role that every test has. */
  const edits = (where = 'team_id = 41 and user_id = 1') =>
    sql(`select field, old_value, new_value, ended_how,
        (select array_agg(a order by a) from unnest(authors) a where a <> sync.person(session_user)) as authors
      from sync.edits where ${where} order by edit_id`);
  const lastingId = async (field: string, user = 1) => {
    const [[id] = []] = await sql(
      `select edit_id from sync.edits where team_id = 41 and user_id = ${user} and field = '${field}' and ended_at is null`,
    );
    return id as bigint;
  };
  const hold = (field: string, reason: string, more = '', values = '') =>
    sql(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason${more})
      select team_id, user_id, field, edit_id, '${reason}'${values} from sync.edits
      where team_id = 41 and user_id = 1 and field = '${field}' and ended_at is null`);
  const held = async () =>
    (await sql('select user_id, field, reason from sync.held_fields order by 1, 2, 3')).map((row) =>
      row.join(' '),
    );

  describe('a new edit', () => {
    it('contains the time, role, person and application of its statement', async () => {
      const [before] = await objects('select clock_timestamp() as at');
      const xid = await other.transaction(async (tx) => {
        await text`select set_config('musterd.actor', ' Kim  of HR', true)`.execute(tx);
        await text`update mirror.users set phone = '15550101' where team_id = 41 and id = 1`.execute(tx);
        return (await text<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(tx)).rows[0]
          ?.xid;
      });
      expect(
        await objects(`select *, edited_at between '${new Date(String(before?.['at'])).toISOString()}'::timestamptz - interval '1 ms' and clock_timestamp() as is_now,
          xid::text as xid from sync.edits`),
      ).toEqual([
        {
          edit_id: expect.any(BigInt) as bigint,
          xid,
          team_id: 41n,
          user_id: 1n,
          field: 'phone',
          old_value: '15550100',
          new_value: '15550101',
          old_split: null,
          edited_at: expect.any(Date) as Date,
          is_now: true,
          edited_by: me,
          application: 'a form',
          actor: 'Kim  of HR',
          authors: [me, 'kim of hr'],
          ended_at: null,
          ended_how: null,
        },
      ]);
    });

    it('contains null as actor if the session names no person', async () => {
      await edit('', `phone = '15550101'`);
      expect(await sql('select actor, authors from sync.edits')).toEqual([[null, [me]]]);
    });

    it('a statement that changes two fields creates two edits, which end separately', async () => {
      await edit('Kim', `phone = '15550101', role_id = 3`);
      expect(
        await sql('select count(distinct edit_id), count(distinct xid::text) as xids from sync.edits'),
      ).toEqual([[2n, 1n]]);
      await hold('phone', 'conflict');
      await hold('role_id', 'conflict');
      await edit('Lee', `phone = '15550100'`);
      expect(await edits('team_id = 41 and user_id = 1 and ended_at is null')).toEqual([
        ['role_id', 2, 3, null, ['kim']],
      ]);
      expect(await held()).toEqual(['1 role_id conflict']);
    });

    it('a statement creates edits only for users whose value changes, in both teams', async () => {
      await edit('Kim', `phone = case when (team_id, id) = (41, 2) then phone else '15550101' end`, 'id < 3');
      expect(
        await sql('select team_id, user_id, field from sync.edits where ended_at is null order by 1, 2'),
      ).toEqual([
        [41n, 1n, 'phone'],
        [42n, 1n, 'phone'],
        [42n, 2n, 'phone'],
      ]);
      await edit('Lee', `phone = '15550100'`, 'team_id = 42');
      expect(
        await sql('select team_id, user_id, field from sync.edits where ended_at is null order by 1, 2'),
      ).toEqual([[41n, 1n, 'phone']]);
    });

    it('an edit of name_split ends at once as replaced', async () => {
      await edit('Kim', `name_split = 'known'`);
      expect(await edits()).toEqual([['name_split', 'guessed', 'known', 'replaced', ['kim']]]);
    });
  });

  describe('a replaced edit', () => {
    it('the next edit of the same field keeps the authors of the replaced edit, and an edit of another field does not', async () => {
      await edit('Kim', `phone = '15550101'`);
      const first = await lastingId('phone');
      await hold('phone', 'limit', ', batch', `, 'aaaaaaaaaaaa'`);
      await edit('Lee', `phone = '15550102'`);
      await edit('KIM', `phone = '15550103', email = 'new@example.com'`);
      expect(await edits()).toEqual([
        ['phone', '15550100', '15550101', 'replaced', ['kim']],
        ['phone', '15550101', '15550102', 'replaced', ['kim', 'lee']],
        ['email', '1@example.com', 'new@example.com', null, ['kim']],
        ['phone', '15550102', '15550103', null, ['kim', 'lee']],
      ]);
      expect(await sql('select actor, ended_at >= edited_at from sync.edits order by edit_id')).toEqual([
        ['Kim', true],
        ['Lee', true],
        ['KIM', null],
        ['KIM', null],
      ]);
      // What was held is still said of the first.
      expect(await sql('select edit_id, batch from sync.held_fields')).toEqual([[first, 'aaaaaaaaaaaa']]);
    });

    it('ends as withdrawn if its transaction sets the old value again, and as replaced if it sets another value', async () => {
      await other.transaction(async (tx) => {
        for (const phone of ['15550101', '15550102', '15550100', '15550103'])
          await text`update mirror.users set phone = ${phone} where team_id = 41 and id = 1`.execute(tx);
      });
      expect((await edits()).map((row) => row[3])).toEqual(['replaced', 'withdrawn', 'withdrawn', null]);
    });

    it('the next edit of a name keeps the name_split from before the first edit, until the edit is withdrawn', async () => {
      await edit('Kim', `last_name = 'Borg'`);
      await edit('Kim', `name_split = 'known'`);
      await edit('Lee', `last_name = 'Berg'`);
      expect(await sql(`select field, old_split from sync.edits order by edit_id`)).toEqual([
        ['name', 'guessed'],
        ['name_split', null],
        ['name', 'guessed'],
      ]);
      await edit('Lee', `last_name = 'Lopez'`);
      await edit('Lee', `last_name = 'Berg'`);
      expect(await sql(`select old_split from sync.edits where ended_at is null`)).toEqual([['known']]);
    });
  });

  describe('the withdrawal of an edit', () => {
    it.each(['limit', 'review', 'conflict', 'refused', 'ineffective', 'unsupported', 'returned'])(
      'removes the hold of the edit with the reason "%s"',
      async (reason) => {
        await edit('Kim', `phone = '15550101'`);
        await hold('phone', reason);
        await edit('Lee', `phone = '15550100'`);
        expect(await edits()).toEqual([
          ['phone', '15550100', '15550101', 'withdrawn', ['kim']],
          ['phone', '15550101', '15550100', 'withdrawn', ['kim', 'lee']],
        ]);
        expect(await held()).toEqual([]);
      },
    );

    it.each(['approved', 'rejected'])(
      'removes the hold with the decision "%s" of an earlier edit',
      async (decision) => {
        await edit('Kim', `phone = '15550101'`);
        await hold('phone', 'limit', ', batch, decision', `, 'aaaaaaaaaaaa', '${decision}'`);
        await edit('Kim', `phone = '15550102'`);
        await edit('Kim', `phone = '15550100'`);
        expect(await held()).toEqual([]);
      },
    );

    it('keeps a requested hold, and the holds of later edits, of other users and of other teams', async () => {
      await edit('Kim', `phone = '15550101', email = id || 'n@example.com', role_id = 3`, 'id < 3');
      await sql(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason)
        select team_id, user_id, field, edit_id, case when field = 'email' then 'asked' else 'conflict' end from sync.edits;
        update sync.held_fields set until = now() + interval '1 h' where reason = 'asked'`);
      await sql(
        `update sync.held_fields set edit_id = 1000000 where (team_id, user_id, field) = (41, 1, 'role_id')`,
      );
      await edit('Lee', `phone = '15550100', email = '1@example.com', role_id = 2`);
      expect(
        await sql(
          'select team_id, user_id, field from sync.held_fields where (team_id, user_id) = (41, 1) order by 3',
        ),
      ).toEqual([
        [41n, 1n, 'email'],
        [41n, 1n, 'role_id'],
      ]);
      expect(await sql('select count(*) from sync.held_fields where (team_id, user_id) <> (41, 1)')).toEqual([
        [9n],
      ]);
    });

    it('ends the edit, and setting the same value again creates a new edit (O8)', async () => {
      await edit('Kim', `phone = '15550101'`);
      const first = await lastingId('phone');
      await edit('Kim', `phone = '15550100'`);
      expect(await lastingId('phone')).toBeUndefined();
      await edit('Lee', `phone = '15550101'`);
      expect(await lastingId('phone')).toBeGreaterThan(first);
      expect((await edits()).at(-1)).toEqual(['phone', '15550100', '15550101', null, ['lee']]);
    });

    it('an edit of a name ends only once both halves have their agreed values again', async () => {
      await edit('Kim', `first_name = 'Eva', last_name = 'Borg'`);
      await edit('Kim', `first_name = 'Ana Maria'`);
      expect(await lastingId('name')).toBeDefined();
      await edit('Kim', `last_name = 'Lopez'`);
      expect(await lastingId('name')).toBeUndefined();
    });
  });

  const was: MirrorRow = {
    joined: 'Ana Maria Lopez',
    role: null,
    resolved: true,
    gone: false,
    name: { first: 'Ana Maria', last: 'Lopez' },
    split: 'guessed',
    email: '1@example.com',
    phone: '15550100',
    roleId: 2n,
  };
  const writeOf = (expected: Partial<MirrorRow>, now: Partial<MirrorRow>): UserWrite => ({
    id: 1n,
    expected: { ...was, ...expected },
    mirror: { ...was, ...now },
    observed: { name: was.joined, role: null, resolved: true, details: null },
    base: { ...was, ...now },
  });
  const run = () => ({ teamId, runId });
  const apply = (plan: Partial<UserPlan>) =>
    write((tx) =>
      applyUsers(tx, run(), [{ id: 1n, case: 'merge', fields: decisions(), write: null, ...plan }]),
    );

  describe('how an edit ends', () => {
    /** User 1 and the field that is about to be agreed on, held; another field, held; the same of another user. */
    beforeEach(async () => {
      await edit('Kim', `phone = '15550101', role_id = 3`, 'id < 3');
      await sql(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason)
        select team_id, user_id, field, edit_id, 'conflict' from sync.edits where team_id = 41`);
    });
    const others = ['1 role_id conflict', '2 phone conflict', '2 role_id conflict'];
    const ended = async (how = 'agreed') => {
      expect(await edits(`field = 'phone' and ended_at is not null`)).toEqual([
        ['phone', '15550100', '15550101', how, ['kim']],
      ]);
      expect(await sql(`select count(*) from sync.edits where ended_at is null`)).toEqual([[7n]]);
      expect(await held()).toEqual(others);
    };

    it('an edit ends as agreed if the service has the edited value too', async () => {
      const both = { phone: '15550101' };
      await apply({
        fields: decisions({ phone: moveOf('settle', { mirror: '15550101', service: '15550101' }) }),
        write: { ...writeOf({ ...both, roleId: 3n }, { ...both, roleId: 3n }), base: { ...was, ...both } },
      });
      await ended();
    });

    it('an edit ends as overruled if a run takes the value of the service', async () => {
      const taken = { phone: '15550199' };
      await apply({
        fields: decisions({ phone: moveOf('pull', { mirror: '15550101', service: '15550199' }, true) }),
        write: {
          ...writeOf({ phone: '15550101', roleId: 3n }, { ...taken, roleId: 3n }),
          base: { ...was, ...taken },
        },
      });
      await ended('overruled');
    });

    it('an edit ends as overruled if a run restores the agreed value, which the service still has', async () => {
      await apply({
        fields: decisions({ phone: moveOf('pull', { mirror: '15550101', service: '15550100' }, true) }),
        write: { ...writeOf({ phone: '15550101', roleId: 3n }, { roleId: 3n }), base: was },
      });
      await ended('overruled');
    });

    it('an edit ends as agreed once its push is confirmed', async () => {
      await pushed({ phone: '15550101' }, { phone: 'confirmed' });
      await ended();
    });

    it('the end of an edit leaves a requested hold of the field in force', async () => {
      await sql(
        `update sync.held_fields set reason = 'asked', until = now() + interval '1 h' where field = 'phone' and user_id = 1`,
      );
      await pushed({ phone: '15550101' }, { phone: 'confirmed' });
      expect(await lastingId('phone')).toBeUndefined();
      expect(await held()).toEqual(['1 phone asked', ...others]);
    });

    it('the end of an edit leaves the hold of an earlier edit of the same field unchanged', async () => {
      await sql(`update sync.held_fields set edit_id = 0 where field = 'phone' and user_id = 1`);
      await force(`update sync.user_base set phone = '15550101' where team_id = 41 and id = 1`);
      expect(await lastingId('phone')).toBeUndefined();
      expect(await held()).toEqual(['1 phone conflict', ...others]);
    });

    it('an edit of a forgotten user ends as agreed if the user comes back with the edited value', async () => {
      await force('update mirror.users set gone_at = now() where team_id = 41 and id = 1');
      await write((tx) => forgetUsers(tx, run(), [1n]));
      await edit('Lee', `phone = '15550105'`);
      expect(await lastingId('phone')).toBeDefined();
      await apply({
        case: 'return',
        write: writeOf({ phone: '15550105', roleId: 3n, gone: true }, { phone: '15550105' }),
      });
      expect(await lastingId('phone')).toBeUndefined();
      expect((await edits()).at(-1)?.slice(2, 4)).toEqual(['15550105', 'agreed']);
    });
  });

  it('forgetUsers ends the edits of the user as forgotten, and keeps edits in another team', async () => {
    await edit('Kim', `phone = '15550101'`, 'id < 3');
    await write((tx) => forgetUsers(tx, run(), [1n]));
    expect(
      await sql(
        'select team_id, user_id, ended_how, ended_at is null as lasts from sync.edits order by 1, 2',
      ),
    ).toEqual([
      [41n, 1n, 'forgotten', false],
      [41n, 2n, null, true],
      [42n, 1n, null, true],
      [42n, 2n, null, true],
    ]);
  });

  const opened = async (values: { readonly phone?: string; readonly roleId?: bigint }) => {
    const fields = decisions(
      Object.fromEntries(
        Object.entries(values).map(([field, mirror]) => [
          field,
          moveOf('push', { mirror, service: undefined }),
        ]),
      ),
    );
    // Approved, where it is held.
    await sql(
      `update sync.held_fields set decision = 'approved', reason = 'limit' where user_id = 1 and team_id = 41 and until is null`,
    );
    const {
      intents: [intent],
    } = await write((tx) =>
      openIntents(tx, run(), [{ id: 1n, case: 'merge', fields, write: null }], new Set()),
    );
    if (intent === undefined) throw new Error('nothing to send');
    return intent;
  };
  const answered = (intent: Intent, outcomes: FieldOutcomes, closed = true) => {
    const result: IntentResult = {
      intent,
      outcomes,
      seen: null,
      taken: { ...was, ...intent.sent },
      joined: was.joined,
      holds: [],
      harmed: false,
      closed,
      isDirect: true,
      hasLeft: true,
      requestId: null,
    };
    return write((tx) => applyResults(tx, run(), [result]));
  };
  async function pushed(values: Parameters<typeof opened>[0], outcomes: FieldOutcomes) {
    // An asked hold keeps the field from being sent: it is asked for while the push is under way.
    const asked = await sql(`select user_id, field from sync.held_fields where until is not null`);
    await sql(`update sync.held_fields set reason = 'limit', until = null where until is not null`);
    const intent = await opened(values);
    for (const [user, field] of asked)
      await sql(
        `update sync.held_fields set reason = 'asked', until = now() + interval '1 h', decision = null where user_id = ${String(user)} and field = '${String(field)}'`,
      );
    await answered(intent, outcomes);
    await sql(`update sync.held_fields set decision = null, reason = 'conflict' where decision is not null`);
  }

  describe('an edit taken back during its push', () => {
    let intent: Intent;
    beforeEach(async () => {
      await edit('Kim', `phone = '15550101', role_id = 3`);
      intent = await opened({ phone: '15550101', roleId: 3n });
      expect(await write((tx) => markSent(tx, teamId, [1n]))).toEqual([]);
      await hold('phone', 'conflict');
      await edit('Lee', `phone = '15550100'`);
    });
    const back = ['phone', '15550101', '15550100', null, ['kim', 'lee']];

    it('does not end while the outcome of the push is unknown', async () => {
      expect((await edits()).at(-1)).toEqual(back);
      expect((await edits()).filter((row) => row[3] === 'replaced')).toEqual([
        ['phone', '15550100', '15550101', 'replaced', ['kim']],
      ]);
      expect(await held()).toEqual(['1 phone conflict']);
      await answered(intent, { phone: 'unknown', roleId: 'confirmed' }, false);
      await write((tx) => endWithdrawn(teamId).execute(tx));
      expect((await edits()).at(-1)).toEqual(back);
    });

    it.each(['missing', 'refused', 'unsent', 'ineffective'] as const)(
      'ends as agreed if the outcome of the push is "%s"',
      async (outcome) => {
        await answered(intent, { phone: outcome, roleId: 'confirmed' });
        expect((await edits()).at(-1)).toEqual(['phone', '15550101', '15550100', 'agreed', ['kim', 'lee']]);
        expect(await lastingId('phone')).toBeUndefined();
      },
    );

    it('keeps its authors and does not end after a confirmed push, until the sent value is set again', async () => {
      await answered(intent, { phone: 'confirmed', roleId: 'confirmed' });
      expect((await edits()).at(-1)).toEqual(back);
      expect(await sql(`select phone from sync.user_base where team_id = 41 and id = 1`)).toEqual([
        ['15550101'],
      ]);
      // Whoever sets it to what arrived agrees.
      await edit('Pat', `phone = '15550101'`);
      expect(await lastingId('phone')).toBeUndefined();
    });

    it('ends at once if only another field or another user still has an open push', async () => {
      await answered(intent, { phone: 'unknown', roleId: 'missing' }, false);
      await edit('Lee', 'role_id = 2');
      expect(await lastingId('role_id')).toBeUndefined();
      await edit('Kim', `email = 'new@example.com'`);
      await edit('Kim', `email = '1@example.com'`);
      expect(await lastingId('email')).toBeUndefined();
      await edit('Kim', `phone = '15550101'`, 'id = 2 or team_id = 42');
      await edit('Kim', `phone = '15550100'`, 'id = 2 or team_id = 42');
      expect(await sql('select count(*) from sync.edits where ended_at is null')).toEqual([[1n]]);
    });

    it('lasts while base lacks the value of the confirmed push', async () => {
      await sql(
        `update sync.changes set outcome = '{"role_id": "confirmed"}', closed_at = now() where state = 'open'`,
      );
      await edit('Lee', 'role_id = 2');
      expect(await lastingId('role_id')).toBeDefined();
    });

    it('a new edit begins if the sent value is set again, and ends once the push is confirmed', async () => {
      const carried = await sql(`select (edits ->> 'phone')::bigint from sync.changes where state = 'open'`);
      await edit('Kim', `phone = '15550101'`);
      expect(await lastingId('phone')).toBeGreaterThan(carried[0]?.[0] as bigint);
      expect((await edits()).at(-1)).toEqual(['phone', '15550100', '15550101', null, ['kim', 'lee']]);
      await answered(intent, { phone: 'confirmed', roleId: 'confirmed' });
      expect(await lastingId('phone')).toBeUndefined();
    });
  });

  it.each([
    ['read committed', 'confirmed', null],
    ['repeatable read', 'confirmed', null],
    ['serializable', 'confirmed', null],
    ['repeatable read', 'ineffective', 'agreed'],
  ] as const)(
    'a %s transaction that began before the push takes the edit back: after the outcome %s, ended_how is %s',
    async (isolation, outcome, ended) => {
      await edit('Kim', `phone = '15550101'`);
      await other.transaction(async (tx) => {
        await text`set transaction isolation level ${text.raw(isolation)}`.execute(tx);
        await text`select set_config('musterd.actor', 'Lee', true) from mirror.users`.execute(tx);
        const intent = await opened({ phone: '15550101' });
        await write((one) => markSent(one, teamId, [1n]));
        await text`update mirror.users set phone = '15550100' where team_id = 41 and id = 1`.execute(tx);
        await text`commit and chain`.execute(tx);
        await answered(intent, { phone: outcome });
      });
      expect((await edits()).at(-1)).toEqual(['phone', '15550101', '15550100', ended, ['kim', 'lee']]);
    },
  );

  it('a confirmed push removes the hold of the sent edit, and keeps a hold of the next edit', async () => {
    await edit('Kim', `phone = '15550101', role_id = 3`);
    const intent = await opened({ phone: '15550101', roleId: 3n });
    await hold('role_id', 'limit');
    await edit('Lee', `phone = '15550102', role_id = 4`);
    await hold('phone', 'limit');
    await answered(intent, { phone: 'confirmed', roleId: 'confirmed' });
    expect(await held()).toEqual(['1 phone limit']);
    expect(await edits('ended_at is null')).toEqual([
      ['phone', '15550101', '15550102', null, ['kim', 'lee']],
      ['role_id', 3, 4, null, ['kim', 'lee']],
    ]);
  });

  describe('an edit made with triggers off', () => {
    const find = async (field = 'phone', user = 1) =>
      (await sql(`select sync.find_edit(41, ${user}, '${field}')`))[0]?.[0] as bigint | null;

    it.each([
      [
        'name',
        `last_name = 'Borg'`,
        { first: 'Ana Maria', last: 'Lopez' },
        { first: 'Ana Maria', last: 'Borg' },
      ],
      ['email', `email = 'new@example.com'`, '1@example.com', 'new@example.com'],
      ['phone', 'phone = null', '15550100', null],
      ['role_id', 'role_id = 3', 2, 3],
    ])('sync.find_edit records an edit of %s by an unknown author', async (field, set, old, now) => {
      await force(`update mirror.users set ${set} where team_id = 41 and id = 1`);
      expect(await edits('true')).toEqual([]);
      const found = await find(field);
      expect(await objects('select *, xid is not null as has_xid from sync.edits')).toEqual([
        {
          edit_id: found,
          xid: expect.anything() as unknown,
          has_xid: true,
          team_id: 41n,
          user_id: 1n,
          field,
          old_value: old,
          new_value: now,
          old_split: null,
          edited_at: expect.any(Date) as Date,
          edited_by: null,
          application: null,
          actor: null,
          authors: [''],
          ended_at: null,
          ended_how: null,
        },
      ]);
      expect(await find(field)).toBe(found);
      expect(await edits('true')).toHaveLength(1);
    });

    it('sync.find_edit returns the recorded edit if the field still has the value of the edit', async () => {
      await edit('Kim', `phone = '15550101'`);
      expect(await find()).toBe(await lastingId('phone'));
      expect(await edits('true')).toHaveLength(1);
    });

    it('sync.find_edit replaces the recorded edit by an edit with the same authors and an unknown author', async () => {
      await edit('Kim', `phone = '15550101', last_name = 'Borg'`);
      await force(
        `update mirror.users set phone = '15550102', last_name = 'Berg', name_split = 'known' where team_id = 41 and id = 1`,
      );
      await find();
      await find('name');
      expect((await edits()).filter(([field]) => field === 'phone')).toEqual([
        ['phone', '15550100', '15550101', 'replaced', ['kim']],
        ['phone', '15550101', '15550102', null, ['', 'kim']],
      ]);
      expect(await sql(`select old_split from sync.edits where field = 'name' and ended_at is null`)).toEqual(
        [['guessed']],
      );
    });

    it('sync.find_edit returns null if mirror and base agree, and ends the recorded edit', async () => {
      expect(await find()).toBeNull();
      await edit('Kim', `phone = '15550101'`);
      await force(`update mirror.users set phone = '15550100' where team_id = 41 and id = 1`);
      expect(await find()).toBeNull();
      expect(await edits()).toEqual([['phone', '15550100', '15550101', 'replaced', ['kim']]]);
      expect(await find('phone', 9)).toBeNull();
    });

    it('after sync.find_edit, the next edit of the field has an unknown author too', async () => {
      await force(`update mirror.users set phone = '15550101' where team_id = 41 and id = 1`);
      await find();
      await edit('Kim', `phone = '15550102'`);
      expect((await edits()).at(-1)).toEqual(['phone', '15550101', '15550102', null, ['', 'kim']]);
    });

    it('without sync.find_edit, the next edit of the field has an unknown author too', async () => {
      await force(`update mirror.users set phone = '15550101' where team_id = 41 and id = 1`);
      await edit('Kim', `phone = '15550102'`);
      expect(await edits()).toEqual([['phone', '15550101', '15550102', null, ['', 'kim']]]);
      await edit('Kim', `email = 'kim@example.com'`);
      await force(`update mirror.users set email = 'x@example.com' where team_id = 41 and id = 1`);
      await edit('Lee', `email = 'lee@example.com'`);
      expect((await edits()).at(-1)?.at(-1)).toEqual(['', 'kim', 'lee']);
    });
  });

  it.each(['before the tables were analysed', 'afterwards'])(
    'the trigger that records an edit reads only rows of the edited users, measured %s',
    async (when) => {
      await force(`
        insert into sync.user_base (team_id, id, name, first_name, last_name, phone) select 41, n, 'A', 'A', '', '15550100' from generate_series(10, 3000) n;
        insert into mirror.users (team_id, id, name, first_name, last_name, phone, resolved)
          select team_id, id, name, first_name, last_name, phone, true from sync.user_base where team_id = 41 and id >= 10`);
      if (when === 'afterwards') await sql('analyze');
      const looks = await other.transaction(async (tx) => {
        const looked = async () => {
          const { rows } = await text<{ rows: number }>`
            select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
            where relid in ('sync.edits'::regclass, 'sync.user_base'::regclass, 'sync.held_fields'::regclass)`.execute(
            tx,
          );
          return rows[0]?.rows ?? Number.NaN;
        };
        const cost = async (set: string, where: string) => {
          const before = await looked();
          await tx.executeQuery(
            CompiledQuery.raw(`update mirror.users set ${set} where team_id = 41 and ${where}`),
          );
          return (await looked()) - before;
        };
        // The plan is made for one row, and with nothing on record.
        const first = await cost(`phone = '15550101'`, 'id = 10');
        const many = await cost(`phone = '15550101'`, 'id between 11 and 2010');
        const replaced = await cost(`phone = '15550102'`, 'id between 11 and 20');
        const withdrawn = await cost(`phone = '15550100'`, 'id between 11 and 20');
        return { first, many, replaced, withdrawn };
      });
      // Of each the base, and what is on record of it.
      expect(looks).toEqual({ first: 1, many: 2000, replaced: 20, withdrawn: 20 });
    },
  );
});
