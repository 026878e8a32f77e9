/**
 * Rows of a refused plan from run to run: each waits until a person decides, or until the mirror has another
 * value. What becomes of one field of a row:
 *
 * | the mirror's value | the user                      | the field         | the row                  |
 * |--------------------|-------------------------------|-------------------|--------------------------|
 * | another            | ·                             | ·                 | is forgotten             |
 * | the same           | has left                      | ·                 | is kept in mind          |
 * | the same           | is not spoken of in this run  | ·                 | stays what it was        |
 * | the same           | is merged                     | would be pushed   | is up to the guard       |
 * | the same           | is merged                     | is held on request| waits                    |
 * | the same           | is merged                     | is held otherwise | is kept in mind          |
 * | the same           | is merged                     | differs no more   | is forgotten             |
 *
 * A row that is kept in mind is no part of the plan that people are shown: the field is held, and counted
 * as held. It waits again as soon as the field would be pushed. "Not spoken of": nobody answered for the
 * user, or an earlier push is not settled.
 */
import type { Decision, UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import type { GuardHistory, PlannedPush } from '../../model/plan.ts';
import { type Field, type ServiceUser, sameBytes, type UserValues } from '../../model/user.ts';
import { onlyFields } from './planned-push.ts';
import { isUnread } from '../unread.ts';
import { patchedFields } from '../push/outcome.ts';

export interface MemoryView {
  readonly states: readonly UserState[];
  readonly plans: readonly UserPlan[];
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** Whether everybody was asked for, so that whoever is shown and has no plan is equal on both sides. */
  readonly isWhole: boolean;
  readonly history: Pick<GuardHistory, 'waiting' | 'kept' | 'gone'>;
}

export interface Remembered {
  /** They are part of the plan. */
  readonly waiting: readonly PlannedPush[];
  /** They are kept in mind. */
  readonly kept: readonly PlannedPush[];
}

export type Fate = 'waits' | 'kept' | 'forgotten' | 'up to the guard';

export interface PlanFacts {
  readonly state: UserState | undefined;
  readonly plan: UserPlan | undefined;
  /** Whether the user is seen to be equal on both sides. */
  readonly isEqual: boolean;
  readonly isGone: boolean;
  readonly was: 'waits' | 'kept';
}

function isAsked(field: Field, state: UserState | undefined): boolean {
  const hold = state?.held.find((one) => one.field === field);
  return hold?.reason === 'asked' && (hold.endsInMs ?? 0) > 0;
}

export function fateOf(
  field: Field,
  { patch }: PlannedPush,
  { state, plan, isEqual, isGone, was }: PlanFacts,
): Fate {
  const { mirror } = state ?? {};
  if (mirror !== undefined && !sameBytes(field, { ...mirror, ...patch }, mirror)) return 'forgotten';
  if (isGone) return 'kept';
  if (plan === undefined) return isEqual ? 'forgotten' : was;
  switch (plan.case) {
    case 'merge':
    case 'return':
      return ofMerged(plan.fields[field], field, state, was);
    case 'waiting':
    case 'unresolved':
    case 'missing':
      return was;
    case 'adopt':
    case 'forget':
    case 'stranger':
      return 'forgotten';
    default:
      return plan.case satisfies never;
  }
}

function ofMerged(
  decision: Decision,
  field: Field,
  state: UserState | undefined,
  was: PlanFacts['was'],
): Fate {
  if (decision.kind === 'push') return 'up to the guard';
  if (decision.kind === 'hold') return 'kept';
  if (decision.kind === 'held') return isAsked(field, state) ? 'waits' : 'kept';
  return state !== undefined && isUnread(field, state) ? was : 'forgotten';
}

/** Rows of earlier plans whose fields are not pushed now. */
export function remember({ states, plans, users, isWhole, history }: MemoryView): Remembered {
  const byId = <T extends { readonly id: Id }>(all: readonly T[]) => new Map(all.map((one) => [one.id, one]));
  const [stateOf, planOf] = [byId(states), byId(plans)] as const;
  const fates = (rows: readonly PlannedPush[], was: PlanFacts['was']) =>
    rows.flatMap((row) => {
      const { userId: id } = row;
      const facts: PlanFacts = {
        state: stateOf.get(id),
        plan: planOf.get(id),
        isEqual: isWhole && users.has(id) && !planOf.has(id),
        isGone: history.gone.has(id),
        was,
      };
      return patchedFields(row.patch).map((field) => ({ row, field, fate: fateOf(field, row, facts) }));
    });
  const all = [...fates(history.waiting ?? [], 'waits'), ...fates(history.kept, 'kept')];
  const of = (wanted: Fate) =>
    joinRows(all.filter(({ fate }) => fate === wanted).map(({ row, field }) => onlyFields(row, [field])));
  return { waiting: of('waits'), kept: of('kept') };
}

/** Whether both are the same edit of a field: what the service has, and what was agreed on, may have moved. */
export function sameEdit(field: Field, a: PlannedPush, b: PlannedPush): boolean {
  const [one, other] = [a.patch, b.patch];
  if (a.userId !== b.userId || one[field] === undefined || other[field] === undefined) return false;
  return sameBytes(field, one as UserValues, other as UserValues);
}

/** One row per user; two of one user hold different fields. */
export function joinRows(rows: readonly PlannedPush[]): readonly PlannedPush[] {
  const joined = new Map<Id, PlannedPush>();
  for (const row of rows) {
    const one = joined.get(row.userId);
    const both = (key: 'base' | 'service' | 'patch') => ({ ...one?.[key], ...row[key] });
    const [base, service, patch] = [both('base'), both('service'), both('patch')] as const;
    joined.set(row.userId, { ...row, base, service, patch } as PlannedPush);
  }
  return [...joined.values()];
}
