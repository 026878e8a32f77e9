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

/** The edit that set the present value of a field. */
export interface EditedField {
  readonly userId: Id;
  readonly field: Field;
  readonly editedAt: Date | null;
  /** The person for whom the edit was made, if one was named; otherwise the database role that made it. */
  readonly editedBy: string | null;
}

/** A held edit, and its batch. If the edit is only planned, this is the batch that a run would give the edit. */
export interface HeldEdit extends EditedField {
  readonly batch: string;
}

/** Edits made by one person, held by one run, that still wait for a decision. */
export interface HeldBatch {
  /** A hash of these edits and of the values that were seen on both sides. */
  readonly hash: string;
  /** True if a limit or a review holds some of the batch's edits, so that "musterd approve" decides about these edits. */
  readonly isApproved: boolean;
  /** True if a limit on a whole run or a review holds some of the batch's edits. */
  readonly isStopped: boolean;
  readonly reasons: readonly string[];
  readonly users: number;
  readonly since: Date;
}

/** Words for the content of a batch, for use in a sentence. */
export const batchInWords = (users: number): string => `pushes to ${plural(users, 'user')}`;

/** The records of earlier runs and decisions that the guard needs to check the pushes of this run. */
export interface GuardHistory {
  /** The number of users present in the mirror. */
  readonly population: number;
  /** Users pushed to in the last 24 h without an approval. */
  readonly pushedToday: ReadonlySet<Id>;
  /** Fields that were pushed and pulled back three times in the last 24 h, perhaps by two competing automations. */
  readonly undone: readonly HoldOfUser[];
  /** All fields that wait in batches, the oldest first, without fields of users who have left. */
  readonly waiting: readonly WaitingField[];
  /** True if some of the waiting fields have waited for so long that people must be notified again. */
  readonly isOld: boolean;
}

export interface HoldOfUser {
  readonly id: Id;
  readonly hold: Hold;
}

/** The fields that a run stopped. All of them are written in one transaction, so that no field is lost. */
export interface StoppedPushes {
  readonly holds: readonly HoldOfUser[];
  /** True if people are notified now of all fields that wait. */
  readonly isNews: boolean;
}

/** A person's confirmation of an action, with the reason. */
export interface Confirmation {
  /** The name that the person gave. */
  readonly actor: string | undefined;
  /** The reason. If a reason is given, the edits pass the limits on a whole run once. */
  readonly why: string | undefined;
}
