import { describe, expect, it } from 'vitest';
import { decideEach, type Decision, type Hold, type UserPlan } from '../../src/model/user-plan.ts';
import { exactly, leftOf } from '../../src/reconcile/exactly.ts';
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
  seenMs: undefined,
  ends: false,
});

describe('exactly what a plan said', () => {
  it.each<readonly [string, readonly Hold[], boolean]>([
    ['nothing', [], true],
    ['a batch', [held({ reason: 'review', batch: 'abc' })], true],
    ['what a person let pass', [held({ decision: 'approved' })], true],
    ['something else', [held()], false],
    ['a rejection', [held({ reason: 'rejected' })], false],
  ])('is approved, or left, where %s holds it', (_, holds, isApproved) => {
    const email = held({ field: 'email' });
    const { held: now } = exactly([row]).approved(makeState({ held: [email, ...holds] }));
    expect(now[0]).toBe(email);
    if (isApproved)
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
    else expect(now.slice(1)).toEqual(holds);
  });

  it('is neither approved nor sent over a later version than was seen with it', () => {
    const seen = { ...row, seenMs: 1_000.4 };
    const at = (changedMs: number, isTelling = true) => ({ isNewer: false, changedMs, isTelling });
    const isApproved = (versions: ReturnType<typeof at>) =>
      exactly([seen]).approved({ ...makeState({}), versions }).held.length > 0;
    expect([at(1_000.9), at(1_001), at(2_000, false)].map(isApproved)).toEqual([true, false, true]);
    const isSent = (seenMs: number | undefined) =>
      exactly([seen]).only(planOf({ kind: 'push', values, edit: undefined, seenMs, ends: false })).fields
        .phone.kind === 'push';
    expect([undefined, 1_000.9, 1_001].map(isSent)).toEqual([true, true, false]);
    const state = { ...makeState({ mirror: { phone: '15550111' } }), versions: at(1_001) };
    expect(leftOf([seen], [state], [planOf({ kind: 'wait' })])).toEqual([
      { userId: id, field: 'phone', reason: 'changed on the service since the plan was made' },
    ]);
  });

  it('leaves any other push to another run: of another value, base, field or user', () => {
    const { only } = exactly([row]);
    const kindOf = (plan: UserPlan) => only(plan).fields.phone.kind;
    expect(kindOf(planOf(push()))).toBe('push');
    expect(kindOf(planOf(push({ ...values, mirror: '15550112' })))).toBe('wait');
    expect(kindOf(planOf(push({ ...values, base: '15550101' })))).toBe('wait');
    expect(kindOf({ ...planOf(push()), id: 8n })).toBe('wait');
    const role = { ...planOf(push()), fields: { ...planOf(push()).fields, roleId: push() } };
    expect(only(role).fields.roleId.kind).toBe('wait');
  });

  it.each<readonly [string, Parameters<typeof makeState>[0]]>([
    ['the service no longer shows the user', { service: null }],
    ['the outcome of an earlier push', { mirror: { phone: '15550111' }, hasOpenIntent: true }],
    ['edited since', { mirror: { phone: '15550112' } }],
    ['agreed on another value', { mirror: { phone: '15550111' }, base: { phone: '15550101' } }],
    ['changed on the service', { mirror: { phone: '15550111' }, service: { phone: '15550102' } }],
    ['held: conflict', { mirror: { phone: '15550111' }, held: [held()] }],
    ['wait for another run', { mirror: { phone: '15550111' }, held: [held({ decision: 'approved' })] }],
  ])('says why a row is left: %s', (why, given) => {
    const left = leftOf([row], [makeState(given)], [planOf({ kind: 'wait' })]);
    expect(left).toEqual([{ userId: id, field: 'phone', reason: expect.stringContaining(why) }]);
    expect(leftOf([row], [makeState(given)], [planOf(push())])).toEqual([]);
  });
});
