/** Finds the fields that still wait for a person after a plan is carried out. */
import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { WaitingField } from '../../model/waiting.ts';
import { isStopped } from '../merge/held-field.ts';
import { type Decision, holdsOf, type UserPlan } from '../../model/user-plan.ts';

/** Returns the held fields that these plans leave held and unchanged. */
export function stayingOf<Held>(
  plans: readonly UserPlan[],
  held: readonly Held[],
  which: (row: Held) => { readonly userId: Id; readonly field: Field },
): readonly Held[] {
  const decided = new Map(plans.map(({ id, fields }) => [id, fields]));
  const stays = (decision: Decision | undefined) =>
    decision === undefined ||
    decision.kind === 'held' ||
    decision.kind === 'wait' ||
    ('ends' in decision && decision.kind === 'same' && !decision.ends);
  return held.filter((heldField) => {
    const { userId, field } = which(heldField);
    return stays(decided.get(userId)?.[field]);
  });
}

/** The number of fields that will wait for a person, held now or before, other than by a whole-run limit or a review. */
export function countHeld(
  plans: readonly UserPlan[],
  before: readonly { readonly userId: Id; readonly field: Field }[],
): number {
  const anew = plans
    .flatMap(holdsOf)
    .filter((hold) => !isStopped(hold) && hold.reason !== 'asked' && hold.reason !== 'rejected');
  return anew.length + stayingOf(plans, before, (row) => row).length;
}

/** Returns the plans after their holds by a limit on a whole run or a review were stored: these fields stay held. */
export function afterBatch(plans: readonly UserPlan[]): readonly UserPlan[] {
  return plans.map((plan) => {
    const written = holdsOf(plan).filter(isStopped);
    const held = written.map(({ field, service }) => [field, { kind: 'held', shown: service }] as const);
    return { ...plan, fields: { ...plan.fields, ...Object.fromEntries(held) } };
  });
}

export const countUsers = (waiting: readonly Pick<WaitingField, 'userId'>[]): number =>
  new Set(waiting.map(({ userId }) => userId)).size;
