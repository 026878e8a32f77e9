/** Finds fields that an editor set and the service put back three times. They are held until a person decides. */
import type { Field } from '../../model/fields.ts';
import { sameValue } from '../../model/user.ts';
import type { Hold, UserPlan, Values } from '../../model/user-plan.ts';
import type { GuardHistory } from '../../model/waiting.ts';
import type { FieldLimits } from './field-limits.ts';
import { putsBackName } from './planned-push.ts';

interface PushedFields {
  readonly plan: UserPlan;
  readonly pushed: readonly (readonly [Field, Values])[];
  readonly approved: readonly Field[];
}

const isSameMove = ({ field, base, mirror }: Hold, values: Values): boolean =>
  sameValue(field, base, values.base) && sameValue(field, mirror, values.mirror);

export function undoneFields(
  pushes: readonly PushedFields[],
  { undone }: Pick<GuardHistory, 'undone'>,
): FieldLimits {
  const undoneOf = Map.groupBy(undone, ({ id }) => id);
  return pushes.flatMap(({ plan, pushed, approved }) =>
    pushed.flatMap(([field, values]) => {
      const known = undoneOf
        .get(plan.id)
        ?.find(({ hold }) => hold.field === field && isSameMove(hold, values));
      if (known === undefined || approved.includes(field) || (field === 'name' && putsBackName(plan)))
        return [];
      const { detail } = known.hold;
      const hold: Hold = { field, reason: 'conflict', detail, ...values };
      return [{ id: plan.id, field, decision: { kind: 'hold', hold } }];
    }),
  );
}
