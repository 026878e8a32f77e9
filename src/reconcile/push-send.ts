/**
 * Sends written-down intents in one request and finds out what became of each of them, by user and field.
 * A request that is refused is read back and cut in two, until the one bad value is found.
 */
import { MusterdError, ServiceError } from '../errors.ts';
import type { FieldOutcomes, Intent } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import type { TeamMember } from '../model/team.ts';
import type { BaseUser, ServiceUser, UserPatch } from '../model/user.ts';
import { chunks } from './chunks.ts';
import type { Findings } from './findings.ts';
import type { Policy } from './policy.ts';
import type { MirrorPort, MirrorWriter, ServicePort } from './ports.ts';
import { type Answered, resultOf } from './push-result.ts';
import { isRefusal, readBack } from './roster.ts';
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
  /** Opened when an update did what it must not: no more is pushed in this run. */
  readonly breaker: { open: boolean };
}

export interface PushSettings {
  readonly batchSize: number;
  readonly quietPeriodMs: number;
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
  await places.mirror.checkLease();
  try {
    const answer = await places.service.updateUsers(patches);
    const users = new Map(answer.users.map((user) => [user.id, user]));
    return { kind: 'answered', users, requestId: answer.requestId };
  } catch (error) {
    if (isRefusal(error)) return { kind: 'refused', error };
    if (!(error instanceof ServiceError)) {
      if (error instanceof MusterdError && error.code === 'stopped') return { kind: 'unsent', error };
      throw error;
    }
    const turnedAway = error.phase === 'not-sent' || [401, 403, 429].includes(error.status ?? 0);
    return turnedAway ? { kind: 'unsent', error } : { kind: 'unknown', error };
  }
}

/** Old and new addresses: after a push of a new email, a lookup by the old one finds nothing. */
function addressesOf(intents: readonly Intent[]) {
  return {
    emails: intents.flatMap(({ base, sent }) => [base.email, sent.email ?? null]),
    phones: intents.flatMap(({ base, sent }) => [base.phone, sent.phone ?? null]),
  };
}

export async function readBackIntents(
  places: PushPlaces,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, ServiceUser>> {
  const ids = intents.map(({ userId }) => userId);
  return readBack(places.service, addressesOf(intents), ids, places.findings);
}

/** Writes the results down and says what they come to. */
export async function record(
  places: PushPlaces,
  settings: PushSettings,
  answered: readonly Answered[],
): Promise<void> {
  const { mirror, findings } = places;
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

/** A refused request is cut in two, by user and then by field, until the one bad value is found. */
async function bisect(
  places: PushPlaces,
  settings: PushSettings,
  intents: readonly Intent[],
  error: ServiceError,
): Promise<boolean> {
  const seen = await readBackIntents(places, intents);
  const applied = intents.map((intent): Answered => {
    const user = seen.get(intent.userId) ?? null;
    return {
      intent,
      seen: user,
      outcomes: judgeLate(intent.sent, intent.base, user, false),
      requestId: error.requestId ?? null,
    };
  });
  const isApplied = ({ outcomes }: Answered) =>
    Object.values(outcomes).every((outcome) => outcome === 'confirmed');
  await record(places, settings, applied.filter(isApplied));
  const rest = applied.filter((answer) => !isApplied(answer)).map(({ intent }) => intent);
  if (intents.length > 1) {
    // One that is left over was refused in company only, so it is sent alone before it is held.
    let anyTaken = rest.length < intents.length;
    for (const half of chunks(rest, Math.max(1, Math.ceil(rest.length / 2)))) {
      if (await sendIntents(places, settings, half)) anyTaken = true;
    }
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
        ? judgeAnswer(patch, intent.base, user, user !== null)
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
      const missing = intents.filter(({ userId }) => !sent.users.has(userId));
      const seen = missing.length > 0 ? await readBackIntents(places, missing) : sent.users;
      places.findings.requestId(sent.requestId);
      const answers = intents.map((intent): Answered => {
        const direct = sent.users.get(intent.userId);
        const user = direct ?? seen.get(intent.userId) ?? null;
        const outcomes = judgeAnswer(intent.sent, intent.base, user, direct !== undefined);
        return { intent, seen: user, outcomes, requestId: sent.requestId };
      });
      await record(places, settings, answers);
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
      const seen = await readBackIntents(places, intents);
      const answers = intents.map((intent): Answered => {
        const user = seen.get(intent.userId) ?? null;
        return {
          intent,
          seen: user,
          outcomes: judgeLate(intent.sent, intent.base, user, false),
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
  base: BaseUser,
  seen: ServiceUser | null,
  direct: boolean,
): FieldOutcomes {
  if (!direct) return judgeLate(sent, base, seen, false);
  const outcomes = Object.entries(judge(sent, base, seen));
  return Object.fromEntries(
    outcomes.map(([field, outcome]) => [field, outcome === 'missing' ? 'unknown' : outcome]),
  );
}
