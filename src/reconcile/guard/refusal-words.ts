/** The guard's messages about what it stops, besides those of the limits. */
import { columnOf } from '../../model/fields.ts';
import type { FieldLimits } from './field-limits.ts';

/** Number of held fields to name in a refusal. */
const namedBrakes = 3;

/** The part of a refusal about fields that approving a batch does not release. */
export function sayLimited(fieldLimits: FieldLimits): readonly string[] {
  const all = [...fieldLimits].flatMap(([id, holds]) =>
    holds.map(({ field, detail }) => `${columnOf(field)} of ${id}: ${detail}`),
  );
  if (all.length === 0) return [];
  const named = all.slice(0, namedBrakes).join('; ');
  const more = all.length > namedBrakes ? `; and ${all.length - namedBrakes} more` : '';
  return [`fields to be held on their own, and in no batch: ${named}${more}`];
}

export const sayLeft = (users: number): readonly string[] =>
  users === 0 ? [] : [`${users} users of an earlier batch wait for a decision`];

export const sayReviewed = (users: number): readonly string[] =>
  users === 0
    ? []
    : [`${users === 1 ? '1 user waits' : `${users} users wait`} for a person to see it first (push.approve)`];
