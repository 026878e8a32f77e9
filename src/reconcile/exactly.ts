/** The pushes of a reviewed plan, and which of them can still be sent as shown. */
import type { Field } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import { canonicalService, hasMovedSince, samePush } from '../model/push-values.ts';
import { serviceValue, sameValue } from '../model/user.ts';
import { sayHold } from '../model/user-changes.ts';
import { decisionsOf, type Hold, mapPushes, type UserPlan } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import type { BatchRow } from './guard/batch-hash.ts';
import { pushedValues } from './guard/planned-push.ts';
import { waitsInBatch } from './merge/held-field.ts';
import type { UsersPlan } from './plan-users.ts';

/** Everything that a plan would send, and the part that waits for an approval. */
export function sendableOf({ plans, verdict }: Pick<UsersPlan, 'plans' | 'verdict'>): readonly BatchRow[] {
  const pushes = plans.flatMap((plan) =>
    decisionsOf(plan, 'push').map(([field, { edit, seenMs, values }]) => ({
      userId: plan.id,
      field,
      edit,
      seenMs,
      values: pushedValues(plan, field, values),
    })),
  );
  const waiting = verdict.waiting
    .filter(({ hold }) => !hasMovedSince(hold))
    .map(({ userId, hold: { field, edit, seenMs, base, mirror, service } }) => ({
      userId,
      field,
      edit,
      seenMs,
      values: { base, mirror, service },
    }));
  return [...pushes, ...waiting];
}

export interface LeftRow {
  readonly userId: Id;
  readonly field: Field;
  readonly reason: string;
}

/** Whether the service shows a later version than was seen with this row. A file has whole milliseconds. */
const isOvertaken = ({ seenMs }: BatchRow, nowMs: number | undefined): boolean =>
  seenMs !== undefined && nowMs !== undefined && nowMs >= Math.floor(seenMs) + 1;

const versionOf = ({ versions }: UserState): number | undefined =>
  versions?.isTelling === true ? versions.changedMs : undefined;

/** Plans only these pushes instead of all edits. */
export interface Exactly {
  readonly ids: readonly Id[];
  /** The state of a user after these pushes are approved. */
  readonly approved: (state: UserState) => UserState;
  /** The plan without any other push. */
  readonly only: (plan: UserPlan) => UserPlan;
}

export const rowKey = ({ userId, field }: { readonly userId: Id; readonly field: Field }): string =>
  `${userId} ${field}`;

export function exactly(rows: readonly BatchRow[]): Exactly {
  const known = new Map(rows.map((row) => [rowKey(row), row]));
  const ofUser = Map.groupBy(rows, ({ userId }) => userId);
  const approve = (state: UserState): readonly Hold[] => {
    const { id: userId, held: before, edits } = state;
    // A file says which edits it means, as far as they were on record; another edit of the same value is not meant.
    const mine = (ofUser.get(userId) ?? []).filter(
      (row) =>
        (row.edit === undefined || row.edit === edits[row.field]?.id) && !isOvertaken(row, versionOf(state)),
    );
    const isFree = ({ field }: BatchRow) =>
      before.every((hold) => hold.field !== field || hold.decision !== undefined || waitsInBatch(hold));
    const free = mine.filter(isFree);
    return [
      ...before.filter(({ field }) => free.every((row) => row.field !== field)),
      ...free.map(
        ({ field, values }): Hold => ({
          field,
          edit: edits[field]?.id,
          reason: 'review',
          ...values,
          shown: values.service,
          detail: '',
          batch: '',
          decision: 'approved',
        }),
      ),
    ];
  };
  return {
    ids: [...ofUser.keys()],
    approved: (state) => ({ ...state, held: approve(state) }),
    only: (plan) =>
      mapPushes(plan, (field, push) => {
        const row = known.get(rowKey({ userId: plan.id, field }));
        const isMeant =
          row !== undefined &&
          (row.edit === undefined || row.edit === push.edit) &&
          !isOvertaken(row, push.seenMs) &&
          samePush(field, pushedValues(plan, field, push.values), row.values);
        return isMeant ? push : { kind: 'wait' };
      }),
  };
}

/** Why this row is not sent although a person approved it. */
function whyLeft(row: BatchRow, state: UserState | undefined, plan: UserPlan | undefined): string {
  const { field, edit, values } = row;
  if (state?.mirror === undefined || state.service === undefined || state.mirror.gone)
    return 'both sides have the same by now, or the service no longer shows the user';
  if (state.hasOpenIntent) return 'the outcome of an earlier push is not known yet';
  const isOther = edit !== undefined && edit !== state.edits[field]?.id;
  if (isOther || !sameValue(field, state.mirror[field], values.mirror))
    return 'edited since the plan was made';
  if (!sameValue(field, state.base?.[field], values.base))
    return 'both sides have agreed on another value since the plan was made';
  const shown = { ...values, service: serviceValue(state.service, field) };
  if (
    canonicalService(field, shown) !== canonicalService(field, values) ||
    isOvertaken(row, versionOf(state))
  )
    return 'changed on the service since the plan was made';
  const decision = plan?.fields[field];
  if (decision?.kind === 'hold') return `held: ${sayHold(decision.hold)}`;
  const held = state.held.find((hold) => hold.field === field && hold.decision === undefined);
  return held === undefined ? 'it has to wait for another run' : `held: ${sayHold(held)}`;
}

/** The rows that have changed or are held by something else. */
export function leftOf(
  rows: readonly BatchRow[],
  states: readonly UserState[],
  plans: readonly UserPlan[],
): readonly LeftRow[] {
  const [stateOf, planOf] = [
    new Map(states.map((state) => [state.id, state])),
    new Map(plans.map((plan) => [plan.id, plan])),
  ];
  return rows.flatMap((row) => {
    const { userId, field } = row;
    const plan = planOf.get(userId);
    if (plan?.fields[field].kind === 'push') return [];
    return [{ userId, field, reason: whyLeft(row, stateOf.get(userId), plan) }];
  });
}
