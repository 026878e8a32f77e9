/** What waits for a person in batches, and what a person decided about it. */
import type { Field } from './fields.ts';
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';
import type { Hold } from './user-plan.ts';

/** A field that waits in its batch. */
export interface WaitingField {
  readonly userId: Id;
  readonly name: string;
  readonly hold: Hold;
}

/** The edit that made the value which a field has now. */
export interface EditedField {
  readonly userId: Id;
  readonly field: Field;
  /** The transaction of the database that made it; `null`: it cannot be told. */
  readonly transaction: string | null;
  readonly editedAt: Date | null;
  /** For whom it was done, where that was said; else the role that was connected. */
  readonly editedBy: string | null;
}

/** Fields that were stopped together and still wait. */
export interface HeldBatch {
  /** What "musterd approve" is given: it stands for these rows with these values. */
  readonly hash: string;
  readonly reasons: readonly string[];
  /** How many users wait in it. */
  readonly users: number;
  /** Fields that many users no longer have. */
  readonly lacking: readonly Field[];
  readonly since: Date;
}

/** What earlier runs and people have to say about the pushes of this one. */
export interface GuardHistory {
  /** Users pushed to in the last 24 h without an approval. */
  readonly pushedToday: ReadonlySet<Id>;
  /** All that waits in batches, the oldest first; not of users who have left. */
  readonly waiting: readonly WaitingField[];
  /** Whether some of it has waited for so long that people are to be told of it again. */
  readonly isOld: boolean;
  /** Fields that many users no longer have, which waits too. */
  readonly lacking: readonly Pick<Hold, 'field' | 'batch'>[];
  /** Fields of which a person agreed that many users no longer have them. */
  readonly accepted: readonly Field[];
}

/** What a run holds of a user, and what it saw of the service then. */
export interface HeldUnder {
  readonly id: Id;
  readonly hold: Hold;
  readonly seen?: Pick<ServiceUser, 'updatedAt' | 'userUpdatedAt'> | undefined;
}

/** What a run stopped: written in one transaction, so that no part of it is forgotten. */
export interface Stopped {
  readonly holds: readonly HeldUnder[];
  /** Fields that many users no longer have, and of which nobody was told yet. */
  readonly lacking: readonly Hold[];
  /** Fields that the users have again: what waited for that, or was agreed to, is over. */
  readonly ended: readonly Field[];
  /** Whether people are told of all that waits now. */
  readonly isNews: boolean;
}

/** A person confirms what is about to be done, and says why. */
export interface Confirmation {
  /** In whose name. */
  readonly actor: string | undefined;
  /** The reason. With it the edits pass the limits on a whole run once. */
  readonly why: string | undefined;
}
