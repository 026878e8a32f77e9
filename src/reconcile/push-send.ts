/**
 * Sends written-down intents in one request and finds out what became of each of them, by user and field.
 * A request that is refused is read back and cut in two, until the one bad value is found.
 */
import { MusterdError, ServiceError } from '../errors.ts';
import type { FieldOutcomes, Intent } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import {
  canonicalServiceValue,
  type Field,
  type ServiceUser,
  type UserPatch,
  type UserValues,
} from '../model/user.ts';
import { type PushPlaces, type PushSettings, readBackIntents, record } from './push-record.ts';
import type { Answered } from './push-result.ts';
import { isRefusal } from './roster.ts';
import { guardSend } from './send-guard.ts';
import { judge, judgeLate, patchedFields } from './verdict.ts';

/** What one request was answered with. */
type Sent =
  | {
      readonly kind: 'answered';
      readonly users: ReadonlyMap<Id, ServiceUser>;
      readonly requestId: string | null;
    }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  | { readonly kind: 'unsent'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly error: ServiceError };

async function send(places: PushPlaces, patches: ReadonlyMap<Id, UserPatch>): Promise<Sent> {
  try {
    const answer = await places.service.updateUsers(patches, {
      beforeSend: () => guardSend(places, [...patches.keys()]),
    });
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

/** Applied all the same, or changed by somebody else meanwhile: either way it is not to be sent again. */
function isSettled({ outcomes }: Answered): boolean {
  const all = Object.values(outcomes);
  return all.every((outcome) => outcome === 'confirmed') || all.includes('changed');
}

/** What somebody changed is held; what else was to be sent to the same user is planned anew by the next run. */
function closeSettled(answer: Answered): Answered {
  const outcomes = Object.entries(answer.outcomes).map(
    ([field, outcome]) =>
      [field, outcome === 'confirmed' || outcome === 'changed' ? outcome : 'unsent'] as const,
  );
  return { ...answer, outcomes: Object.fromEntries(outcomes) };
}

/** Reads refused users back and records those who need no more. @returns those who are to be sent still */
async function readRefused(
  places: PushPlaces,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<readonly Intent[]> {
  const seen = await readBackIntents(places, intents);
  const judged = intents.map((intent): Answered => {
    const user = seen.get(intent.userId) ?? null;
    const outcomes = judge(intent.sent, intent.before, user);
    return { intent, seen: user, outcomes, requestId: error.requestId ?? null };
  });
  const settled = judged.filter(isSettled);
  await record(places, settings, settled.map(closeSettled));
  return judged.filter((answer) => !isSettled(answer)).map(({ intent }) => intent);
}

/** The result of an intent that was not sent after all. */
function neverLeft(intent: Intent): Answered {
  const outcomes = Object.fromEntries(patchedFields(intent.sent).map((field) => [field, 'unsent' as const]));
  return { intent, seen: null, outcomes, requestId: null };
}

/** A refused request is cut in two, by user and then by field, until the one bad value is found. */
async function bisect(
  places: PushPlaces,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<boolean> {
  const rest = await readRefused(places, settings, intents, error);
  if (intents.length > 1) {
    // One that is left over was refused in company only, so it is sent alone before it is held.
    const half = Math.max(1, Math.ceil(rest.length / 2));
    let anyTaken = rest.length < intents.length;
    const waiting = rest.slice(half);
    try {
      if (rest.length > 0 && (await sendIntents(places, settings, rest.slice(0, half)))) anyTaken = true;
    } catch (stop) {
      // Turned away in the middle: the other half never left, and need not wait for the quiet period.
      await record(places, settings, waiting.map(neverLeft));
      throw stop;
    }
    if (waiting.length === 0) return anyTaken;
    // Trying the first half took its time, and somebody may have edited the second meanwhile.
    const second = await readRefused(places, settings, waiting, error);
    if (second.length < waiting.length) anyTaken = true;
    if (second.length > 0 && (await sendIntents(places, settings, second))) anyTaken = true;
    return anyTaken;
  }
  const [one] = rest;
  if (one === undefined) return true;
  return sendFieldByField(places, settings, one, error);
}

/**
 * What a field that is to be sent alone shows by now; `null`: it is as it was, or as our own last request
 * (`last`) left it, and may be sent.
 */
async function lookAgain(
  places: PushPlaces,
  { intent, seen: last }: Answered,
  field: Field,
  patch: UserPatch,
): Promise<{ readonly user: ServiceUser | null; readonly outcome: FieldOutcomes } | null> {
  const user = (await readBackIntents(places, [intent])).get(intent.userId) ?? null;
  const outcome = judge(patch, intent.before, user);
  const isOurs =
    user !== null &&
    last !== null &&
    canonicalServiceValue(field, user) === canonicalServiceValue(field, last);
  return isOurs || outcome[field] === 'ineffective' ? null : { user, outcome };
}

/**
 * One user whose update was refused as a whole: each field alone; the refused ones are held. The name goes
 * last, so that nothing sent after it can overwrite it, and each but the first is read again before it leaves.
 * Being turned away ends it, as it ends a whole batch.
 */
async function sendFieldByField(
  places: PushPlaces,
  settings: PushSettings,
  intent: Intent,
  refusal: ServiceError,
): Promise<boolean> {
  const fields = patchedFields(intent.sent).toReversed();
  let sent: Sent | undefined;
  let answered: Answered = {
    intent,
    seen: null,
    outcomes: {},
    requestId: refusal.requestId ?? null,
    refusal,
  };
  for (const field of fields) {
    const patch: UserPatch = { [field]: intent.sent[field] };
    const shown =
      sent === undefined || sent.kind === 'unsent' ? null : await lookAgain(places, answered, field, patch);
    if (shown !== null) {
      const { user, outcome } = shown;
      answered = { ...answered, seen: user ?? answered.seen, outcomes: { ...answered.outcomes, ...outcome } };
      continue;
    }
    if (fields.length === 1) sent = { kind: 'refused', error: refusal };
    else if (sent?.kind !== 'unsent') sent = await send(places, new Map([[intent.userId, patch]]));
    const user = sent.kind === 'answered' ? (sent.users.get(intent.userId) ?? null) : null;
    const outcome =
      sent.kind === 'answered'
        ? judgeAnswer(patch, intent.before, user, user !== null)
        : { [field]: sent.kind };
    answered = { ...answered, seen: user ?? answered.seen, outcomes: { ...answered.outcomes, ...outcome } };
  }
  await record(places, settings, [answered]);
  if (sent?.kind === 'unsent') throw sent.error;
  return Object.values(answered.outcomes).some((outcome) => outcome !== 'refused');
}

/**
 * Sends intents and records what became of them.
 * @returns whether the service took anything; `false` means that it refused every single user
 */
export async function sendIntents(
  places: PushPlaces,
  settings: PushSettings,
  intents: readonly Intent[],
): Promise<boolean> {
  const sent = await send(places, new Map(intents.map(({ userId, sent: patch }) => [userId, patch])));
  switch (sent.kind) {
    case 'answered': {
      places.findings.requestId(sent.requestId);
      const answered = (intent: Intent, user: ServiceUser | null, direct: boolean): Answered => {
        const outcomes = judgeAnswer(intent.sent, intent.before, user, direct);
        return { intent, seen: user, outcomes, requestId: sent.requestId };
      };
      const present = intents.filter(({ userId }) => sent.users.has(userId));
      const missing = intents.filter(({ userId }) => !sent.users.has(userId));
      // What the answer says is written down before anything else can go wrong.
      await record(
        places,
        settings,
        present.map((one) => answered(one, sent.users.get(one.userId) ?? null, true)),
      );
      if (missing.length === 0) return true;
      const seen = await readBackIntents(places, missing);
      await record(
        places,
        settings,
        missing.map((one) => answered(one, seen.get(one.userId) ?? null, false)),
      );
      return true;
    }
    case 'refused':
      return bisect(places, settings, intents, sent.error);
    case 'unsent': {
      await record(places, settings, intents.map(neverLeft));
      throw sent.error;
    }
    case 'unknown': {
      places.findings.partial(`a push was not answered: ${sent.error.message}`);
      places.breaker.unanswered += 1;
      const seen = await readBackIntents(places, intents);
      const answers = intents.map((intent): Answered => {
        const user = seen.get(intent.userId) ?? null;
        return {
          intent,
          seen: user,
          outcomes: judgeLate(intent.sent, intent.before, user, false),
          requestId: null,
        };
      });
      await record(places, settings, answers);
      return true;
    }
    default:
      return sent satisfies never;
  }
}

/** The answer itself is final, but for what it leaves out: that is only ever confirmed by what a lookup shows. */
function judgeAnswer(
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
