/** The guard's messages about held fields, except the messages that name a limit (`limits.ts`, `field-limits.ts`). */
import { columnOf, type Field } from '../../model/fields.ts';
import type { Decision, Hold } from '../../model/user-plan.ts';
import type { LimitsOfUsers } from './field-limits.ts';

/** The message of a refusal names at most this many fields that limits on single fields hold. */
const namedBrakes = 3;

/** The sentences of a refusal about fields that limits on single fields hold. */
export function sayLimited(fieldLimits: LimitsOfUsers): readonly string[] {
  const all = [...fieldLimits].flatMap(([id, limits]) =>
    Object.values(limits).flatMap((limit) =>
      limit.kind === 'wait' ? [] : [`${columnOf(limit.hold.field)} of ${id}: ${limit.hold.detail}`],
    ),
  );
  if (all.length === 0) return [];
  const named = all.slice(0, namedBrakes).join('; ');
  const more = all.length > namedBrakes ? `; and ${all.length - namedBrakes} more` : '';
  return [`fields held by limits on single fields: ${named}${more}`];
}

export const sayLeft = (users: number): readonly string[] =>
  users === 0 ? [] : [`${users} users of an earlier batch wait for a decision`];

export const sayReviewed = (users: number): readonly string[] =>
  users === 0 ? [] : [`${users === 1 ? '1 user waits' : `${users} users wait`} for a person to review it`];

/** The reason to hold a push that no limit on single fields holds. */
export function whyHeld(tooMuch: readonly string[], isReviewed: boolean): Pick<Hold, 'reason' | 'detail'> {
  if (tooMuch.length > 0) return { reason: 'limit', detail: tooMuch.join('; ') };
  return isReviewed
    ? { reason: 'review', detail: 'a person must review it first' }
    : { reason: 'limit', detail: 'edited again, or changed on the service, since it was held' };
}

/** The hold of a field that still waits for a person after its field limit ended; `undefined` if it may be sent. */
export function stillWaits(
  field: Field,
  { values, edit }: Pick<Extract<Decision, { kind: 'push' }>, 'values' | 'edit'>,
  isTooMuch: boolean,
  isReviewed: boolean,
): Extract<Decision, { kind: 'hold' }> | undefined {
  if (isReviewed) return { kind: 'hold', hold: { field, ...whyHeld([], true), ...values, edit } };
  if (!isTooMuch) return undefined;
  const detail = 'too many users would be pushed within a day; no other limit holds the field now';
  return { kind: 'hold', hold: { field, reason: 'limit', detail, ...values, isAlone: true } };
}
