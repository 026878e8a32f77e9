/** Decides which fields are held together, and why. */
import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { EditedField } from '../../model/waiting.ts';

/** A reason, and the fields that are held together for it. */
export interface Batching {
  readonly reason: 'limit' | 'review';
  readonly detail: string;
  /** Fields of the same group are in one batch. */
  readonly groupOf: (userId: Id, field: Field) => string;
}

function byTransaction(edits: readonly EditedField[]): Batching['groupOf'] {
  const transactions = new Map(
    edits.map(({ userId, field, transaction }) => [`${userId} ${field}`, transaction]),
  );
  return (userId, field) => transactions.get(`${userId} ${field}`) ?? '';
}

export function batchingOf(
  edits: readonly EditedField[],
  tooMuch: readonly string[],
  isReviewed: boolean,
): Batching {
  const together = () => '';
  if (tooMuch.length > 0) return { reason: 'limit', detail: tooMuch.join('; '), groupOf: together };
  if (isReviewed)
    return { reason: 'review', detail: 'a person is to see it first', groupOf: byTransaction(edits) };
  return {
    reason: 'limit',
    detail: 'edited again, or changed on the service, since it was held in a batch',
    groupOf: together,
  };
}
