import type { Field } from '../../model/user.ts';
import type { Verdict } from './merge-field.ts';

/** Who wins when both sides changed a field: nobody until a person says so, the service, or the mirror. */
export type ConflictPolicy = 'hold' | 'service-wins' | 'mirror-wins';

export type Policy = Readonly<Record<Field, ConflictPolicy>>;

export const holdAll: Policy = { name: 'hold', email: 'hold', phone: 'hold', roleId: 'hold' };

/** Turns a conflict into what the policy makes of it; everything else passes. */
export function applyPolicy(policy: Policy, field: Field, verdict: Verdict): Verdict {
  if (verdict !== 'conflict') return verdict;
  switch (policy[field]) {
    case 'hold':
      return 'conflict';
    case 'service-wins':
      return 'pull';
    case 'mirror-wins':
      return 'push';
    default:
      return policy[field] satisfies never;
  }
}
