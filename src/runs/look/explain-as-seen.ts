/** Explains what would happen to a user now, from the values that a run last saw, without a request to the service. */
import { fieldOf } from '../../model/fields.ts';
import { showTime } from '../../model/zone-time.ts';
import { seconds } from '../../model/in-words.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Policy } from '../../reconcile/merge/merge-field.ts';
import { planUser } from '../../reconcile/merge/plan-user.ts';
import { adviceFor } from './explain-fields.ts';

export interface ExplainSettings {
  readonly policy: Policy;
  readonly absence: { readonly confirmAfterMs: number };
}

/**
 * @param held fields that a person asked to hold, and until when
 * @returns a sentence about what happens next
 */
export function explainAsSeen(
  state: UserState,
  held: readonly { readonly field: string; readonly until: Date | null }[],
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
    heldUntil: Object.fromEntries(
      held.flatMap(({ field, until }) => (until === null ? [] : [[fieldOf(field), showTime(until)]])),
    ),
    absence: seconds(absence.confirmAfterMs),
  });
}
