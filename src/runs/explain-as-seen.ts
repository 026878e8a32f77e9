/** Says what would happen to a user now, based on what a run last saw, without asking the service. */
import { columnOf, fieldOf } from '../model/fields.ts';
import { showTime } from '../model/field-values.ts';
import { seconds } from '../model/in-words.ts';
import type { UserState } from '../model/user-state.ts';
import type { Policy } from '../reconcile/merge/merge-field.ts';
import { planUser } from '../reconcile/merge/plan-user.ts';
import { adviceFor, explainFields } from './explain-fields.ts';

export interface ExplainSettings {
  readonly policy: Policy;
  readonly absence: { readonly confirmAfterMs: number };
}

export interface SeenExplanation {
  readonly fields: readonly { readonly field: string; readonly because: string | null }[];
  /** A sentence about what happens next. */
  readonly next: string;
}

/** @param held fields that a person asked to hold, and until when */
export function explainAsSeen(
  state: UserState,
  held: readonly { readonly field: string; readonly until: Date | null }[],
  { policy, absence }: ExplainSettings,
): SeenExplanation {
  const { id, mirror, hasOpenIntent } = state;
  const isThere = mirror !== undefined && !mirror.gone;
  const member = isThere
    ? { id, name: mirror.joined, role: mirror.role, email: null, phone: null }
    : undefined;
  const plan = planUser(state, member, policy);
  const fields = explainFields(state, plan, policy).map(({ field, because }) => ({
    field: columnOf(field),
    because,
  }));
  if (hasOpenIntent)
    return { fields, next: 'The outcome of a push is not known: the next run reads the user back.' };
  const next = adviceFor({
    plan,
    state,
    open: null,
    quietUntil: '',
    heldUntil: Object.fromEntries(
      held.flatMap(({ field, until }) => (until === null ? [] : [[fieldOf(field), showTime(until)]])),
    ),
    absence: seconds(absence.confirmAfterMs),
  });
  return { fields, next };
}
