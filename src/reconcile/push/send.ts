/**
 * Sends intents in one request and finds out the outcome of each, by user and field.
 * A refused request is read back and cut in two, until each user that is refused alone is found.
 */
import type { ServiceError } from '../../errors.ts';
import type { Intent } from '../../model/intent.ts';
import type { ServiceUser } from '../../model/user.ts';
import { isOtherName } from './carry-name.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import {
  judgeAnswer,
  neverLeft,
  noteUnanswered,
  refusedTogether,
  sendRequest,
  withNewDeadline,
} from './request.ts';
import type { AnsweredIntent } from './result.ts';
import { judgeLate, judgeUnsent, patchedFields, patchOf } from './outcome.ts';

/** Whether it was applied nevertheless, was changed by somebody else meanwhile, or must not be sent without reading again. */
function isSettled({ outcomes }: AnsweredIntent): boolean {
  const all = Object.values(outcomes);
  return all.every((outcome) => outcome === 'confirmed') || all.includes('changed') || all.includes('unsent');
}

/** Holds fields that somebody changed; the next run plans the user's other fields again. */
function closeSettled(answer: AnsweredIntent): AnsweredIntent {
  const outcomes = Object.entries(answer.outcomes).map(
    ([field, outcome]) =>
      [field, outcome === 'confirmed' || outcome === 'changed' ? outcome : 'unsent'] as const,
  );
  return { ...answer, outcomes: Object.fromEntries(outcomes) };
}

/** Reads refused users back and records those that are done. @returns those that are still to be sent */
async function readRefused(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<readonly Intent[]> {
  const seen = await readBackIntents(places, intents);
  const unread = intents.filter(({ userId }) => !seen.has(userId)).length;
  if (unread > 0) places.notes.partial(`${unread} users could not be read again before a push`);
  const judged = intents.map((intent): AnsweredIntent => {
    const user = seen.get(intent.userId);
    if (user === undefined) return refusedTogether(intent, error);
    if (isOtherName(intent.along, user)) return neverLeft(intent);
    const outcomes = judgeUnsent(intent.sent, intent.before, user);
    return { ...refusedTogether(intent, error), seen: user, outcomes };
  });
  const settled = judged.filter(isSettled);
  await record(places, settings, settled.map(closeSettled));
  return judged.filter((answer) => !isSettled(answer)).map(({ intent }) => intent);
}

/** A single refused field is held. If several were sent, the bad one is unknown, and `push.ts` sends each alone. */
async function recordRefused(
  places: PushContext,
  settings: PushSettings,
  intent: Intent,
  refusal: ServiceError,
): Promise<void> {
  const sent = patchedFields(intent.sent);
  const together = refusedTogether(intent, refusal);
  const outcomes = Object.fromEntries(sent.map((field) => [field, 'refused' as const]));
  await record(places, settings, [sent.length === 1 ? { ...together, outcomes } : together]);
}

/**
 * Cuts a refused request in two, by user, until each bad user is found. Each part is read and merged again before
 * it leaves, so each has the full deadline: the search does not start from the beginning with a slow service.
 */
async function bisect(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<readonly Intent[]> {
  const rest = await readRefused(places, settings, intents, error);
  const [single] = rest;
  if (single === undefined) return [];
  if (intents.length === 1) {
    await recordRefused(places, settings, single, error);
    return [single];
  }
  // The last user was only refused together with others, so it is sent alone before it is held.
  const half = Math.max(1, Math.ceil(rest.length / 2));
  const waiting = rest.slice(half);
  const sendHalf = async (some: readonly Intent[]) =>
    some.length === 0 ? [] : await sendIntents(withNewDeadline(places, settings), settings, some);
  const refused = await sendHalf(rest.slice(0, half)).catch(async (stop: unknown) => {
    // It was refused in the middle. The other half was not sent and need not wait for the quiet period.
    await record(
      places,
      settings,
      waiting.map((intent) => refusedTogether(intent, error)),
    );
    throw stop;
  });
  // The first half took time, and somebody may have edited users of the second meanwhile.
  return [...refused, ...(await sendHalf(await readRefused(places, settings, waiting, error)))];
}

/** Sends intents and records their outcomes. @returns the users that the service refused individually */
export async function sendIntents(
  places: PushContext,
  settings: PushSettings,
  intents: readonly Intent[],
): Promise<readonly Intent[]> {
  const sent = await sendRequest(places, new Map(intents.map((intent) => [intent.userId, patchOf(intent)])));
  switch (sent.kind) {
    case 'answered': {
      places.notes.requestId(sent.requestId);
      places.answered.requestId = sent.requestId;
      const answered = (intent: Intent, user: ServiceUser | null, direct: boolean): AnsweredIntent => {
        const outcomes = judgeAnswer(intent.sent, intent.before, user, direct);
        return { intent, seen: user, outcomes, isDirect: direct, requestId: sent.requestId };
      };
      const present = intents.filter(({ userId }) => sent.users.has(userId));
      const missing = intents.filter(({ userId }) => !sent.users.has(userId));
      // The answer is recorded before anything else can go wrong.
      await record(
        places,
        settings,
        present.map((intent) => answered(intent, sent.users.get(intent.userId) ?? null, true)),
      );
      const seen = await readBackIntents(places, missing);
      await record(
        places,
        settings,
        missing.map((intent) => answered(intent, seen.get(intent.userId) ?? null, false)),
      );
      return [];
    }
    case 'refused':
      return bisect(places, settings, intents, sent.error);
    case 'unsent': {
      await record(places, settings, intents.map(neverLeft));
      throw sent.error;
    }
    case 'unknown': {
      noteUnanswered(places, sent.error);
      const seen = await readBackIntents(places, intents);
      const answers = intents.map((intent): AnsweredIntent => {
        const user = seen.get(intent.userId) ?? null;
        return {
          intent,
          seen: user,
          outcomes: judgeLate(intent.sent, intent.before, user, false),
          requestId: null,
        };
      });
      await record(places, settings, answers);
      return [];
    }
    default:
      return sent satisfies never;
  }
}
