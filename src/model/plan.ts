import type { Id } from './id.ts';
import type { UserPatch, UserValues } from './user.ts';

/** One user of a plan that a person looks at: what would be sent, and on which values of the service. */
export interface PlannedPush {
  readonly userId: Id;
  readonly name: string;
  /** What both sides last agreed on, for the fields that are sent. */
  readonly base: Partial<UserValues>;
  readonly patch: UserPatch;
}

/** Pushes that the guard refused, kept for a person to look at. */
export interface RefusedPlan {
  /** What "musterd approve" is given: it stands for these rows with these values. */
  readonly hash: string;
  readonly reasons: readonly string[];
  readonly pushes: readonly PlannedPush[];
}

/** What earlier runs and people have to say about the pushes of this one. */
export interface GuardHistory {
  /** Users pushed to in the last 24 h without an approval. */
  readonly pushedToday: ReadonlySet<Id>;
  /** What a person approved and may still be sent. */
  readonly approved: readonly PlannedPush[];
  /** A refused plan waits for a person: the first refusal has been told. */
  readonly isWaiting: boolean;
}
