/** The pushes of a reviewed plan, and which of them can still be sent as shown. */
import type { Field } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import { sayHold, hasMovedSince } from '../model/user-changes.ts';
import { decisionsOf, type Hold, mapPushes, type UserPlan } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import type { BatchRow } from './guard/batch-hash.ts';
import { pushedValues } from './guard/planned-push.ts';
import { holdOn, isApproved, isSameEdit } from './merge/held-field.ts';
import { versionsOf } from './merge/plan-field.ts';
import type { UsersPlan } from './plan-users.ts';

/** Everything that a plan would send, and the part that waits for an approval. */
export function sendableOf({ plans, verdict }: Pick<UsersPlan, 'plans' | 'verdict'>): readonly BatchRow[] {
  const pushes = plans.flatMap((plan) =>
    decisionsOf(plan, 'push').map(([field, { edit, values }]) => ({
      userId: plan.id,
      field,
      edit,
      values: pushedValues(plan, field, values),
    })),
  );
  const waiting = verdict.waiting
    .filter(({ hold }) => !hasMovedSince(hold))
    .map(({ userId, hold: { field, edit, base, mirror, service } }) => ({
      userId,
      field,
      edit,
      values: { base, mirror, service },
    }));
  return [...pushes, ...waiting];
}

export interface LeftRow {
  readonly userId: Id;
  readonly field: Field;
  readonly reason: string;
}

/** Plans only these pushes instead of all edits. */
export interface ReviewedPushes {
  readonly ids: readonly Id[];
  /** The state of a user as if these pushes were approved over what was seen of the service for them. */
  readonly approved: (state: UserState) => UserState;
  /** The plan of such a state without any push that is not approved, or not any more. */
  readonly only: (plan: UserPlan, state: UserState) => UserPlan;
}

export const rowKey = ({ userId, field }: { readonly userId: Id; readonly field: Field }): string =>
  `${userId} ${field}`;

const approvalOf = ({ field, values, ...row }: BatchRow, { edits }: UserState): Hold => ({
  field,
  edit: row.edit ?? edits[field]?.id,
  reason: 'review',
  ...values,
  shown: values.service,
  detail: '',
  batch: '',
  decision: 'approved',
});

/** @param rows those that a person may approve; as for any approval, the service has to be as it was seen */
export function onlyReviewed(rows: readonly BatchRow[]): ReviewedPushes {
  const keys = new Set(rows.map(rowKey));
  const ofUser = Map.groupBy(rows, ({ userId }) => userId);
  const isMeant = (userId: Id, field: Field) => keys.has(rowKey({ userId, field }));
  return {
    ids: [...ofUser.keys()],
    approved: (state) => ({
      ...state,
      held: [
        ...state.held.filter(({ field }) => !isMeant(state.id, field)),
        ...(ofUser.get(state.id) ?? []).map((row) => approvalOf(row, state)),
      ],
    }),
    only: (plan, state) =>
      mapPushes(plan, (field, push) =>
        isMeant(plan.id, field) &&
        isApproved(holdOn(field, state), pushedValues(plan, field, push.values), state)
          ? push
          : { kind: 'wait' },
      ),
  };
}

/** The reason why this row is not sent although a person may approve it. */
function whyLeft({ field }: BatchRow, state: UserState | undefined, plan: UserPlan | undefined): string {
  const { mirror, service } = state ?? {};
  if (state === undefined || mirror === undefined || service === undefined || mirror.gone)
    return 'both sides have the same by now, or the service no longer shows the user';
  if (state.hasOpenIntent) return 'the outcome of an earlier push is not known yet';
  const hold = holdOn(field, state);
  if (hold === undefined || !isSameEdit(hold, state)) return 'edited since the plan was made';
  if (!isApproved(hold, versionsOf(field, { ...state, mirror, service }), state))
    return 'changed on the service since the plan was made';
  const decision = plan?.fields[field];
  return decision?.kind === 'hold' ? `held: ${sayHold(decision.hold)}` : 'it has to wait for another run';
}

/**
 * The rows that the service has changed since, or that something else holds.
 * @param states the states as if the rows were approved
 */
export function leftOf(
  rows: readonly BatchRow[],
  states: readonly UserState[],
  plans: readonly UserPlan[],
): readonly LeftRow[] {
  const stateOf = new Map(states.map((state) => [state.id, state]));
  const planOf = new Map(plans.map((plan) => [plan.id, plan]));
  return rows.flatMap((row) => {
    const { userId, field } = row;
    const plan = planOf.get(userId);
    if (plan?.fields[field].kind === 'push') return [];
    return [{ userId, field, reason: whyLeft(row, stateOf.get(userId), plan) }];
  });
}
