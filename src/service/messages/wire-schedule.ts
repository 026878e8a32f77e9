/** Scheduled messages, in both directions (interface.md, Scheduled message; Endpoints, notes 3 and 4). */
import type { Id } from '../../model/id.ts';
import type { Reply } from '../call.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { findFlaw, takeId, takeInteger } from '../row-flaws.ts';
import {
  type Nullable,
  type Shape,
  takeFields,
  takeList,
  takeObject,
  takeText,
  unexpected,
} from '../wire.ts';

interface GalleryEntryFields {
  readonly annotationPosition: string;
  readonly annotationText: string;
  readonly originalUrl: string;
  readonly url: string;
}

interface AttachmentFields {
  readonly name: string;
  readonly type: string;
  readonly url: string;
}

interface ContentFields {
  readonly attachments: readonly (Nullable<AttachmentFields> & { readonly raw: JsonObject })[];
  readonly gallery: readonly (Nullable<GalleryEntryFields> & { readonly raw: JsonObject })[];
  readonly localDay: bigint;
  readonly localTime: string;
  readonly offset: bigint;
  /** A template's id. */
  readonly template: Id;
  readonly text: string;
  readonly to: string;
}

interface MetaFields {
  readonly campaignId: Id;
  readonly campaignStepId: Id;
  readonly campaignTargetPhone: string;
  readonly content: Nullable<ContentFields> & { readonly raw: JsonObject };
  readonly conversationId: Id;
  readonly listId: Id;
}

interface ScheduledMessageFields {
  readonly created: string;
  readonly updated: string;
  /** "delivery time". */
  readonly execute: string;
  readonly inboxId: Id;
  readonly localId: string;
  readonly meta: Nullable<MetaFields> & { readonly raw: JsonObject };
  readonly op: string;
  readonly rev: bigint;
}

/** interface.md, Scheduled message. Everything but the id may be `null`. */
export type ScheduledMessage = Nullable<ScheduledMessageFields> & {
  readonly id: Id;
  readonly raw: JsonObject;
};

/** interface.md, Write result: "`{id, rev, uuid}`"; some deployments answer `{id}` alone. */
export interface WriteResult {
  readonly id: Id;
  readonly rev: bigint | null;
  readonly uuid: string | null;
}

const galleryShape: Shape<GalleryEntryFields> = {
  annotationPosition: ['annotation_position', takeText],
  annotationText: ['annotation_text', takeText],
  originalUrl: ['original_url', takeText],
  url: ['url', takeText],
};

const attachmentShape: Shape<AttachmentFields> = {
  name: ['name', takeText],
  type: ['type', takeText],
  url: ['url', takeText],
};

const contentShape: Shape<ContentFields> = {
  attachments: ['attachments', takeList(takeObject(attachmentShape))],
  gallery: ['gallery', takeList(takeObject(galleryShape))],
  localDay: ['local_day', takeInteger],
  localTime: ['local_time', takeText],
  offset: ['offset', takeInteger],
  template: ['template', takeInteger],
  text: ['text', takeText],
  to: ['to', takeText],
};

const metaShape: Shape<MetaFields> = {
  campaignId: ['campaign_id', takeInteger],
  campaignStepId: ['campaign_step_id', takeInteger],
  campaignTargetPhone: ['campaign_target_phone', takeText],
  content: ['content', takeObject(contentShape)],
  conversationId: ['conversation_id', takeInteger],
  listId: ['list_id', takeInteger],
};

const shape: Shape<ScheduledMessageFields> = {
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

/** @throws ServiceError without an id: then it is unknown whether the write had an effect */
export function decodeWriteResult(reply: Reply): WriteResult {
  const { value, suspicious } = reply.body;
  const id = isObject(value) ? takeId(value['id']) : null;
  if (!isObject(value) || id === null) throw unexpected(reply, 'a write result with an id');
  const uuid = takeText(value['uuid']);
  return { id, rev: takeInteger(value['rev']), uuid: findFlaw(uuid, suspicious) === null ? uuid : null };
}

/** "a string", "the string `ok`". @throws ServiceError for anything else */
export function decodeString(reply: Reply, expected?: string): string {
  const { value } = reply.body;
  if (typeof value !== 'string' || (expected !== undefined && value !== expected)) {
    throw unexpected(reply, expected === undefined ? 'a string' : `the string "${expected}"`);
  }
  return value;
}
