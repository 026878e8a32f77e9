import { describe, expect, it } from 'vitest';
import { decideEach, type Decision, type Hold, type UserPlan } from '../../src/model/user-plan.ts';
import { onlyReviewed, leftOf } from '../../src/reconcile/only-reviewed.ts';
import { id, makeState } from './states.ts';

const values = { base: '15550100', mirror: '15550111', service: '15550100' };
const row = { userId: id, field: 'phone', values } as const;
const held = (hold: Partial<Hold> = {}): Hold => ({
  field: 'phone',
  reason: 'conflict',
  detail: '',
  ...values,
  ...hold,
});
const planOf = (decision: Decision): UserPlan => ({
  id,
  case: 'merge',
  write: null,
  fields: decideEach((field) => (field === 'phone' ? decision : { kind: 'same', ends: false })),
});
const push = (of = values): Decision => ({
  kind: 'push',
  values: of,
  edit: undefined,
  ends: false,
});

describe('exactly what a plan said', () => {
  const sent = { base: {}, mirror: { phone: '15550111' } };
  const kindOf = (
    state: Parameters<typeof makeState>[0],
    decision = push(),
    rows: Parameters<typeof onlyReviewed>[0] = [row],
  ) => {
    const { approved, only } = onlyReviewed(rows);
    return only(planOf(decision), approved(makeState(state))).fields.phone.kind;
  };

  it('counts as approved over what was seen, in the place of what held these fields', () => {
    const email = held({ field: 'email' });
    const { held: now } = onlyReviewed([row]).approved(makeState({ held: [email, held()] }));
    expect(now[0]).toBe(email);
    expect(now.slice(1)).toEqual([
      {
        ...values,
        field: 'phone',
        reason: 'review',
        shown: '15550100',
        detail: '',
        batch: '',
        decision: 'approved',
      },
    ]);
  });

  it('leaves any other push to another run: of another edit, value, base, service, field or user', () => {
    expect(kindOf(sent)).toBe('push');
    for (const other of [{ mirror: '15550112' }, { base: '15550101' }, { service: '15550102' }])
      expect(kindOf(sent, push({ ...values, ...other }))).toBe('wait');
    expect(kindOf({ ...sent, edits: { phone: { id: 12n } } }, push(), [{ ...row, edit: 11n }])).toBe('wait');
    expect(kindOf(sent, push(), [{ ...row, userId: 8n }])).toBe('wait');
    expect(kindOf(sent, push(), [{ ...row, field: 'roleId' }])).toBe('wait');
  });

  it('leaves what somebody approved besides to another run', () => {
    const approvedBefore = held({ reason: 'review', batch: 'abc', shown: '15550100', decision: 'approved' });
    expect(kindOf({ ...sent, held: [approvedBefore] })).toBe('push');
    expect(kindOf({ ...sent, held: [approvedBefore] }, push(), [{ ...row, field: 'email' }])).toBe('wait');
  });

  it.each<[string, Parameters<typeof makeState>[0], Decision?]>([
    ['the service no longer shows the user', { service: null }],
    ['the outcome of an earlier push', { ...sent, hasOpenIntent: true }],
    ['changed on the service', { ...sent, service: { phone: '15550102' } }],
    ['held: conflict', sent, { kind: 'hold', hold: held() }],
    ['wait for another run', sent],
  ])('says why a row is left: %s', (why, given, decision = { kind: 'wait' }) => {
    const state = onlyReviewed([row]).approved(makeState(given));
    const left = leftOf([row], [state], [planOf(decision)]);
    expect(left).toEqual([{ userId: id, field: 'phone', reason: expect.stringContaining(why) }]);
    expect(leftOf([row], [state], [planOf(push())])).toEqual([]);
  });
});
