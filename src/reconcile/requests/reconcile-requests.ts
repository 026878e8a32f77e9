/**
 * Handles requests besides edits of users, one at a time: what got no answer is looked for, what needs a person is
 * held, and the rest is written down, sent and recorded.
 */
import { createHash } from 'node:crypto';
import { toJson } from '../../model/json.ts';
import type { OpenRequest, RequestState, Requests } from '../../model/requests.ts';
import type { WritingContext } from '../apply-users.ts';
import { LateError } from '../push/send-guard.ts';
import { attempt } from '../run-notes.ts';
import {
  decideRequest,
  refusedBySettings,
  type RequestDecision,
  type RequestSettings,
  type SentSoFar,
  withSent,
} from './decide-request.ts';
import {
  type Answered,
  canonicalTag,
  findTag,
  readBackMessage,
  readTags,
  sendOpenRequest,
  type TagsByName,
  unknownOf,
} from './send-request.ts';

/** How many messages are read again in a run of the listings, those due soonest first. */
const mostReadAgain = 20;

interface RequestContext extends WritingContext {
  readonly now: Requests;
  readonly settings: RequestSettings;
  readonly quietPeriodMs: number;
  /** Names of tags that were sent, and may be there soon. */
  readonly underWay: ReadonlySet<string | null>;
  /** The tags of the service, read once, when they are first needed; `null` if not all of them are known. */
  readonly tags: () => Promise<TagsByName | null>;
}

const nameOf = ({ kind, wanted, open, localId }: RequestState): string =>
  kind === 'tag'
    ? `the tag "${String((wanted ?? open?.sent)?.['tag'])}"`
    : `${kind.replace('_', ' ')} ${localId}`;

async function record(
  { mirror, notes }: RequestContext,
  request: RequestState,
  open: OpenRequest,
  { outcome, requestId, error }: Answered,
): Promise<void> {
  notes.requestId(requestId);
  await mirror.requests.apply({ request, open, outcome, requestId });
  if (outcome.kind === 'confirmed') notes.count('pushed');
  if (outcome.kind === 'refused' || outcome.kind === 'conflict') notes.count('held');
  if (outcome.kind === 'unknown') {
    notes.count('unknown');
    notes.partial(
      `the outcome of ${nameOf(request)} is unknown: ${outcome.detail}${outcome.isForGood ? '; see "musterd schedule resolve"' : ''}`,
    );
  }
  if (error !== undefined) throw error;
}

/** Sends what was written down. */
async function send(context: RequestContext, request: RequestState, open: OpenRequest): Promise<void> {
  const { service, mirror, now } = context;
  const answered = await sendOpenRequest(service, request, open, now, {
    beforeSend: async () => {
      if (!(await mirror.requests.markSent(request, open)))
        throw new LateError(`${nameOf(request)} was edited, rejected or taken back meanwhile`);
    },
    atStart: () => mirror.requireLease(),
  });
  const isOvertaken = answered.error instanceof LateError;
  await record(context, request, open, isOvertaken ? { ...answered, error: undefined } : answered);
}

/**
 * Sends a create that got no answer once more, with the same `local_id`, of which the service makes no second
 * message. That is done even if the message was edited or taken back since, because only the answer tells the id by
 * which it can be replaced or cancelled. If this request gets no answer either, that says nothing about the first.
 */
async function sendAgain(context: RequestContext, request: RequestState, open: OpenRequest): Promise<void> {
  const { service, mirror, now } = context;
  const answered = await sendOpenRequest(service, request, open, now, {
    beforeSend: async () => {
      if (!(await mirror.requests.markSentAgain(open)))
        throw new LateError(`${nameOf(request)} was resolved meanwhile`);
    },
    atStart: () => mirror.requireLease(),
  });
  const { kind } = answered.outcome;
  const outcome: Answered['outcome'] =
    kind === 'confirmed' || kind === 'unknown'
      ? answered.outcome
      : { kind: 'unknown', isForGood: kind === 'refused', detail: 'it was sent, and no answer came' };
  if (!(answered.error instanceof LateError)) await record(context, request, open, { ...answered, outcome });
}

/** Finds out what became of a request that an earlier run sent, or was about to send. */
async function settle(context: RequestContext, request: RequestState, open: OpenRequest): Promise<void> {
  const { service, now, quietPeriodMs } = context;
  const is = (outcome: Answered['outcome']) => record(context, request, open, { outcome, requestId: null });
  if (!open.hasLeft) return await is({ kind: 'unsent' });
  if (request.kind === 'conversation_read') return await is({ kind: 'unanswered' });
  if (request.kind === 'tag') {
    const tags = await context.tags();
    const found = tags === null ? undefined : findTag(tags, open.sent);
    if (found !== undefined) return await is({ kind: 'confirmed', id: found.id, answer: null });
    if (tags !== null && open.ageMs >= quietPeriodMs) return await is({ kind: 'unanswered' });
    return await is({ kind: 'unknown', isForGood: false, detail: 'it was sent, and no answer came' });
  }
  if (request.id !== null) return await is(await readBackMessage(service, request, open, quietPeriodMs));
  const unknown = unknownOf(request, now, 'it was sent, and no answer came');
  if (unknown.kind === 'unknown' && unknown.isForGood) return await is(unknown);
  const refusal = refusedBySettings(request, context.settings);
  if (refusal !== undefined)
    return await is({ kind: 'unknown', isForGood: false, detail: `${refusal}, so it is not asked again` });
  await sendAgain(context, request, open);
}

/** Each message is a batch of its own. Other requests are one batch for each transaction. */
function batchOf(request: RequestState, all: readonly RequestState[]): string {
  const together =
    request.kind === 'message'
      ? [request]
      : all.filter(
          ({ kind, transaction, edit }) =>
            edit !== null && kind === request.kind && transaction === request.transaction,
        );
  const rows = together.map(({ localId, edit, wanted, base }) => [localId, edit, wanted, base]);
  return createHash('sha256')
    .update(toJson(['requests', ...rows]))
    .digest('hex')
    .slice(0, 12);
}

async function carryOut(
  context: RequestContext,
  request: RequestState,
  decision: Exclude<RequestDecision, { kind: 'nothing' }>,
): Promise<void> {
  const { mirror, notes, now } = context;
  switch (decision.kind) {
    case 'wait':
      return notes.warn(`${nameOf(request)} waits: ${decision.why}`);
    case 'late':
      return await mirror.requests.giveUp(request, decision.detail);
    case 'hold': {
      const { reason, detail } = decision;
      const batch = reason === 'unsupported' ? null : batchOf(request, now.all);
      await mirror.requests.hold({ request, reason, detail, batch });
      return notes.count('held');
    }
    case 'send': {
      const taken = await takenTag(context, request);
      if (taken === null && context.underWay.has(tagOf(request)))
        return notes.partial(
          `${nameOf(request)} waits for another one of that name, of which no answer came`,
        );
      if (taken === 'unknown')
        return notes.partial(`${nameOf(request)} waits: the tags of the service could not all be read`);
      const open = await mirror.requests.open(request);
      if (open === null)
        return notes.partial(`${nameOf(request)} was being edited and waits for the next run`);
      if (taken === null) return await send(context, request, open);
      return await record(context, request, open, {
        outcome: { kind: 'confirmed', id: taken, answer: null },
        requestId: null,
      });
    }
    default:
      return decision satisfies never;
  }
}

const tagOf = ({ kind, wanted, open }: RequestState): string | null =>
  kind === 'tag' ? canonicalTag(String((wanted ?? open?.sent)?.['tag'])) : null;

/** The tag that exists already; `null` if there is none, or if the request is about something else. */
async function takenTag({ tags }: RequestContext, request: RequestState) {
  if (request.kind !== 'tag') return null;
  const all = await tags();
  return all === null ? 'unknown' : (findTag(all, request.wanted)?.id ?? null);
}

/** Reads messages again that the service has. Changes made there are taken over, like a pull of a user. */
async function readAgain({ service, mirror, notes }: WritingContext): Promise<void> {
  for (const { localId, id } of await mirror.requests.readDue(mostReadAgain)) {
    const found = await attempt(notes, `message ${localId}`, async () => ({
      is: await service.shownSchedule(id),
    }));
    if (found === undefined) return;
    await mirror.requests.applyShown(localId, found.is);
  }
}

/**
 * Settles, holds and sends the requests of a team. In a copy it does none of this.
 * @param readsAgain whether messages that the service has are read again, too
 */
export async function reconcileRequests(
  places: WritingContext,
  settings: RequestSettings,
  quietPeriodMs: number,
  readsAgain: boolean,
): Promise<void> {
  const { mirror, notes, service, sendBlock } = places;
  if (sendBlock !== undefined) return;
  if (!(await mirror.requests.areThere())) return;
  await mirror.requests.passTime();
  if (readsAgain) await readAgain(places);
  const part = (request: RequestState, work: () => Promise<void>) => attempt(notes, nameOf(request), work);
  let tags: Promise<TagsByName | null> | undefined;
  const underWay = new Set<string | null>();
  const context = (now: Requests): RequestContext => ({
    ...places,
    now,
    settings,
    quietPeriodMs,
    underWay,
    tags: () => (tags ??= readTags(service)),
  });
  const before = await mirror.requests.read();
  const open = before.all.filter((request) => request.open !== null);
  for (const request of open)
    await part(request, async () => {
      if (request.open !== null) await settle(context(before), request, request.open);
    });
  const now = open.length === 0 ? before : await mirror.requests.read();
  for (const request of now.all)
    if (request.open !== null && request.kind === 'tag') underWay.add(tagOf(request));
  let sent: SentSoFar = { tags: 0, messages: new Map() };
  for (const request of now.all.filter((one) => one.open === null)) {
    const decision = decideRequest(request, now, settings, sent);
    if (decision.kind === 'nothing') continue;
    if (decision.kind === 'send' && decision.verb !== 'cancel') sent = withSent(sent, request);
    await part(request, () => carryOut(context(now), request, decision));
    if (request.kind !== 'tag' || decision.kind !== 'send') continue;
    // The next request for a tag of this name has to see the one that was just made.
    tags = undefined;
    underWay.add(tagOf(request));
  }
}
