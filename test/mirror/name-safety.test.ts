import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { takeLeaseFor } from '../../src/mirror/team/lease.ts';
import { createMirror } from '../../src/mirror/mirror.ts';
import { beginRun } from '../../src/mirror/runs/runs.ts';
import { pinTeam } from '../../src/mirror/team/pinned-teams.ts';
import { fields } from '../../src/model/fields.ts';
import type { Intent } from '../../src/model/intent.ts';
import type { UserPlan } from '../../src/model/user-plan.ts';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser, UserPatch } from '../../src/model/user.ts';
import { planInLists } from '../reconcile/in-lists.ts';
import { holdAll } from '../reconcile/states.ts';
import { resultOf } from '../../src/reconcile/push/result.ts';
import { judge } from '../../src/reconcile/push/outcome.ts';
import { decisions, moveOf } from '../support/decisions.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import { useDatabase } from '../support/use-database.ts';

const team = 'names';
const teamId = 41n;
const ids: readonly Id[] = [1n, 2n, 3n];
const shownAs = (id: Id, given: Partial<ServiceUser> = {}): ServiceUser => ({
  id,
  name: 'Anne Berg',
  email: `user${id}@example.com`,
  phone: null,
  roleId: 2n,
  raw: {},
  ...given,
});

describe('a name that the service cuts or clears in an update of another field', () => {
  const database = useDatabase();
  const { rows: sql } = database;
  let mirror: ReturnType<typeof createMirror>;
  let release: () => Promise<void>;
  beforeAll(async () => {
    await pinTeam(database.db, team, teamId);
    const { lease, result } = await takeLeaseFor(database.db, team, { ttlMs: 60_000 }, (tx) =>
      beginRun(tx, team, 'reconcile', []),
    );
    release = () => lease.release();
    const { runId } = result;
    mirror = createMirror(database.db, lease, teamId, runId);
  });
  afterAll(() => release());
  const planOf = async (user: ServiceUser): Promise<UserPlan> => {
    const [state] = await readDifferingUsers(database.db, teamId, [user]);
    if (state === undefined) throw new Error(`user ${user.id} is equal everywhere`);
    return planInLists(state, undefined, holdAll);
  };
  const adopt = async (id: Id) => mirror.applyUsers([await planOf(shownAs(id))]);
  beforeEach(async () => {
    for (const id of ids) await adopt(id);
  });
  afterEach(() =>
    sql(`
      begin; select set_config('musterd.writing', 'on', true); delete from mirror.users; commit;
      delete from sync.user_base; delete from sync.held_fields; delete from sync.changes; delete from sync.learned`),
  );

  /** Opens a push of this edit. */
  const open = async (id: Id, patch: UserPatch, shown = shownAs(id)): Promise<Intent> => {
    const plan = await planOf(shown);
    const edited = fields.flatMap((field) =>
      patch[field] === undefined
        ? []
        : [[field, moveOf('push', { mirror: patch[field], service: undefined })]],
    );
    const pushing = { ...plan, fields: decisions(Object.fromEntries(edited)) };
    const {
      intents: [intent],
    } = await mirror.openIntents([pushing], new Set());
    if (intent === undefined) throw new Error('nothing to send');
    return intent;
  };
  /** The answer shows the user with this name. */
  const answer = async (of: readonly { readonly intent: Intent; readonly name: string | null }[]) =>
    mirror.applyResults(
      of.map(({ intent, name }) => {
        const { email, roleId } = { ...intent.base, ...intent.sent };
        const seen = shownAs(intent.userId, { name, email, roleId });
        const outcomes = judge(intent.sent, intent.before, seen);
        return resultOf({ intent, seen, outcomes, requestId: null }, new Map(), 3);
      }),
    );
  const setRole = async (id: Id) => {
    await sql(`update mirror.users set role_id = 3 where id = ${id}`);
    return open(id, { roleId: 3n });
  };
  const names = (id: Id) =>
    sql(`
      select u.first_name, u.last_name, b.name as agreed, b.first_name as agreed_first, b.last_name as agreed_last,
        sync.held_because(h.reason, h.decision, h.until), h.base_value, h.mirror_value, h.service_value
      from mirror.users u join sync.user_base b using (team_id, id)
      left join sync.held_fields h on h.user_id = u.id and h.field = 'name' where u.id = ${id}`);
  const anne = { first: 'Anne', last: 'Berg' };

  it.each([
    ['', ['', '', '']],
    [null, ['', '', '']],
    ['Anne', ['Anne', 'Anne', '']],
    ['Berg ', ['Berg ', 'Berg', '']],
  ] as const)('applyResults stores the shown name %j in base, not in the mirror', async (name, agreed) => {
    await answer([{ intent: await setRole(1n), name }]);
    expect(await names(1n)).toEqual([['Anne', 'Berg', ...agreed, null, null, null, null]]);
    expect(await names(2n)).toEqual([['Anne', 'Berg', 'Anne Berg', 'Anne', 'Berg', null, null, null, null]]);
    expect(await sql('select role_id from sync.user_base where id = 1')).toEqual([[3n]]);
  });

  it('applyResults stores the cleared name in base even if the update had no effect and another field is held', async () => {
    await sql(`
      insert into sync.held_fields (team_id, user_id, field, reason, detail)
      values (${teamId}, 1, 'phone', 'conflict', '')`);
    const intent = await setRole(1n);
    const seen = shownAs(1n, { name: '' });
    const outcomes = judge(intent.sent, intent.before, seen);
    await mirror.applyResults([resultOf({ intent, seen, outcomes, requestId: null }, new Map(), 3)]);
    expect(await names(1n)).toEqual([['Anne', 'Berg', '', '', '', null, null, null, null]]);
    expect(await sql('select role_id from sync.user_base where id = 1')).toEqual([[2n]]);
  });

  it.each(['conflict', 'rejected', 'asked'])('keeps base and hold of a name held as %s', async (reason) => {
    await sql(`update mirror.users set first_name = 'Robin', last_name = 'Doe' where id = 1`);
    await sql(`
      insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, detail, until, decision)
      select ${teamId}, 1, 'name', '${reason === 'rejected' ? 'limit' : reason}', '{"first": "Anne", "last": "Berg"}', '{"first": "Robin", "last": "Doe"}',
        '"Anne Borg"', 'as before', case when '${reason}' = 'asked' then now() + interval '1 hour' end, nullif('${reason === 'rejected' ? reason : ''}', '')`);
    await answer([{ intent: await setRole(1n), name: '' }]);
    expect(await names(1n)).toEqual([
      [
        'Robin',
        'Doe',
        'Anne Berg',
        'Anne',
        'Berg',
        reason,
        anne,
        { first: 'Robin', last: 'Doe' },
        'Anne Borg',
      ],
    ]);
    expect(await mirror.readNameSafety()).toBe('clears');
  });

  /** What is known after updates that leave these names. */
  const learn = async (...answers: readonly Readonly<Record<string, string>>[]) => {
    for (const shown of answers) {
      const of: { intent: Intent; name: string }[] = [];
      for (const [id, name] of Object.entries(shown)) {
        await sql(`update mirror.users set role_id = coalesce(role_id, 0) + 1 where id = ${id}`);
        const [[roleId] = []] = await sql(`select role_id from mirror.users where id = ${id}`);
        const intent = await open(BigInt(id), { roleId: roleId as bigint });
        of.push({ intent, name });
      }
      await answer(of);
    }
    return await mirror.readNameSafety();
  };

  it.each([
    ['"keeps" after an update that kept the name', [{ 1: 'Anne Berg' }], 'keeps'],
    ['"clears" after an answer without a name', [{ 1: '' }], 'clears'],
    ['"clears" after a name has lost a half', [{ 1: 'Anne' }], 'clears'],
    ['"clears" after a kept and then a cut name', [{ 2: 'Anne Berg' }, { 1: 'Anne' }], 'clears'],
    ['"clears" after one answer with a cut and a kept name', [{ 1: 'Anne', 2: 'Anne Berg' }], 'clears'],
    ['"clears" after a cut and then a kept name', [{ 1: 'Anne' }, { 2: 'Anne Berg' }], 'clears'],
    ['"keeps" after a name of new words, set by another person', [{ 1: 'Eva Borg' }], 'keeps'],
  ] as const)('once a name was cut, readNameSafety returns "clears": %s', async (_, answers, safety) => {
    expect(await learn(...answers)).toBe(safety);
  });

  it('readNameSafety returns "unknown" after an update of a user without a name', async () => {
    const nameless = shownAs(4n, { name: '' });
    await mirror.applyUsers([await planOf(nameless)]);
    await sql('update mirror.users set role_id = 3 where id = 4');
    await answer([{ intent: await open(4n, { roleId: 3n }, nameless), name: '' }]);
    expect(await mirror.readNameSafety()).toBe('unknown');
  });

  it('readNameSafety returns "unknown" after an update that sent the name along', async () => {
    const intent = await setRole(1n);
    await answer([{ intent: { ...intent, along: anne }, name: 'Anne Berg' }]);
    expect(await mirror.readNameSafety()).toBe('unknown');
  });
});
