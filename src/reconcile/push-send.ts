/**
 * Sends written-down intents in one request and finds out what became of each of them, by user and field.
 * A request that is refused is read back and cut in two, until the one bad value is found.
 */
import { MusterdError, ServiceError } from '../errors.ts';
import type { FieldOutcomes, Intent } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import type { TeamMember } from '../model/team.ts';
import type { ServiceUser, UserPatch, UserValues } from '../model/user.ts';
import type { Findings } from './findings.ts';
import type { Policy } from './policy.ts';
import type { MirrorPort, MirrorWriter, ServicePort } from './ports.ts';
import { type Answered, resultOf } from './push-result.ts';
import { isRefusal, readBack } from './roster.ts';
import { guardSend } from './send-guard.ts';
import { judge, judgeLate, patchedFields } from './verdict.ts';

export interface PushPlaces {
  readonly service: ServicePort;
  readonly mirror: MirrorPort & MirrorWriter;
  readonly findings: Findings;
  readonly members: ReadonlyMap<Id, TeamMember>;
  readonly roles: ReadonlyMap<Id, string>;
  /** As the service has just shown them, before anything is sent. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** Users whose push a person approved. */
  readonly approved: ReadonlySet<Id>;
  /** Ms of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** By that clock: what was prepared may not leave later than this. */
  readonly sendByMs: number;
  /** Opened when an update did what it must not: no more is pushed in this run. */
  readonly breaker: {
    open: boolean;
    /** Requests without an answer, in this run. */
    unanswered: number;
  };
}

export interface PushSettings {
  readonly batchSize: number;
  readonly quietPeriodMs: number;
  /** How long after it was prepared a request may still leave. */
  readonly sendDeadlineMs: number;
  readonly policy: Policy;
  /** A field pushed this often in a row to no effect is held. */
  readonly maxTries: number;
}

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

/**
 * Old and new addresses: after a push of a new email, a lookup by the old one finds nothing. What the
 * service showed may be neither, where the mirror wins a conflict.
 */
function addressesOf(intents: readonly Intent[]) {
  return {
    emails: intents.flatMap(({ base, before, sent }) => [base.email, before.email, sent.email ?? null]),
    phones: intents.flatMap(({ base, before, sent }) => [base.phone, before.phone, sent.phone ?? null]),
  };
}

export async function readBackIntents(
  places: PushPlaces,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, ServiceUser>> {
  const ids = intents.map(({ userId }) => userId);
  return readBack(places.service, addressesOf(intents), ids);
}

/** Writes the results down and says what they come to. */
export async function record(
  places: PushPlaces,
  settings: PushSettings,
  answered: readonly Answered[],
): Promise<void> {
  const { mirror, findings } = places;
  if (answered.length === 0) return;
  const tries = await mirror.countIneffective(answered.map(({ intent }) => intent));
  const results = answered.map((answer) =>
    resultOf({ ...answer, before: places.users.get(answer.intent.userId) }, tries, settings.maxTries),
  );
  const locked = new Set(await mirror.applyResults(results));
  for (const { intent, outcomes, holds } of results) {
    if (intent.sent.name === undefined && holds.some(({ field }) => field === 'name')) {
      places.breaker.open = true;
      findings.partial(
        `an update of user ${intent.userId} changed a name that was not sent: pushing stopped`,
      );
    }
    if (locked.has(intent.userId)) {
      findings.partial(`user ${intent.userId} is being edited: the push is confirmed later`);
      continue;
    }
    const all = Object.values(outcomes);
    findings.count('pushed', all.filter((outcome) => outcome === 'confirmed').length);
    findings.count('ineffective', all.filter((outcome) => outcome === 'ineffective').length);
    findings.count('held', holds.length);
    const open = all.filter((outcome) => outcome === 'unknown').length;
    findings.count('unknown', open);
    if (open > 0) findings.partial(`the outcome of a push to user ${intent.userId} is unknown`);
    if (all.includes('ineffective') && holds.length === 0) {
      findings.partial(`a push to user ${intent.userId} had no effect and will be tried again`);
    }
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
    if (rest.length > 0 && (await sendIntents(places, settings, rest.slice(0, half)))) anyTaken = true;
    const waiting = rest.slice(half);
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
 * One user whose update was refused as a whole: each field alone; the refused ones are held. The name goes
 * last, so that nothing sent after it can overwrite it. Being turned away ends it, as it ends a whole batch.
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
      const outcomes = (intent: Intent) =>
        Object.fromEntries(patchedFields(intent.sent).map((f) => [f, 'unsent' as const]));
      await record(
        places,
        settings,
        intents.map((intent) => ({ intent, seen: null, outcomes: outcomes(intent), requestId: null })),
      );
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
