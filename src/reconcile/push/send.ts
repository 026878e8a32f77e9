/** Sends intents in one request, and finds out and records the outcome of each, by user and field. */
import { isPassing } from './send-guard.ts';
import type { Intent } from '../../model/intent.ts';
import type { ServiceUser } from '../../model/user.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import { judgeAnswer, neverLeft, noteUnanswered, refusedTogether, sendRequest } from './request.ts';
import type { AnsweredIntent } from './result.ts';
import { judgeLate, patchedFields, patchOf } from './outcome.ts';

/**
 * What became of a request. `refused`: nothing of it is known to be applied, and its parts are read, merged and sent again
 * one by one. `late`: it did not leave, or was turned away before anybody looked at it, and waits for the next run.
 */
export type SendResult =
  | { readonly kind: 'answered'; readonly requestId: string | null }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'late'; readonly why: string };

/** @throws what ends the push */
export async function sendIntents(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
): Promise<SendResult> {
  const sent = await sendRequest(places, new Map(intents.map((intent) => [intent.userId, patchOf(intent)])));
  switch (sent.kind) {
    case 'answered': {
      const { requestId, users } = sent;
      places.notes.requestId(requestId);
      const answered = (intent: Intent, seen: ServiceUser | null, isDirect: boolean): AnsweredIntent => {
        const outcomes = judgeAnswer(intent.sent, intent.before, seen, isDirect);
        return { intent, seen, outcomes, isDirect, requestId };
      };
      const missing = intents.filter(({ userId }) => !users.has(userId));
      // The answer is recorded before anything else can go wrong.
      const present = intents.flatMap((intent) => {
        const user = users.get(intent.userId);
        return user === undefined ? [] : [answered(intent, user, true)];
      });
      await record(places, settings, present);
      const seen = await readBackIntents(places, missing);
      const found = missing.map((intent) => answered(intent, seen.get(intent.userId) ?? null, false));
      await record(places, settings, found);
      return { kind: 'answered', requestId };
    }
    case 'refused': {
      // A single refused field is held. Of several nobody knows which is the bad one.
      const isAlone = (intent: Intent) => intents.length === 1 && patchedFields(intent.sent).length === 1;
      const refused = intents.map((intent): AnsweredIntent => {
        const together = refusedTogether(intent, sent.error);
        if (!isAlone(intent)) return together;
        const outcomes = patchedFields(intent.sent).map((field) => [field, 'refused' as const]);
        return { ...together, outcomes: Object.fromEntries(outcomes) };
      });
      await record(places, settings, refused);
      return { kind: 'refused' };
    }
    case 'unsent': {
      await record(places, settings, intents.map(neverLeft));
      if (!isPassing(sent.error)) throw sent.error;
      return { kind: 'late', why: sent.error.message };
    }
    case 'unknown': {
      noteUnanswered(places, sent.error);
      const seen = await readBackIntents(places, intents);
      const answers = intents.map((intent): AnsweredIntent => {
        const user = seen.get(intent.userId) ?? null;
        const outcomes = judgeLate(intent.sent, intent.before, user, false);
        return { intent, seen: user, outcomes, requestId: null };
      });
      await record(places, settings, answers);
      return { kind: 'unanswered' };
    }
    default:
      return sent satisfies never;
  }
}
