/** Explains what would happen to a user now, from the values that a run last saw, without a request to the service. */
import type { UserState } from '../../model/user-state.ts';
import type { Policy } from '../../reconcile/merge/merge-field.ts';
import { planUser } from '../../reconcile/merge/plan-user.ts';
import { adviceFor, type ExplainedFacts } from './explain-fields.ts';

export interface ExplainSettings {
  readonly policy: Policy;
  readonly absence: { readonly confirmAfterMs: number };
}

/** Says what happens next, in one sentence. */
export function explainAsSeen(
  state: UserState,
  held: ExplainedFacts['held'],
  { policy, absence }: ExplainSettings,
): string {
  const { id, mirror, hasOpenIntent } = state;
  if (hasOpenIntent) return 'The outcome of a push is not known: the next run reads the user back.';
  const isThere = mirror !== undefined && !mirror.gone;
  const member = isThere
    ? { id, name: mirror.joined, role: mirror.role, email: null, phone: null }
    : undefined;
  return adviceFor({
    plan: planUser(state, member, policy),
    state,
    open: null,
    quietUntil: '',
    held,
    absenceMs: absence.confirmAfterMs,
  });
}
