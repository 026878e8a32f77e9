/** The parts that the guard is made of, each by its table; `guard.test.ts` shows them together. */
import { describe, expect, it } from 'vitest';
import type { Decision, UserPlan, Values } from '../../src/model/user-plan.ts';
import { countHeld, stayingOf } from '../../src/reconcile/guard/left-waiting.ts';
import { massChange, massLimit } from '../../src/reconcile/guard/limits.ts';
import {
  onlyGuarded,
  pushedEdit,
  pushedValues,
  putsBackName,
} from '../../src/reconcile/guard/planned-push.ts';
import { sayLeft, sayLimited, sayReviewed } from '../../src/reconcile/guard/refusal-words.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { holdAll, id, makeState, member } from './states.ts';

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
    ['nothing', undefined, true],
    ['that it stays', { kind: 'held', shown: null }, true],
    ['that it waits', { kind: 'wait' }, true],
    ['that nothing is to be done, and its hold stays', { kind: 'same', ends: false }, true],
    ['that nothing is to be done, and its hold ends', { kind: 'same', ends: true }, false],
    ['that it is sent', push, false],
    ['that it is pulled', { kind: 'pull', values, ends: false }, false],
    ['that it is held anew', { kind: 'hold', hold: hold() }, false],
  ])('a hold stays or ends by the decision about its field: %s', (_, decision, stays) => {
    const held = [{ userId: id, field: 'email' as const }];
    const plans = decision === undefined ? [] : [planOf(decision)];
    expect(stayingOf(plans, held, (one) => one)).toEqual(stays ? held : []);
  });

  it.each([
    ['alone', hold({ isAlone: true }), 2],
    ['by a limit on the run', hold(), 1],
    ['because somebody asked', hold({ reason: 'asked' }), 1],
    ['because somebody rejected it', hold({ reason: 'rejected' }), 1],
  ])('counts a new hold beside earlier holds, or not: %s', (_, anew, count) => {
    const before = [{ userId: 99n, field: 'email' as const }];
    expect(countHeld([planOf({ kind: 'hold', hold: anew })], before)).toBe(count);
  });
});

describe('a limit', () => {
  const settings = {
    maxRows: 5,
    maxShare: 0.3,
    maxRoleChanges: 3,
    maxDrift: 0.2,
    adminRoleIds: [],
    isReviewed: false,
  };
  it.each([
    [19, 5],
    [20, 6],
    [21, 6],
    [10, 5],
  ])('massLimit lets for a team of %i users %i pass', (population, limit) => {
    expect(massLimit(population, settings)).toBe(limit);
  });

  const ids = (count: number, from = 1) => Array.from({ length: count }, (_, at) => BigInt(from + at));
  it.each([
    ['within the limits', 40, 12, [], []],
    ['too many', 40, 13, [], ['13 of 40 users would be pushed within a day, more than the limit of 12']],
    ['as many as a day may have', 40, 5, ids(7, 20), []],
    [
      'more than a day may have',
      40,
      5,
      ids(8, 20),
      ['13 of 40 users would be pushed within a day, more than the limit of 12'],
    ],
    ['those that were sent today already', 40, 5, ids(12), []],
    ['none, on a day that is full', 40, 0, ids(30), []],
    ['everybody of a small team', 3, 3, [], []],
  ])('massChange gives a reason only above the limit: %s', (_, population, count, today, reasons) => {
    const history = { population, pushedToday: new Set(today) };
    expect(massChange(ids(count), history, settings)).toEqual(reasons);
  });
});

it('the words of a refusal', () => {
  const alone = (count: number) =>
    new Map(Array.from({ length: count }, (_, at) => [BigInt(at + 1), [hold({ detail: `why ${at + 1}` })]]));
  const all = 'fields that limits of their own hold: ';
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
    ['1 user waits for a person to see it first'],
    ['2 users wait for a person to see it first'],
  ]);
});

describe('pushed values', () => {
  it('a pushed value takes the base that is about to be written, if the user has none yet', () => {
    const write = { base: { email: 'w@example.com' } } as UserPlan['write'];
    expect(pushedValues({ ...planOf(push), write }, 'email', values)).toEqual({
      ...values,
      base: 'w@example.com',
    });
    expect(pushedValues({ ...planOf(push), write: null }, 'email', values)).toEqual(values);
  });

  it('a push names its edit if it is on record', () => {
    expect([pushedEdit(planOf(push), 'email'), pushedEdit(planOf({ kind: 'wait' }), 'email')]).toEqual([
      5n,
      undefined,
    ]);
  });

  it.each([
    ['the same edit', {}, 'push'],
    ['another edit of the same value', { edit: 6n }, 'wait'],
    ['an edit that is not on record any more', { edit: undefined }, 'wait'],
  ])('go as the guard saw them: %s', (_, more, kind) => {
    const again = { ...push, ...more } as Decision;
    expect(onlyGuarded(planOf(again), planOf(push)).fields.email.kind).toBe(kind);
    expect(onlyGuarded(planOf(push), planOf({ kind: 'wait' })).fields.email.kind).toBe('wait');
  });

  const whole = { first: 'Anne Marie', last: 'Berg' };
  const cleared = { first: 'Anne', last: '' };
  const name = { base: cleared, mirror: whole, service: 'Anne' };
  it.each([
    ['as our update left it', name, {}, true],
    ['as somebody edited it', name, { edit: 5n }, false],
    ['that the service has otherwise by now', { ...name, service: 'Anna' }, {}, false],
    ['of other words', { ...name, mirror: { first: 'Robin', last: 'Doe' } }, {}, false],
    ['that was all cleared', { ...name, base: { first: '', last: '' }, service: '' }, {}, true],
    ['of which nothing was agreed on', { ...name, base: undefined, service: 'Anne' }, {}, false],
    ['that is to be empty', { ...name, mirror: null }, {}, false],
  ])('put back a name %s', (_, given, more, puts) => {
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
