/** One update as a request, and its answer. */
import { isRefusal, MusterdError, ServiceError } from '../../errors.ts';
import type { UserValues } from '../../model/fields.ts';
import type { FieldOutcomes, Intent } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import type { ServiceUser, UserPatch } from '../../model/user.ts';
import type { PushContext } from './record.ts';
import type { AnsweredIntent } from './result.ts';
import { guardSend } from './send-guard.ts';
import { judge, judgeLate, patchedFields } from './outcome.ts';

/** The answer to one request. */
export type RequestResult =
  | {
      readonly kind: 'answered';
      readonly users: ReadonlyMap<Id, ServiceUser>;
      readonly requestId: string | null;
    }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  | { readonly kind: 'unsent'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly error: ServiceError };

export async function sendRequest(
  places: PushContext,
  patches: ReadonlyMap<Id, UserPatch>,
): Promise<RequestResult> {
  try {
    const answer = await places.service.updateUsers(patches, guardSend(places, [...patches.keys()]));
    const users = new Map(answer.users.map((user) => [user.id, user]));
    return { kind: 'answered', users, requestId: answer.requestId };
  } catch (error) {
    if (isRefusal(error) || (error instanceof ServiceError && error.status === 403))
      return { kind: 'refused', error };
    if (!(error instanceof ServiceError)) {
      if (error instanceof MusterdError && error.code === 'stopped') return { kind: 'unsent', error };
      throw error;
    }
    const turnedAway = error.phase === 'not-sent' || [401, 429].includes(error.status ?? 0);
    return turnedAway ? { kind: 'unsent', error } : { kind: 'unknown', error };
  }
}

/** Reports that a request got no answer. */
export function noteUnanswered({ notes, breaker }: PushContext, error: ServiceError): void {
  notes.partial(`a push was not answered: ${error.message}`);
  breaker.unanswered += 1;
}

/** The answer is final, except for users that it leaves out: these can only be confirmed by a lookup. */
export function judgeAnswer(
  sent: UserPatch,
  before: UserValues,
  seen: ServiceUser | null,
  direct: boolean,
): FieldOutcomes {
  if (!direct) return judgeLate(sent, before, seen, false);
  const outcomes = Object.entries(judge(sent, before, seen));
  return Object.fromEntries(
    outcomes.map(([field, outcome]) => [field, outcome === 'missing' ? 'unknown' : outcome]),
  );
}

/** The result of an intent that was not sent in the end, or was turned away before anybody looked at it. */
export function neverLeft(intent: Intent): AnsweredIntent {
  const outcomes = Object.fromEntries(patchedFields(intent.sent).map((field) => [field, 'unsent' as const]));
  return { intent, seen: null, outcomes, requestId: null };
}

/** The result of an intent that was refused together with others, and is to be sent again. */
export const refusedTogether = (intent: Intent, refusal: ServiceError): AnsweredIntent => ({
  ...neverLeft(intent),
  requestId: refusal.requestId ?? null,
  refusal,
});
