/** Scheduled messages, in both directions (interface.md, Scheduled message; Endpoints, notes 3 and 4). */
import type { Id } from '../../model/id.ts';
import type { Reply } from '../call.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { findFlaw, takeId, takeInteger } from '../row-flaws.ts';
import { type Shape, takeFields, takeList, takeObject, takeText, unexpected } from '../wire.ts';

/** An entry of the gallery of a scheduled message. */
export interface ScheduledImage {
  readonly annotationPosition: string | null;
  readonly annotationText: string | null;
  readonly originalUrl: string | null;
  readonly url: string | null;
  readonly raw: JsonObject;
}

/** An attachment of a scheduled message. */
export interface ScheduledAttachment {
  readonly name: string | null;
  readonly type: string | null;
  readonly url: string | null;
  readonly raw: JsonObject;
}

/** The content of a scheduled message: interface.md, ScheduleContent. */
export interface ScheduledContent {
  readonly attachments: readonly ScheduledAttachment[] | null;
  readonly gallery: readonly ScheduledImage[] | null;
  readonly localDay: bigint | null;
  readonly localTime: string | null;
  readonly offset: bigint | null;
  /** A template's id. */
  readonly template: Id | null;
  readonly text: string | null;
  readonly to: string | null;
  readonly raw: JsonObject;
}

/** The content of a scheduled message, and its campaign, conversation and list. */
export interface ScheduledMeta {
  readonly campaignId: Id | null;
  readonly campaignStepId: Id | null;
  readonly campaignTargetPhone: string | null;
  readonly content: ScheduledContent | null;
  readonly conversationId: Id | null;
  readonly listId: Id | null;
  readonly raw: JsonObject;
}

/** interface.md, Scheduled message. Everything but the id may be `null`. */
export interface ScheduledMessage {
  readonly id: Id;
  readonly created: string | null;
  readonly updated: string | null;
  /** "delivery time". */
  readonly execute: string | null;
  readonly inboxId: Id | null;
  readonly localId: string | null;
  readonly meta: ScheduledMeta | null;
  readonly op: string | null;
  readonly rev: bigint | null;
  readonly raw: JsonObject;
}

/** interface.md, Write result: "`{id, rev, uuid}`". Some deployments answer only `{id}`. */
export interface WriteResult {
  readonly id: Id;
  readonly rev: bigint | null;
  readonly uuid: string | null;
  readonly requestId: string | null;
}

const galleryShape: Shape<Omit<ScheduledImage, 'raw'>> = {
  annotationPosition: ['annotation_position', takeText],
  annotationText: ['annotation_text', takeText],
  originalUrl: ['original_url', takeText],
  url: ['url', takeText],
};

const attachmentShape: Shape<Omit<ScheduledAttachment, 'raw'>> = {
  name: ['name', takeText],
  type: ['type', takeText],
  url: ['url', takeText],
};

const contentShape: Shape<Omit<ScheduledContent, 'raw'>> = {
  attachments: ['attachments', takeList(takeObject(attachmentShape))],
  gallery: ['gallery', takeList(takeObject(galleryShape))],
  localDay: ['local_day', takeInteger],
  localTime: ['local_time', takeText],
  offset: ['offset', takeInteger],
  template: ['template', takeInteger],
  text: ['text', takeText],
  to: ['to', takeText],
};

const metaShape: Shape<Omit<ScheduledMeta, 'raw'>> = {
  campaignId: ['campaign_id', takeInteger],
  campaignStepId: ['campaign_step_id', takeInteger],
  campaignTargetPhone: ['campaign_target_phone', takeText],
  content: ['content', takeObject(contentShape)],
  conversationId: ['conversation_id', takeInteger],
  listId: ['list_id', takeInteger],
};

const shape: Shape<Omit<ScheduledMessage, 'id' | 'raw'>> = {
  created: ['created', takeText],
  updated: ['updated', takeText],
  execute: ['execute', takeText],
  inboxId: ['inbox_id', takeInteger],
  localId: ['local_id', takeText],
  meta: ['meta', takeObject(metaShape)],
  op: ['op', takeText],
  rev: ['rev', takeInteger],
};

export function decodeScheduledMessage(row: JsonObject, id: Id): ScheduledMessage {
  return { id, ...takeFields(row, shape) };
}

/** A decoded value with the interface's names: the fields that the service sent, and the fields in `raw`. */
export function encodeShown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encodeShown);
  if (!isObject(value)) return value;
  const { raw, ...known } = value;
  const fields = Object.entries(known).filter(([, field]) => field !== null);
  const wireName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return {
    ...(isObject(raw) ? raw : {}),
    ...Object.fromEntries(fields.map(([name, field]) => [wireName(name), encodeShown(field)])),
  };
}

/** @throws ServiceError if the answer has no id. It is then unknown whether the write had an effect */
export function decodeWriteResult(reply: Reply): WriteResult {
  const { value, suspicious } = reply.body;
  const id = isObject(value) ? takeId(value['id']) : null;
  if (!isObject(value) || id === null) throw unexpected(reply, 'a write result with an id');
  const uuid = takeText(value['uuid']);
  return {
    id,
    rev: takeInteger(value['rev']),
    uuid: findFlaw(uuid, suspicious) === null ? uuid : null,
    requestId: reply.requestId,
  };
}

/** Decodes an answer that is "a string", or "the string `ok`". @throws ServiceError for any other answer */
export function decodeString(reply: Reply, expected?: string): string {
  const { value } = reply.body;
  if (typeof value !== 'string' || (expected !== undefined && value !== expected)) {
    throw unexpected(reply, expected === undefined ? 'a string' : `the string "${expected}"`);
  }
  return value;
}
