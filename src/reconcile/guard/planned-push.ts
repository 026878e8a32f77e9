/** Compares a push with the values that the guard has seen. */
import type { Field, FieldValue } from '../../model/fields.ts';
import { hasLostWords, joinName } from '../../model/name.ts';
import { samePush, type DecidedUser, mapPushes, type UserPlan, type Values } from '../../model/user-plan.ts';

const inWords = (name: FieldValue | undefined): string =>
  typeof name === 'object' && name !== null ? joinName(name) : '';

/** The values of a push. If the plan writes a new base, the result has the new base instead of the old one. */
export const pushedValues = ({ write }: DecidedUser, field: Field, values: Values): Values =>
  write === null ? values : { ...values, base: write.base[field] };

/** True if the push only restores words of a name which our own update cleared: no person edited that name. */
export function putsBackName({ fields: { name } }: UserPlan): boolean {
  if (name.kind !== 'push' || name.edit !== undefined) return false;
  const [base, mirror] = [inWords(name.values.base), inWords(name.values.mirror)];
  return name.values.service === base && hasLostWords(base, mirror);
}

/**
 * Keeps the pushes of a repeated plan that the guard has checked: the same edit, over the same base and service value.
 * Any other push waits for the next run, because one side has changed since and the guard has not checked it.
 */
export function onlyGuarded(plan: UserPlan, guarded: UserPlan): UserPlan {
  return mapPushes(plan, (field, push) => {
    const seen = guarded.fields[field];
    const isSeen =
      seen.kind === 'push' &&
      seen.edit === push.edit &&
      samePush(field, pushedValues(plan, field, push.values), pushedValues(guarded, field, seen.values));
    return isSeen ? push : { kind: 'wait' };
  });
}
