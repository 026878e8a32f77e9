/** A message to be scheduled, with our own names (interface.md, Endpoints, notes 3 and 4). */
import type { Id } from './id.ts';

export interface GalleryEntry {
  readonly annotationPosition?: string;
  readonly annotationText?: string;
  readonly originalUrl?: string;
  readonly url: string;
}

/** interface.md, ScheduleContent. */
export interface ScheduleContent {
  readonly text?: string;
  /** A template's id. */
  readonly template?: Id;
  readonly attachments?: readonly { readonly name: string; readonly type: string; readonly url: string }[];
  readonly gallery?: readonly GalleryEntry[];
  /** Sent as given: "the formats and units of … `local_time`, `local_day` and `offset`: not shown" (interface.md). */
  readonly localDay?: number;
  readonly localTime?: string;
  readonly offset?: number;
  readonly to?: string;
}

/** interface.md, Endpoints, note 3. Exactly one of `phoneNumber`, `conversationId`, `listId`, `targets`. */
export interface ScheduleRequest {
  readonly inboxId: Id;
  /** RFC 3339, on a quarter of an hour, at least 15 minutes ahead. */
  readonly executeAt: string;
  readonly content: ScheduleContent;
  readonly phoneNumber?: string;
  readonly conversationId?: Id;
  readonly listId?: Id;
  readonly targets?: readonly string[];
  /** Our own id. If a deployment recognizes it, a repeated request does not create a second message. */
  readonly localId?: string;
  readonly userId?: Id;
  readonly superId?: Id;
  readonly isEmail?: boolean;
  /** Sent as given: "Meaning of `_`: not shown" (interface.md). */
  readonly _?: number;
}

/** A conversation to be marked as read by a user. The two ids are required in practice. */
export interface ConversationRead {
  readonly inboxId: Id;
  readonly userId: Id;
  readonly target?: string;
  readonly targets?: readonly string[];
  readonly reassignId?: Id;
}
