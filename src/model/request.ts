/**
 * What is asked of the service besides edits of users: a tag to be made, a message to be scheduled, replaced or
 * cancelled, a conversation to be marked as read. Each is a row of the mirror with an id of its own.
 */
import type { Id } from './id.ts';

export type RequestKind = 'tag' | 'message' | 'conversation_read';

/** What is asked for, by the columns that people write; `null`: that there be nothing. */
export type Wanted = Readonly<Record<string, unknown>>;

/** Why it waits for a person, and what they decided. */
export interface RequestHold {
  readonly reason: 'review' | 'limit' | 'unsupported' | 'refused' | 'conflict' | 'asked';
  readonly decision: 'approved' | 'spent' | 'rejected' | null;
  readonly batch: string | null;
}

/** A request that was written down before it was sent, and whose outcome is not known yet. */
export interface OpenRequest {
  readonly changeId: Id;
  /** `null`: a cancel. */
  readonly sent: Wanted | null;
  readonly edit: Id;
  /** Whether it may have left. */
  readonly hasLeft: boolean;
  /** Ms since it last left, or since it was written down, by the database's clock. */
  readonly ageMs: number;
}

/** One request that is not over, as the database has it. */
export interface ServiceRequestState {
  readonly kind: RequestKind;
  readonly localId: string;
  /** The service's id; `null`: it has none yet. */
  readonly id: Id | null;
  readonly wanted: Wanted | null;
  /** What the service has of it, as far as is known; `null`: nothing. */
  readonly base: Wanted | null;
  readonly state: string;
  /** The edit that lasts; `null`: both sides agree. */
  readonly edit: Id | null;
  readonly hold: RequestHold | null;
  readonly open: OpenRequest | null;
  /** Of a message: how many get it; `null`: nobody here knows. */
  readonly recipients: number | null;
  /** Ms until it is to be sent by the service, by the database's clock; of a message alone. */
  readonly dueInMs: number | null;
  /** The same of what the service has. */
  readonly baseDueInMs: number | null;
}
