/** Sends intents in one request, and records the outcome for each user and field. */
import { isRefusal, MusterdError, ServiceError } from '../../errors.ts';
import type { Intent } from '../../model/intent.ts';
import type { UsersAnswer } from '../../model/service-request.ts';
import { judgeAnswer, judgeLate, patchedFields, patchOf } from './outcome.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import { type AnsweredIntent, neverLeft } from './result.ts';
import { guardSend, isPassing } from './send-guard.ts';

/**
 * The outcome of a request. `refused`: no update of it is known to be applied, so each of its users is read, merged and
 * sent again alone. `late`: it was not sent, or the service turned it away unread; its users wait for the next run.
 */
export type SendResult =
  | { readonly kind: 'answered'; readonly requestId: string | null }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'late'; readonly why: string };

/** Records the outcomes that the answer to the update shows. Users that the answer leaves out are looked up. */
async function recordAnswer(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  { users, requestId }: UsersAnswer,
): Promise<void> {
  places.notes.requestId(requestId);
  const byId = new Map(users.map((user) => [user.id, user]));
  const answered = (of: readonly Intent[], seenUsers: PushContext['users'], isDirect: boolean) =>
    of.map((intent): AnsweredIntent => {
      const seen = seenUsers.get(intent.userId) ?? null;
      const outcomes = judgeAnswer(intent.sent, intent.before, seen, isDirect);
      return { intent, seen, outcomes, isDirect, requestId };
    });
  const [present, missing] = [true, false].map((is) =>
    intents.filter(({ userId }) => byId.has(userId) === is),
  ) as [Intent[], Intent[]];
  // The answer is recorded first, because the lookup can fail.
  await record(places, settings, answered(present, byId, true));
  await record(places, settings, answered(missing, await readBackIntents(places, missing), false));
}

/** Records a refusal. A field that was refused alone is held. If several fields were refused, the bad one is unknown. */
async function recordRefusal(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  refusal: ServiceError,
): Promise<void> {
  const isAlone = (intent: Intent) => intents.length === 1 && patchedFields(intent.sent).length === 1;
  const refused = intents.map((intent): AnsweredIntent => {
    const together = { ...neverLeft(intent), requestId: refusal.requestId ?? null, refusal };
    if (!isAlone(intent)) return together;
    const outcomes = patchedFields(intent.sent).map((field) => [field, 'refused' as const]);
    return { ...together, outcomes: Object.fromEntries(outcomes) };
  });
  await record(places, settings, refused);
}

/** Reads the users back after a push without an answer, and records the outcomes. */
async function recordUnanswered(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<void> {
  places.notes.partial(`a push was not answered: ${error.message}`);
  places.breaker.unanswered += 1;
  const seen = await readBackIntents(places, intents);
  const answers = intents.map((intent): AnsweredIntent => {
    const user = seen.get(intent.userId) ?? null;
    const outcomes = judgeLate(intent.sent, intent.before, user, false);
    return { intent, seen: user, outcomes, requestId: null };
  });
  await record(places, settings, answers);
}

/** Sends the intents in one request, and records the outcomes. @throws an error of the request that ends all pushing */
export async function sendIntents(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
): Promise<SendResult> {
  const patches = new Map(intents.map((intent) => [intent.userId, patchOf(intent)]));
  let answer: UsersAnswer;
  try {
    answer = await places.service.updateUsers(patches, guardSend(places, [...patches.keys()]));
  } catch (error) {
    const isOfService = error instanceof ServiceError;
    if (isRefusal(error) || (isOfService && error.status === 403)) {
      await recordRefusal(places, settings, intents, error);
      return { kind: 'refused' };
    }
    const isStopped = error instanceof MusterdError && error.code === 'stopped';
    if (!isOfService && !isStopped) throw error;
    if (isOfService && error.phase !== 'not-sent' && ![401, 429].includes(error.status ?? 0)) {
      await recordUnanswered(places, settings, intents, error);
      return { kind: 'unanswered' };
    }
    await record(places, settings, intents.map(neverLeft));
    if (!isPassing(error)) throw error;
    return { kind: 'late', why: error.message };
  }
  await recordAnswer(places, settings, intents, answer);
  return { kind: 'answered', requestId: answer.requestId };
}
