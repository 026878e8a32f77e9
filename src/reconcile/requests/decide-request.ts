/**
 * What is done about a request that is not being sent. For each one the first line that fits:
 *
 * | the request                                              | what happens                    |
 * |----------------------------------------------------------|---------------------------------|
 * | both sides agree, or it was rejected, refused or put off | nothing                         |
 * | is a cancel                                              | is sent, without any approval   |
 * | its time has come, or that of what it is to replace      | is over: late                   |
 * | the settings let nobody write such                       | waits                           |
 * | its time is less than the margin ahead                   | is held: unsupported            |
 * | approved, over what the service has now                  | is sent; if held for no limit,  |
 * |                                                          | only within the limits          |
 * | approved or held over something else                     | is held: conflict               |
 * | beyond a limit, or nobody knows how far                  | is held: limit                  |
 * | a message, unless they go unattended; or all is reviewed | is held: review                 |
 * | held, and undecided                                      | nothing                         |
 * | anything else                                            | is sent                         |
 *
 * Messages reach people, so each is held until somebody who did not write it approves it, whatever the settings say of
 * users: `sync.decide_requests()` sees to that.
 */
import { isDeepStrictEqual } from 'node:util';
import type { WriteSettings } from '../reconcile-settings.ts';
import type { MessageState, RequestReason, RequestState, Requests } from '../../model/requests.ts';

export interface RequestSettings extends Omit<WriteSettings, 'timezone'> {
  /** Whether a person reviews everything first. */
  readonly isReviewed: boolean;
}

export type RequestDecision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly why: string }
  | { readonly kind: 'late'; readonly detail: string }
  | { readonly kind: 'hold'; readonly reason: RequestReason; readonly detail: string }
  | { readonly kind: 'send'; readonly verb: 'create' | 'replace' | 'cancel' };

const nothing: RequestDecision = { kind: 'nothing' };

/** The requests that this run has already decided to send. */
export interface SentSoFar {
  readonly tags: number;
  /** The numbers by day. */
  readonly messages: ReadonlyMap<string, { readonly messages: number; readonly recipients: number }>;
}

const settingOf = { tag: 'tags', message: 'schedule', conversation_read: 'conversations' } as const;

/** Why the settings do not allow such a request; `undefined` if they do. */
export const refusedBySettings = ({ kind }: RequestState, write: RequestSettings): string | undefined =>
  ({ tag: write.tags, message: write.schedule !== false, conversation_read: write.conversations })[kind]
    ? undefined
    : `write.${settingOf[kind]} is off`;

/** Why a message is beyond the limits of its day; `undefined` if it is not. */
function limitOfDay(
  { day, recipients, others }: MessageState,
  { maxMessages, maxRecipients }: RequestSettings,
  sent: SentSoFar,
): string | undefined {
  const sentThatDay = sent.messages.get(day) ?? { messages: 0, recipients: 0 };
  const messages = others.messages + sentThatDay.messages + 1;
  if (messages > maxMessages)
    return `${messages} messages would be due on ${day}, more than the limit of ${maxMessages}`;
  if (recipients === null)
    return 'nobody here knows how many get it: the service does not tell the size of a list';
  const all = others.recipients + sentThatDay.recipients + recipients;
  return all > maxRecipients
    ? `${all} people would get a message on ${day}, more than the limit of ${maxRecipients}`
    : undefined;
}

function limitOf(request: RequestState, { newTags }: Requests, write: RequestSettings, sent: SentSoFar) {
  if (request.message !== null) return limitOfDay(request.message, write, sent);
  const tags = newTags + sent.tags + 1;
  return request.kind === 'tag' && tags > write.maxNewTags
    ? `${tags} tags would be made within a day, more than the limit of ${write.maxNewTags}, and none can be removed`
    : undefined;
}

/** Why its time does not allow it; `undefined` if it does. */
function flawOfTime({ message }: RequestState): RequestDecision | undefined {
  if (message === null) return undefined;
  if (message.baseDueInMs !== null && message.baseDueInMs <= 0)
    return { kind: 'late', detail: 'the time of the message came before it could be replaced' };
  if (message.dueInMs <= 0)
    return { kind: 'late', detail: 'its time has passed while it waited; it was not sent' };
  return undefined;
}

function guarded(
  request: RequestState,
  now: Requests,
  write: RequestSettings,
  sent: SentSoFar,
): RequestDecision {
  const send = { kind: 'send', verb: request.id === null ? 'create' : 'replace' } as const;
  const limit = limitOf(request, now, write, sent);
  if (request.hold !== null && !isDeepStrictEqual(request.hold.base, request.base))
    return { kind: 'hold', reason: 'conflict', detail: 'the service has changed the message since' };
  if (request.hold?.reason === 'conflict' && request.hold.decision === null) return nothing;
  const isApproved = request.hold?.decision === 'approved';
  if (isApproved && (limit === undefined || request.hold.reason === 'limit')) return send;
  if (limit !== undefined) return { kind: 'hold', reason: 'limit', detail: limit };
  if (write.isReviewed || (request.kind === 'message' && write.schedule !== 'unattended'))
    return { kind: 'hold', reason: 'review', detail: '' };
  // A person decides about a request that was held, even if nothing would hold it any more.
  return request.hold === null ? send : nothing;
}

export function decideRequest(
  request: RequestState,
  now: Requests,
  write: RequestSettings,
  sent: SentSoFar,
): RequestDecision {
  const { hold, message, edit } = request;
  if (edit === null || hold?.decision === 'rejected' || hold?.reason === 'asked') return nothing;
  if (request.wanted === null) return request.id === null ? nothing : { kind: 'send', verb: 'cancel' };
  if (hold?.reason === 'refused' && hold.decision === null) return nothing;
  const late = flawOfTime(request);
  if (late !== undefined) return late;
  const refusal = refusedBySettings(request, write);
  if (refusal !== undefined) return { kind: 'wait', why: refusal };
  const { marginMinutes } = now.times;
  const decision: RequestDecision =
    message !== null && message.dueInMs < marginMinutes * 60_000
      ? {
          kind: 'hold',
          reason: 'unsupported',
          detail: `it is due in less than ${marginMinutes} minutes, which the service does not take: edit execute_at`,
        }
      : guarded(request, now, write, sent);
  return decision.kind === 'hold' && isHeldSo(request, decision.reason) ? nothing : decision;
}

/** Whether it is held for the same reason already, undecided, over what the service has now. */
const isHeldSo = ({ hold, base }: RequestState, reason: RequestReason): boolean =>
  hold !== null && hold.decision === null && hold.reason === reason && isDeepStrictEqual(hold.base, base);

/** Adds this request to what the run has decided to send. */
export function withSent(sent: SentSoFar, { kind, message }: RequestState): SentSoFar {
  if (message === null) return { ...sent, tags: sent.tags + (kind === 'tag' ? 1 : 0) };
  const sentThatDay = sent.messages.get(message.day) ?? { messages: 0, recipients: 0 };
  const day = {
    messages: sentThatDay.messages + 1,
    recipients: sentThatDay.recipients + (message.recipients ?? 0),
  };
  return { ...sent, messages: new Map([...sent.messages, [message.day, day]]) };
}
