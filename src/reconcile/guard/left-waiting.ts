/** Finds the fields that still wait for a person after a plan is carried out. */
import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { isStopped } from '../merge/held-field.ts';
import { type Decision, holdsOf, type UserPlan } from '../../model/user-plan.ts';

/** The held fields that stay held, unchanged. */
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

/** The number of fields held alone that will wait for a person: fields that the plans hold, and fields that stay held. */
export function countHeld(
  plans: readonly UserPlan[],
  before: readonly { readonly userId: Id; readonly field: Field }[],
): number {
  const anew = plans
    .flatMap(holdsOf)
    .filter((hold) => !isStopped(hold) && hold.reason !== 'asked' && hold.reason !== 'rejected');
  return anew.length + stayingOf(plans, before, (row) => row).length;
}

/** The plans after the stopped fields were stored: these fields are marked as held already. */
export function afterBatch(plans: readonly UserPlan[]): readonly UserPlan[] {
  return plans.map((plan) => {
    const written = holdsOf(plan).filter(isStopped);
    const held = written.map(({ field, service }) => [field, { kind: 'held', shown: service }] as const);
    return { ...plan, fields: { ...plan.fields, ...Object.fromEntries(held) } };
  });
}
