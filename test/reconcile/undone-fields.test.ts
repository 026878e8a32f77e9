import { describe, expect, it } from 'vitest';
import type { FieldValue, Field } from '../../src/model/fields.ts';
import { decideEach, type UserPlan, type Values } from '../../src/model/user-plan.ts';
import { undoneFields } from '../../src/reconcile/guard/undone-fields.ts';

const valuesOf = (base: FieldValue, mirror: FieldValue, service: Values['service']): Values => ({
  base,
  mirror,
  service,
});
const phone = valuesOf('15550101', '15550102', '15550101');
const anne = valuesOf({ first: 'Anne', last: '' }, { first: 'Anne', last: 'Berg' }, 'Anne');
const wasUndone = (field: Field, values: Values, id = 1n) => [
  { id, hold: { field, reason: 'conflict', detail: 'changed back', ...values } as const },
];
const planOf = (field: Field, values: Values, edit: bigint | undefined): UserPlan => ({
  id: 1n,
  case: 'merge',
  write: null,
  fields: decideEach((one) =>
    one === field ? { kind: 'push', values, edit, ends: false } : { kind: 'same', ends: false },
  ),
});

describe('undoneFields', () => {
  it.each<readonly [string, Field, Values, ReturnType<typeof wasUndone>, boolean]>([
    ['a value that the service put back: held', 'phone', phone, wasUndone('phone', phone), true],
    ['another value: sent', 'phone', { ...phone, mirror: '15550103' }, wasUndone('phone', phone), false],
    [
      'a value over another base: sent',
      'phone',
      { ...phone, base: '15550103' },
      wasUndone('phone', phone),
      false,
    ],
    ['another field: sent', 'phone', phone, wasUndone('email', phone), false],
    ['a value put back for another user: sent', 'phone', phone, wasUndone('phone', phone, 2n), false],
    ['a name that the service put back: held', 'name', anne, wasUndone('name', anne), true],
  ])('holds an unapproved push of a value that the service undid: %s', (_, field, values, undone, isHeld) => {
    const push = { plan: planOf(field, values, 7n), pushed: [[field, values]] as const };
    const held = { field, reason: 'conflict', detail: 'changed back', ...values };
    const limit = { id: 1n, field, decision: { kind: 'hold', hold: held } };
    expect(undoneFields([{ ...push, approved: [] }], { undone })).toEqual(isHeld ? [limit] : []);
    expect(undoneFields([{ ...push, approved: [field] }], { undone })).toEqual([]);
  });

  it('holds no name that only restores a cleared name, even if the service undid it, but another undone field', () => {
    const push = { plan: planOf('name', anne, undefined), pushed: [['name', anne]] as const, approved: [] };
    expect(undoneFields([push], { undone: wasUndone('name', anne) })).toEqual([]);
    const beside = { ...push, pushed: [['phone', phone]] as const };
    expect(undoneFields([beside], { undone: wasUndone('phone', phone) })).toHaveLength(1);
  });
});
