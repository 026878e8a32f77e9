/** The parts that the guard is made of, each by its table; `guard.test.ts` shows them together. */
import { describe, expect, it } from 'vitest';
import type { Decision, UserPlan, Values } from '../../src/model/user-plan.ts';
import { countHeld, stayingOf } from '../../src/reconcile/guard/left-waiting.ts';
import { massChange, massLimit } from '../../src/reconcile/guard/limits.ts';
import { onlyGuarded, pushedValues, putsBackName } from '../../src/reconcile/guard/planned-push.ts';
import { sayLeft, sayLimited, sayReviewed } from '../../src/reconcile/guard/refusal-words.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { holdAll, id, makeState, member, guardLimits } from './states.ts';

const values: Values = { base: 'a@example.com', mirror: 'b@example.com', service: 'a@example.com' };
const push = { kind: 'push', values, edit: 5n, ends: false } as const;
const planOf = (email: Decision, name: Decision = { kind: 'same', ends: false }): UserPlan => {
  const plan = planUser(makeState(), member, holdAll);
  return { ...plan, fields: { ...plan.fields, email, name } };
};
const hold = (more: object = {}) =>
  ({ field: 'email', reason: 'limit', detail: '', ...values, ...more }) as const;

describe('earlier holds', () => {
  it.each<[string, Decision | undefined, boolean]>([
    ['no new decision', undefined, true],
    ['held as before', { kind: 'held', shown: null }, true],
    ['wait', { kind: 'wait' }, true],
    ['nothing to do, and the hold stays', { kind: 'same', ends: false }, true],
    ['nothing to do, and the hold ends', { kind: 'same', ends: true }, false],
    ['push', push, false],
    ['pull', { kind: 'pull', values, ends: false }, false],
    ['a new hold', { kind: 'hold', hold: hold() }, false],
  ])('stayingOf keeps an earlier hold unless a decision ends or renews it: %s (O1)', (_, decision, stays) => {
    const held = [{ userId: id, field: 'email' as const }];
    const plans = decision === undefined ? [] : [planOf(decision)];
    expect(stayingOf(plans, held, (one) => one)).toEqual(stays ? held : []);
  });

  it.each([
    ['by a limit on one field', hold({ isAlone: true }), 2],
    ['by a limit on the run', hold(), 1],
    ['because a person requested it', hold({ reason: 'asked' }), 1],
    ['because a person rejected the edit', hold({ reason: 'rejected' }), 1],
  ])('countHeld adds a new hold to earlier holds only if by a limit on one field: %s', (_, anew, count) => {
    const before = [{ userId: 99n, field: 'email' as const }];
    expect(countHeld([planOf({ kind: 'hold', hold: anew })], before)).toBe(count);
  });
});

describe('the limits on a run', () => {
  const settings = { ...guardLimits, maxShare: 0.3, adminRoleIds: [] };
  it.each([
    [19, 5],
    [20, 6],
    [21, 6],
    [10, 5],
  ])('massLimit returns 30 % of the users, rounded down, but at least 5: %i, %i', (population, limit) => {
    expect(massLimit(population, settings)).toBe(limit);
  });

  const ids = (count: number, from = 1) => Array.from({ length: count }, (_, at) => BigInt(from + at));
  it.each([
    ['as many users as the limit', 40, 12, [], []],
    [
      'one user more than the limit',
      40,
      13,
      [],
      ['13 of 40 users would be pushed within a day, more than the limit of 12'],
    ],
    ['as many as the limit, with earlier users of the day', 40, 5, ids(7, 20), []],
    [
      'one more than the limit, with earlier users of the day',
      40,
      5,
      ids(8, 20),
      ['13 of 40 users would be pushed within a day, more than the limit of 12'],
    ],
    ['only users who were pushed to on that day', 40, 5, ids(12), []],
    ['no user, on a day above the limit', 40, 0, ids(30), []],
    ['all users of a small team', 3, 3, [], []],
  ])(
    'massChange returns a reason to stop only if new pushes bring the users of the day above the limit: %s (O1)',
    (_, population, count, today, reasons) => {
      const history = { population, pushedToday: new Set(today) };
      expect(massChange(ids(count), history, settings)).toEqual(reasons);
    },
  );
});

it('The guard names the first three held fields in a refusal, and gives the number of further held fields and waiting users', () => {
  const alone = (count: number) =>
    new Map(
      Array.from({ length: count }, (_, at) => [
        BigInt(at + 1),
        {
          email: { kind: 'hold', hold: hold({ detail: `why ${at + 1}` }) },
          phone: { kind: 'wait', until: 'next' },
        } as const,
      ]),
    );
  const all = 'fields held by limits on single fields: ';
  expect([0, 1, 3, 4, 5].map((count) => sayLimited(alone(count)))).toEqual([
    [],
    [`${all}email of 1: why 1`],
    [`${all}email of 1: why 1; email of 2: why 2; email of 3: why 3`],
    [`${all}email of 1: why 1; email of 2: why 2; email of 3: why 3; and 1 more`],
    [`${all}email of 1: why 1; email of 2: why 2; email of 3: why 3; and 2 more`],
  ]);
  expect([0, 2].map(sayLeft)).toEqual([[], ['2 users of an earlier batch wait for a decision']]);
  expect([0, 1, 2].map(sayReviewed)).toEqual([
    [],
    ['1 user waits for a person to review it'],
    ['2 users wait for a person to review it'],
  ]);
});

describe('a planned push', () => {
  it('pushedValues returns the base that the plan is about to write, or the present base if the plan writes none', () => {
    const write = { base: { email: 'w@example.com' } } as UserPlan['write'];
    expect(pushedValues({ ...planOf(push), write }, 'email', values)).toEqual({
      ...values,
      base: 'w@example.com',
    });
    expect(pushedValues({ ...planOf(push), write: null }, 'email', values)).toEqual(values);
  });

  it.each([
    ['the same edit', {}, 'push'],
    ['another edit of the same value', { edit: 6n }, 'wait'],
    ['an edit that is no longer on record', { edit: undefined }, 'wait'],
  ])('onlyGuarded turns a push into a wait unless the guard passed the same edit: %s', (_, more, kind) => {
    const again = { ...push, ...more } as Decision;
    expect(onlyGuarded(planOf(again), planOf(push)).fields.email.kind).toBe(kind);
    expect(onlyGuarded(planOf(push), planOf({ kind: 'wait' })).fields.email.kind).toBe('wait');
  });

  const whole = { first: 'Anne Marie', last: 'Berg' };
  const cleared = { first: 'Anne', last: '' };
  const name = { base: cleared, mirror: whole, service: 'Anne' };
  it.each([
    ['nobody has changed the name since', name, {}, true],
    ['an editor has changed the name', name, { edit: 5n }, false],
    ['the service shows another name by now', { ...name, service: 'Anna' }, {}, false],
    ['the mirror has other words', { ...name, mirror: { first: 'Robin', last: 'Doe' } }, {}, false],
    ['the service shows no part of it', { ...name, base: { first: '', last: '' }, service: '' }, {}, true],
    ['base has no name', { ...name, base: undefined, service: 'Anne' }, {}, false],
    ['the mirror has no name', { ...name, mirror: null }, {}, false],
  ])('putsBackName returns true for a push that only restores a cleared name: %s', (_, given, more, puts) => {
    const decision = {
      kind: 'push',
      values: given,
      edit: undefined,
      ends: false,
      ...more,
    };
    expect(putsBackName(planOf({ kind: 'wait' }, decision as Decision))).toBe(puts);
  });
});
