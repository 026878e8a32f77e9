/**
 * The request to schedule a message, with checks before it is sent. "Which ScheduleRequest fields are required:
 * not shown" (interface.md, Endpoints, note 3). The rules in this file are the rules that deployments enforce.
 */
import { canonicalPhone } from '../../model/canonical.ts';
import { momentMs } from '../../model/moment.ts';
import type { ConversationRead, ScheduleContent, ScheduleRequest } from '../../model/message-request.ts';
import type { JsonObject } from '../json-object.ts';

/** A message can be sent at full quarters of an hour, at least a quarter of an hour from now. */
const quarterMs = 900_000;
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function findTimeFlaw(executeAt: string, serviceNowMs: number): string | null {
  const at = rfc3339.test(executeAt) ? momentMs(executeAt) : Number.NaN;
  if (Number.isNaN(at)) return 'execute_at is not an RFC 3339 time, such as 2030-01-31T09:15:00Z';
  if (at % quarterMs !== 0 || /\.\d*[1-9]/.test(executeAt))
    return 'execute_at is not on a quarter of an hour (:00, :15, :30 or :45)';
  return at - serviceNowMs < quarterMs ? 'execute_at is less than 15 minutes ahead' : null;
}

/**
 * The reason why the service would refuse the request; `null` if no reason is known.
 *
 * @param serviceNowMs the service's clock, in ms since 1970
 */
export function findScheduleFlaw(request: ScheduleRequest, serviceNowMs: number): string | null {
  const { content } = request;
  const families = {
    phone_number: request.phoneNumber,
    conversation_id: request.conversationId,
    list_id: request.listId,
    targets: request.targets,
  };
  const given = Object.entries(families).filter(([, value]) => value !== undefined);
  if (given.length !== 1) {
    return `exactly one of ${Object.keys(families).join(', ')} must be given, and ${given.length} are`;
  }
  if (request.targets?.length === 0) return 'targets is empty';
  if (request.phoneNumber !== undefined && canonicalPhone(request.phoneNumber) === '') {
    return 'phone_number holds no digits';
  }
  const says = [content.text?.trim(), content.template, content.attachments?.[0], content.gallery?.[0]];
  if (says.every((part) => part === undefined || part === '')) {
    return 'content has no text, no template, no attachment and no gallery';
  }
  return findTimeFlaw(request.executeAt, serviceNowMs);
}

function encodeContent(content: ScheduleContent): JsonObject {
  return {
    text: content.text,
    template: content.template,
    attachments: content.attachments,
    gallery: content.gallery?.map((entry) => ({
      annotation_position: entry.annotationPosition,
      annotation_text: entry.annotationText,
      original_url: entry.originalUrl,
      url: entry.url,
    })),
    local_day: content.localDay,
    local_time: content.localTime,
    offset: content.offset,
    to: content.to,
  };
}

/** The request with the interface's names. JSON leaves out values that are `undefined`. */
export function encodeSchedule(request: ScheduleRequest): JsonObject {
  return {
    _: request._,
    content: encodeContent(request.content),
    conversation_id: request.conversationId,
    execute_at: request.executeAt,
    inbox_id: request.inboxId,
    is_email: request.isEmail,
    list_id: request.listId,
    local_id: request.localId,
    phone_number: request.phoneNumber,
    super_id: request.superId,
    targets: request.targets,
    user_id: request.userId,
  };
}

export function encodeRead({ inboxId, userId, target, targets, reassignId }: ConversationRead): JsonObject {
  return { inbox_id: inboxId, user_id: userId, target, targets, reassign_id: reassignId };
}
