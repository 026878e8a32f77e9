/**
 * Ends holds of single fields whose limit has gone. What such a limit says is true at each look at everybody: the field is
 * sent once it would not be held any more, because somebody has given another user another address or role, or has taken
 * back what else was to change. A batch waits for a person, whatever is left of it.
 */
import { type Field, fields } from '../../model/fields.ts';
import { decideEach, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { holdOn, isAsSeen } from '../merge/held-field.ts';
import { versionsOf } from '../merge/plan-field.ts';

/** What limits on single fields hold, as it would be pushed without them. Other fields of these users are left out. */
export function offerLimited(plans: readonly UserPlan[], states: readonly UserState[]): readonly UserPlan[] {
  const stateOf = new Map(states.map((state) => [state.id, state]));
  return plans.flatMap((plan) => {
    const state = stateOf.get(plan.id);
    const { mirror, service } = state ?? {};
    if (state === undefined || mirror === undefined || service === undefined) return [];
    const both = { ...state, mirror, service };
    const isLimited = (field: Field) => {
      const hold = holdOn(field, state);
      const isAlone = hold?.reason === 'limit' && hold.batch === undefined && hold.decision === undefined;
      return isAlone && plan.fields[field].kind === 'held' && isAsSeen(hold, versionsOf(field, both), state);
    };
    if (!fields.some(isLimited)) return [];
    const offered = decideEach((field) =>
      isLimited(field)
        ? { kind: 'push', values: versionsOf(field, both), edit: state.edits[field]?.id, ends: true }
        : { kind: 'wait' },
    );
    return [{ ...plan, fields: offered, write: null }];
  });
}

/** The plans with the decisions of others about the same users, as far as these decide anything. */
export function withLifted(plans: readonly UserPlan[], lifted: readonly UserPlan[]): readonly UserPlan[] {
  const of = new Map(
    lifted.map(({ id, fields: decisions }) => [
      id,
      Object.fromEntries(Object.entries(decisions).filter(([, { kind }]) => kind !== 'wait')),
    ]),
  );
  return plans.map((plan) => ({ ...plan, fields: { ...plan.fields, ...of.get(plan.id) } }));
}
