/** The hash of a batch: a set of edits, with what was seen of the service for each. */
import { createHash } from 'node:crypto';
import { type Field, fields, type FieldValue } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { canonicalService, type Values } from '../../model/user-plan.ts';

export interface BatchRow {
  readonly userId: Id;
  readonly field: Field;
  /** Absent if it is not on record yet and only its values identify it. */
  readonly edit?: Id | undefined;
  readonly madeMs?: number | undefined;
  readonly values: Values;
  /** Anything else that was shown with it and has to be unchanged. */
  readonly shown?: unknown;
}

/** Orders the halves of a name, which JSON from the database may have in another order. */
const inOrder = (value: FieldValue | undefined): FieldValue =>
  typeof value === 'object' && value !== null ? { first: value.first, last: value.last } : (value ?? null);

export function hashOf(rows: readonly BatchRow[]): string {
  const sorted = rows.toSorted((a, b) =>
    a.userId === b.userId ? fields.indexOf(a.field) - fields.indexOf(b.field) : a.userId < b.userId ? -1 : 1,
  );
  // A number alone would name another edit once an older copy of the mirror was put back.
  const all = sorted.map(({ userId, field, edit, madeMs, values, shown }) => [
    userId,
    field,
    inOrder(values.base),
    inOrder(values.mirror),
    canonicalService(field, values),
    ...(edit === undefined ? [] : [edit, madeMs ?? null]),
    ...(shown === undefined ? [] : ['shown', shown]),
  ]);
  const text = toJson(all);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
