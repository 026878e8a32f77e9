/** A plan with all that can be read off its decisions, for tests that look at it. */
import { roleMove } from '../../src/model/user-changes.ts';
import { type Field, fields } from '../../src/model/fields.ts';
import {
  decisionsOf,
  endedHolds,
  holdsOf,
  type Move,
  pushOf,
  type UserPlan,
  type Values,
} from '../../src/model/user-plan.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';

/** A field that moves, with its three versions. */
export interface MovedField extends Values {
  readonly kind: Move['kind'];
  readonly field: Field;
}

export function inLists<Plan extends Pick<UserPlan, 'fields' | 'write'>>(plan: Plan) {
  const role = roleMove(plan.write);
  return {
    ...plan,
    moves: fields.flatMap((field): readonly MovedField[] => {
      const decision = plan.fields[field];
      return 'values' in decision ? [{ kind: decision.kind, field, ...decision.values }] : [];
    }),
    holds: holdsOf(plan),
    releases: endedHolds(plan),
    held: decisionsOf(plan, 'held').map(([field]) => field),
    patch: pushOf(plan),
    ...(role === undefined ? {} : { role }),
  };
}

/** What a run makes of a user, with its lists. */
export const planInLists = (...of: Parameters<typeof planUser>) => inLists(planUser(...of));
