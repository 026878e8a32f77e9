/** The changes that a plan makes to a user, one by one, as `plan`, `resync` and `why` print them, also with `--json`. */
import type { EditState, HeldReason } from './edit-state.ts';
import { columnOf, fields as allFields } from './fields.ts';
import type { Id } from './id.ts';
import {
  canonicalService,
  type Decision,
  decisionsOf,
  type Hold,
  isApprovable,
  type UserPlan,
  type UserWrite,
  type Values,
} from './user-plan.ts';

export interface PlannedChange {
  readonly user_id: Id;
  readonly name: string;
  readonly change: 'adopt' | 'return' | 'pull' | 'settle' | 'push' | 'hold' | 'missing' | 'forget';
  /** `null` if the change is about the user as a whole. */
  readonly field: string | null;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  /** The state of the edit, if the change is about an edit, and the reason of its hold. */
  readonly state: EditState | null;
  readonly reason: HeldReason | null;
  readonly detail: string | null;
  /** The hash of the batch that the edit waits in. */
  readonly batch: string | null;
  readonly edited_by: string | null;
  readonly edited_at: Date | null;
}

const orNull = ({ base, mirror, service }: Values) => ({
  base: base ?? null,
  mirror: mirror ?? null,
  service: service ?? null,
});

/** The reason for a hold in words. */
export const sayHold = ({ reason, detail }: { readonly reason: string; readonly detail: string }): string =>
  detail === '' || reason === '' ? `${reason}${detail}` : `${reason}: ${detail}`;

/** The state and the reason of a held edit. */
export const stateOf = ({ reason }: Pick<Hold, 'reason'>): Pick<PlannedChange, 'state' | 'reason'> =>
  reason === 'rejected' ? { state: reason, reason: null } : { state: 'held', reason };

function wholeChange({ case: userCase, write }: UserPlan): PlannedChange['change'] | null {
  if (userCase === 'missing' || userCase === 'forget') return userCase;
  return (userCase === 'adopt' || userCase === 'return') && write !== null ? userCase : null;
}

/** The changes to a user: to the whole user first, then the fields that move, then the fields that are held. */
export function changesOf(plan: UserPlan, name: string): readonly PlannedChange[] {
  const none = { state: null, reason: null, detail: null, batch: null, edited_by: null, edited_at: null };
  const common = { user_id: plan.id, name, ...none };
  const all = { field: null, base: null, mirror: null, service: null };
  const whole = wholeChange(plan);
  const moved = allFields.flatMap((field): readonly PlannedChange[] => {
    const decision = plan.fields[field];
    if (!('values' in decision)) return [];
    const state = decision.kind === 'push' ? 'waiting' : null;
    return [{ ...common, change: decision.kind, field: columnOf(field), ...orNull(decision.values), state }];
  });
  const held = decisionsOf(plan, 'hold').map(([field, { hold }]): PlannedChange => {
    const { detail } = hold;
    return { ...common, change: 'hold', field: columnOf(field), ...orNull(hold), ...stateOf(hold), detail };
  });
  return [...(whole === null ? [] : [{ ...common, ...all, change: whole }]), ...moved, ...held];
}

/** The decision about one field, as a word. */
export type DecisionWord = Exclude<Decision['kind'], 'same'> | 'nothing' | 'release';

export function wordOf(decision: Decision): DecisionWord {
  if (decision.kind !== 'same') return decision.kind;
  return decision.ends ? 'release' : 'nothing';
}

/** The role's old and new name if the user is unresolved. Only the team listing shows the role of such a user. */
export function roleMove(
  write: UserWrite | null,
): { readonly old: string | null; readonly new: string | null } | undefined {
  if (write === null || write.expected === null || write.observed.resolved) return undefined;
  const [old, role] = [write.expected.role, write.observed.role];
  return old === role ? undefined : { old, new: role };
}

/** As in `report.held`: if the service changes a field that a limit or a review holds, it is held as a conflict. */
export function shownHold(hold: Hold): Hold {
  const { field, reason, isAlone, shown = hold.service } = hold;
  const isMoved = canonicalService(field, { ...hold, service: shown }) !== canonicalService(field, hold);
  return isMoved && isAlone !== true && isApprovable(reason) ? { ...hold, reason: 'conflict' } : hold;
}
