/** What is about to be sent, compared with what the guard saw. */
import { samePush } from '../../model/push-values.ts';
import type { Field } from '../../model/user.ts';
import { type DecidedUser, mapPushes, type UserPlan, type Values } from '../../model/user-plan.ts';

/** What a push rests on. Where nothing was agreed on before, what is about to be written counts. */
export const pushedValues = ({ write }: DecidedUser, field: Field, values: Values): Values =>
  write === null ? values : { ...values, base: write.base[field] };

/**
 * What of a plan that was made again may be sent: what the guard saw, value, base and all. Anything else was
 * edited since, on either side, and no limit has been asked about it: it waits for the next run.
 */
export function onlyGuarded(plan: UserPlan, guarded: UserPlan): UserPlan {
  return mapPushes(plan, (field, push) => {
    const seen = guarded.fields[field];
    const isSeen =
      seen.kind === 'push' &&
      samePush(field, pushedValues(plan, field, push.values), pushedValues(guarded, field, seen.values));
    return isSeen ? push : { kind: 'wait' };
  });
}
