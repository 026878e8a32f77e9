import { describe, expect, it } from 'vitest';
import { changesOf, sayHold, wordOf, roleMove } from '../../src/model/user-changes.ts';
import {
  type Decision,
  decisionsOf,
  detailsOf,
  endedHolds,
  type Hold,
  holdsOf,
  isPush,
  mapPushes,
  pushOf,
  type UserCase,
  type UserPlan,
} from '../../src/model/user-plan.ts';
import { decisions, heldAsBefore, moveOf } from '../support/decisions.ts';

const values = { base: 'a', mirror: 'b', service: 'c' };
const hold: Hold = { field: 'email', reason: 'conflict', detail: 'both', ...values };
const push = moveOf('push', values, true);
const plan = (some: Partial<UserPlan['fields']>, userCase: UserCase = 'merge'): UserPlan => ({
  id: 7n,
  case: userCase,
  fields: decisions(some),
  write: null,
});

describe('the decision about a field', () => {
  it('does not compile if the decision is contradictory, for example both held and moved', () => {
    const contradictions: readonly Decision[] = [
      // @ts-expect-error held from now on, and its hold over
      { kind: 'hold', hold, ends: true },
      // @ts-expect-error held as before, and its hold over
      { kind: 'held', shown: null, ends: true },
      // @ts-expect-error held, and moved
      { kind: 'held', shown: null, values },
      // @ts-expect-error moved from nowhere to nowhere
      { kind: 'push', ends: false },
      // @ts-expect-error waits, and is sent
      { kind: 'wait', values },
    ];
    // @ts-expect-error something is sent without a move of its field
    const sent: UserPlan = { ...plan({}), patch: { email: 'b' } };
    // @ts-expect-error nothing is decided of the phone
    const partly: UserPlan['fields'] = { name: push, email: push, roleId: push };
    expect([contradictions.length, sent.id, partly.name.kind]).toEqual([5, 7n, 'push']);
  });

  const words: Record<string, { readonly decision: Decision; readonly word: string; readonly row: boolean }> =
    {
      same: { decision: { kind: 'same', ends: false }, word: 'nothing', row: false },
      over: { decision: { kind: 'same', ends: true }, word: 'release', row: false },
      adopt: { decision: { kind: 'adopt', ends: true }, word: 'adopt', row: false },
      pull: { decision: moveOf('pull', values), word: 'pull', row: true },
      settle: { decision: moveOf('settle', values), word: 'settle', row: true },
      push: { decision: push, word: 'push', row: true },
      hold: { decision: { kind: 'hold', hold }, word: 'hold', row: true },
      held: { decision: heldAsBefore, word: 'held', row: false },
      wait: { decision: { kind: 'wait' }, word: 'wait', row: false },
    };
  it.each(Object.entries(words))('gets one word, and a plan row for a move or new hold: %s', (_, of) => {
    expect(wordOf(of.decision)).toBe(of.word);
    const row = {
      change: of.word,
      field: 'email',
      ...values,
      state: of.word === 'hold' ? 'held' : of.word === 'push' ? 'waiting' : null,
      reason: of.word === 'hold' ? 'conflict' : null,
      detail: of.word === 'hold' ? 'both' : null,
      batch: null,
      edited_by: null,
      edited_at: null,
    };
    expect(changesOf(plan({ email: of.decision }), 'Anne')).toEqual(
      of.row ? [{ user_id: 7n, name: 'Anne', ...row }] : [],
    );
  });

  it('changesOf lists the change of the whole user first, then moves, then holds', () => {
    const fields = { email: { kind: 'hold', hold }, roleId: moveOf('pull', { base: undefined }) } as const;
    const changes = (userCase: UserCase) =>
      changesOf(plan(fields, userCase), '').map(({ change, field }) => [change, field]);
    const moved = [
      ['pull', 'role_id'],
      ['hold', 'email'],
    ];
    expect(changes('missing')).toEqual([['missing', null], ...moved]);
    expect(changes('forget')).toEqual([['forget', null], ...moved]);
    const write = { id: 7n } as UserPlan['write'];
    for (const userCase of ['adopt', 'return'] as const)
      expect(changesOf({ ...plan({}, userCase), write }, '')).toMatchObject([
        { change: userCase, field: null },
      ]);
    expect(changesOf({ ...plan({}, 'merge'), write }, '')).toEqual([]);
    // Nothing of them is written.
    expect(changes('adopt')).toEqual(moved);
    expect(changes('waiting')).toEqual(moved);
    expect(changesOf(plan(fields), '')[0]).toMatchObject({ base: null });
  });
});

it('sayHold returns the reason of a hold, and the detail if there is one', () => {
  const said = ['', 'both'].map((detail) => sayHold({ reason: 'conflict', detail }));
  expect(said).toEqual(['conflict', 'conflict: both']);
});

it('detailsOf returns the times and the raw row of a user on the service, and null for a missing time', () => {
  const details = { createdAt: 'a', updatedAt: 'b', userCreatedAt: 'c', userUpdatedAt: 'd', raw: { x: 1 } };
  expect(detailsOf({ id: 7n, ...details })).toEqual(details);
  const none = { createdAt: null, updatedAt: null, userCreatedAt: null, userUpdatedAt: null };
  expect(detailsOf({ id: 7n, raw: {} })).toEqual({ ...none, raw: {} });
});

describe('the pushes of a plan', () => {
  const both = plan({
    email: push,
    phone: { ...push, values: { ...values, mirror: null } },
    roleId: heldAsBefore,
  });

  it('pushOf returns the values to send, with null for a cleared value', () => {
    expect(pushOf(both)).toEqual({ email: 'b', phone: null });
    expect([isPush(both), isPush(plan({ email: moveOf('pull') }))]).toEqual([true, false]);
  });

  it('mapPushes replaces the decisions of pushed fields, and keeps the decisions of all other fields', () => {
    const seen: unknown[] = [];
    const mapped = mapPushes(both, (field, { values: of }) => {
      seen.push([field, of.mirror]);
      return field === 'email' ? { kind: 'hold', hold } : { kind: 'wait' };
    });
    expect(seen).toEqual([
      ['email', 'b'],
      ['phone', null],
    ]);
    expect(mapped).toEqual({
      ...both,
      fields: { ...both.fields, email: { kind: 'hold', hold }, phone: { kind: 'wait' } },
    });
    expect([pushOf(mapped), holdsOf(mapped), endedHolds(mapped)]).toEqual([{}, [hold], []]);
    expect(endedHolds(both)).toEqual(['email', 'phone']);
    expect(decisionsOf(mapped, 'held').map(([field]) => field)).toEqual(['roleId']);
  });
});

describe('the name of a role', () => {
  const user = { name: { first: '', last: '' }, email: null, phone: null, roleId: null, joined: '' };
  const row = { ...user, split: 'guessed', role: 'agent', resolved: false, gone: false } as const;
  const write = (role: string | null, resolved: boolean, expected: typeof row | null = row) => ({
    id: 7n,
    expected,
    mirror: row,
    base: user,
    observed: { name: '', role, resolved, details: null },
  });

  it('roleMove returns the old and new name if only the team listing shows the user, and undefined if a lookup did', () => {
    expect(roleMove(write('admin', false))).toEqual({ old: 'agent', new: 'admin' });
    expect(roleMove(write('agent', false))).toBeUndefined();
    expect(roleMove(write('admin', true))).toBeUndefined();
    expect(roleMove(write('admin', false, null))).toBeUndefined();
    expect(roleMove(null)).toBeUndefined();
  });
});
