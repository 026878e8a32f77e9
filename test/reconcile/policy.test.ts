import { describe, expect, it } from 'vitest';
import { fields } from '../../src/model/fields.ts';
import { type Verdict, applyPolicy, type ConflictPolicy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll } from './states.ts';
import { rowsOf } from './truth.ts';

const table: Record<ConflictPolicy, Record<Verdict, Verdict>> = {
  hold: {
    nothing: 'nothing',
    pull: 'pull',
    push: 'push',
    settle: 'settle',
    conflict: 'conflict',
    unread: 'unread',
  },
  'service-wins': {
    nothing: 'nothing',
    pull: 'pull',
    push: 'push',
    settle: 'settle',
    conflict: 'pull',
    unread: 'unread',
  },
  'mirror-wins': {
    nothing: 'nothing',
    pull: 'pull',
    push: 'push',
    settle: 'settle',
    conflict: 'push',
    unread: 'unread',
  },
};

const cases = rowsOf(table).flatMap(([policy, byVerdict]) =>
  rowsOf(byVerdict).map(([verdict, becomes]) => ({ policy, verdict, becomes })),
);

describe('applyPolicy', () => {
  it.each(cases)('turns the verdict $verdict under $policy into $becomes', ({ policy, verdict, becomes }) => {
    const other = policy === 'service-wins' ? 'mirror-wins' : 'service-wins';
    for (const field of fields) {
      const all = { name: other, email: other, phone: other, roleId: other } as const;
      expect(applyPolicy({ ...all, [field]: policy }, field, verdict)).toBe(becomes);
    }
  });

  it('holds each conflict by default', () => {
    expect(fields.map((field) => applyPolicy(holdAll, field, 'conflict'))).toEqual(
      fields.map(() => 'conflict'),
    );
  });
});
