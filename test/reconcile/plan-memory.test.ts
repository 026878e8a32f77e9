import { describe, expect, it } from 'vitest';
import {
  type Decision,
  type Decisions,
  decideEach,
  type Hold,
  type UserCase,
  type UserPlan,
} from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { PlannedPush } from '../../src/model/plan.ts';
import {
  type PlanFacts,
  type Fate,
  fateOf,
  joinRows,
  remember,
} from '../../src/reconcile/guard/plan-memory.ts';
import { base, id, makeState, shown } from './states.ts';
import { rowsOf } from './truth.ts';

const email = 'new@example.com';
const row: PlannedPush = { userId: id, name: '', base: { email: base.email }, service: {}, patch: { email } };
const hold = (reason: Hold['reason'], endsInMs?: number): Hold => ({
  field: 'email',
  reason,
  base: base.email,
  mirror: email,
  service: base.email,
  detail: '',
  endsInMs,
});
const planOf = (userCase: UserCase, more: Partial<Decisions> = {}): UserPlan => ({
  id,
  case: userCase,
  fields: { ...decideEach(() => ({ kind: 'same', ends: false })), ...more },
  write: null,
});
const held: Decision = { kind: 'held', shown: undefined };
const push = (mirror: string | null): Decision => ({
  kind: 'push',
  values: { base: base.email, mirror, service: base.email },
  ends: false,
});
const edited = (held: readonly Hold[] = []): UserState => makeState({ mirror: { email }, held });
const facts = (given: Partial<PlanFacts>): PlanFacts => ({
  state: edited(),
  plan: planOf('merge'),
  isEqual: false,
  isGone: false,
  was: 'waits',
  ...given,
});

describe('one field of a row', () => {
  it.each<readonly [string, Partial<PlanFacts>, Fate]>([
    ['edited again', { state: makeState({ mirror: { email: 'other@example.com' } }) }, 'forgotten'],
    ['edited again, of a user who left', { state: makeState({}), isGone: true }, 'forgotten'],
    ['of a user who left', { plan: undefined, state: undefined, isGone: true }, 'kept'],
    ['of a user who left and comes back', { plan: planOf('return'), isGone: true }, 'kept'],
    ['that would be pushed', { plan: planOf('merge', { email: push(email) }) }, 'up to the guard'],
    [
      'that becomes a conflict',
      { plan: planOf('merge', { email: { kind: 'hold', hold: hold('conflict') } }) },
      'kept',
    ],
    [
      'held on request',
      { state: edited([hold('asked', 1)]), plan: planOf('merge', { email: held }) },
      'waits',
    ],
    ['that was held on request', { state: edited([hold('asked', 0)]) }, 'forgotten'],
    ['held otherwise', { state: edited([hold('refused')]), plan: planOf('merge', { email: held }) }, 'kept'],
    ['that differs no more', {}, 'forgotten'],
    ['of a user who is equal', { plan: undefined, state: undefined, isEqual: true }, 'forgotten'],
  ])('%s', (_, given, fate) => {
    for (const was of ['waits', 'kept'] as const)
      expect(fateOf('email', row, facts({ ...given, was }))).toBe(fate);
  });

  const presences: Record<Exclude<UserCase, 'merge' | 'return'>, 'stays' | 'forgotten'> = {
    waiting: 'stays',
    unresolved: 'stays',
    missing: 'stays',
    adopt: 'forgotten',
    forget: 'forgotten',
    stranger: 'forgotten',
  };
  it.each(rowsOf(presences))('of a user who is %s', (presence, expected) => {
    for (const was of ['waits', 'kept'] as const) {
      const fate = fateOf('email', row, facts({ plan: planOf(presence), was }));
      expect(fate).toBe(expected === 'stays' ? was : expected);
    }
  });

  it.each(['merge', 'return'] as const)('that nobody can read now stays what it was: %s', (presence) => {
    const state = { ...edited(), service: { ...shown, email: { unreadable: '[]' } } };
    for (const was of ['waits', 'kept'] as const)
      expect(fateOf('email', row, facts({ state, plan: planOf(presence), was }))).toBe(was);
  });

  it('of a user of whom nothing is said stays what it was', () => {
    for (const was of ['waits', 'kept'] as const)
      expect(fateOf('email', row, facts({ plan: undefined, state: undefined, was }))).toBe(was);
  });
});

describe('the rows of a plan', () => {
  const history = { waiting: [row], kept: [], gone: new Set<bigint>() };
  const users = new Map([[id, { id, raw: {} }]]);

  it('of whoever is shown and has no plan are forgotten only where everybody was asked for', () => {
    const view = { states: [], plans: [], users, history };
    expect(remember({ ...view, isWhole: true })).toEqual({ waiting: [], kept: [] });
    expect(remember({ ...view, isWhole: false })).toEqual({ waiting: [row], kept: [] });
    expect(remember({ ...view, isWhole: true, users: new Map() })).toEqual({ waiting: [row], kept: [] });
  });

  it('are split where two fields fare differently', () => {
    const both = { ...row, base: { ...row.base, phone: base.phone }, patch: { email, phone: null } };
    const state = makeState({ mirror: { email, phone: null }, held: [hold('conflict')] });
    const plans = [planOf('merge', { email: held, phone: push(null) })];
    const view = { states: [state], plans, users, isWhole: true, history: { ...history, waiting: [both] } };
    expect(remember(view)).toEqual({ waiting: [], kept: [row] });
  });

  it('are one per user', () => {
    const phone = { ...row, base: { phone: base.phone }, patch: { phone: null } };
    expect(joinRows([row, phone])).toMatchObject([{ patch: { email, phone: null } }]);
  });
});
