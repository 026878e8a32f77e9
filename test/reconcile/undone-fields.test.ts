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

describe('musterd', () => {
  it.each<readonly [string, Field, Values, ReturnType<typeof wasUndone>, boolean]>([
    ['holds a value that was put back', 'phone', phone, wasUndone('phone', phone), true],
    ['sends another value', 'phone', { ...phone, mirror: '15550103' }, wasUndone('phone', phone), false],
    [
      'sends a value over another one',
      'phone',
      { ...phone, base: '15550103' },
      wasUndone('phone', phone),
      false,
    ],
    ['sends another field', 'phone', phone, wasUndone('email', phone), false],
    [
      'sends a value that was put back for somebody else',
      'phone',
      phone,
      wasUndone('phone', phone, 2n),
      false,
    ],
    ['holds a name that was edited and put back', 'name', anne, wasUndone('name', anne), true],
  ])('%s', (_, field, values, undone, isHeld) => {
    const push = { plan: planOf(field, values, 7n), pushed: [[field, values]] as const };
    const held = { field, reason: 'conflict', detail: 'changed back', edit: 7n, ...values };
    expect(undoneFields([{ ...push, approved: [] }], { undone }).get(1n)).toEqual(isHeld ? [held] : []);
    expect(undoneFields([{ ...push, approved: [field] }], { undone }).get(1n)).toEqual([]);
  });

  it('sends a name that gets back what an update cleared, however often', () => {
    const push = { plan: planOf('name', anne, undefined), pushed: [['name', anne]] as const, approved: [] };
    expect(undoneFields([push], { undone: wasUndone('name', anne) }).get(1n)).toEqual([]);
  });
});
