/** The changes of a plan to a user, one by one, as `plan`, `resync` and `why` show them, and in `--json`. */
import { columnOf, fields as allFields } from './fields.ts';
import type { Id } from './id.ts';
import {
  canonicalService,
  type Decision,
  decisionsOf,
  type Hold,
  type UserPlan,
  type UserWrite,
  type Values,
} from './user-plan.ts';

export interface PlannedChange {
  readonly user_id: Id;
  readonly name: string;
  readonly change:
    | 'adopt'
    | 'return'
    | 'pull'
    | 'settle'
    | 'push'
    | 'hold'
    | 'missing'
    | 'forget'
    | 'refused'
    | 'review';
  /** `null` if it happens to the user as a whole. */
  readonly field: string | null;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly reason: string | null;
  /** The hash of the batch that it waits in. */
  readonly batch: string | null;
  readonly edited_by: string | null;
  readonly edited_at: Date | null;
}

const orNull = ({ base, mirror, service }: Values) => ({
  base: base ?? null,
  mirror: mirror ?? null,
  service: service ?? null,
});

/** The words for why a field is held. */
export const sayHold = ({ reason, detail }: { readonly reason: string; readonly detail: string }): string =>
  detail === '' ? reason : `${reason}: ${detail}`;

function wholeChange({ case: userCase, write }: UserPlan): PlannedChange['change'] | null {
  if (userCase === 'missing' || userCase === 'forget') return userCase;
  return (userCase === 'adopt' || userCase === 'return') && write !== null ? userCase : null;
}

/** The changes to a user: to the whole user first, then what moves, then what is held. */
export function changesOf(plan: UserPlan, name: string): readonly PlannedChange[] {
  const common = { user_id: plan.id, name, reason: null, batch: null, edited_by: null, edited_at: null };
  const none = { field: null, base: null, mirror: null, service: null };
  const whole = wholeChange(plan);
  const moved = allFields.flatMap((field): readonly PlannedChange[] => {
    const decision = plan.fields[field];
    if (!('values' in decision)) return [];
    return [{ ...common, change: decision.kind, field: columnOf(field), ...orNull(decision.values) }];
  });
  const held = decisionsOf(plan, 'hold').map(([field, { hold }]): PlannedChange => {
    const reason = sayHold(hold);
    return { ...common, change: 'hold', field: columnOf(field), ...orNull(hold), reason };
  });
  return [...(whole === null ? [] : [{ ...common, ...none, change: whole }]), ...moved, ...held];
}

/** The decision about one field, as a word. */
export type DecisionWord = Exclude<Decision['kind'], 'same'> | 'nothing' | 'release';

export function wordOf(decision: Decision): DecisionWord {
  if (decision.kind !== 'same') return decision.kind;
  return decision.ends ? 'release' : 'nothing';
}

/** The role's name if it follows the team listing, which is all that is known about the role of such a member. */
export function roleMove(
  write: UserWrite | null,
): { readonly old: string | null; readonly new: string | null } | undefined {
  if (write === null || write.expected === null || write.observed.resolved) return undefined;
  const [old, role] = [write.expected.role, write.observed.role];
  return old === role ? undefined : { old, new: role };
}

/** Whether a later run has seen another value of the service. */
export const hasMovedSince = (hold: Hold): boolean =>
  hold.shown !== undefined &&
  canonicalService(hold.field, { ...hold, service: hold.shown }) !== canonicalService(hold.field, hold);
