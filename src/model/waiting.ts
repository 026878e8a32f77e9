/** Fields that wait for a person in batches, and people's decisions about them. */
import type { Field } from './fields.ts';
import type { Id } from './id.ts';
import { plural } from './in-words.ts';
import type { Hold } from './user-plan.ts';

/** A field that a limit on a whole run or a review stopped. */
export interface WaitingField {
  readonly userId: Id;
  readonly name: string;
  readonly hold: Hold;
}

/** The edit that made the value which a field has now. */
export interface EditedField {
  readonly userId: Id;
  readonly field: Field;
  readonly editedAt: Date | null;
  /** The person for whom it was made, if one was named, else the role that was connected. */
  readonly editedBy: string | null;
}

/** A held edit, and the batch that it is in, or would be in after a run. */
export interface HeldEdit extends EditedField {
  readonly batch: string;
}

/** What one person did and one run held, and what still waits of it. */
export interface HeldBatch {
  /** A hash of these edits, and of what was seen of both sides. */
  readonly hash: string;
  /** Whether "musterd approve" decides about some of it: a limit or a review holds it. */
  readonly isApproved: boolean;
  /** Whether a limit on a whole run or a review stopped some of it. */
  readonly isStopped: boolean;
  readonly reasons: readonly string[];
  readonly users: number;
  readonly since: Date;
}

/** Says what waits in a batch, for use in a sentence. */
export const batchInWords = (users: number): string => `pushes to ${plural(users, 'user')}`;

/** The records of earlier runs and people that matter for the pushes of this run. */
export interface GuardHistory {
  /** The number of users present in the mirror. */
  readonly population: number;
  /** Users pushed to in the last 24 h without an approval. */
  readonly pushedToday: ReadonlySet<Id>;
  /** What was confirmed three times in the last 24 h, each time over the same other value: two automations undo each other. */
  readonly undone: readonly HoldOfUser[];
  /** All fields that wait in batches, the oldest first, without those of users who have left. */
  readonly waiting: readonly WaitingField[];
  /** Whether some have waited for so long that people are to be notified again. */
  readonly isOld: boolean;
}

export interface HoldOfUser {
  readonly id: Id;
  readonly hold: Hold;
}

/** The fields that a run stopped. They are written in one transaction, so that none of them is lost. */
export interface StoppedPushes {
  readonly holds: readonly HoldOfUser[];
  /** Whether people are notified of everything that waits now. */
  readonly isNews: boolean;
}

/** A person confirms what is about to be done, and says why. */
export interface Confirmation {
  /** The name that the person gave. */
  readonly actor: string | undefined;
  /** The reason. With it the edits pass the limits on a whole run once. */
  readonly why: string | undefined;
}
