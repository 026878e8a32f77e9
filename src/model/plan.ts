import type { Id } from './id.ts';
import type { Field, ServiceValue, UserPatch, UserValues } from './user.ts';

/** One user of a plan that a person looks at: what would be sent, and on which values of both sides. */
export interface PlannedPush {
  readonly userId: Id;
  readonly name: string;
  /** What both sides last agreed on, for the fields that are sent. */
  readonly base: Partial<UserValues>;
  /**
   * What the service showed of them. A field that is not here had the base's value: the service left it out,
   * or the plan was stored by a version that knew no better.
   */
  readonly service?: Readonly<Partial<Record<Field, ServiceValue>>>;
  readonly patch: UserPatch;
}

/** Pushes that the guard refused, kept for a person to look at. */
export interface RefusedPlan {
  /** What "musterd approve" is given: it stands for these rows with these values. */
  readonly hash: string;
  readonly reasons: readonly string[];
  readonly pushes: readonly PlannedPush[];
  /** Fields that many users no longer have. */
  readonly lacking: readonly Field[];
}

/** What earlier runs and people have to say about the pushes of this one. */
export interface GuardHistory {
  /** Users pushed to in the last 24 h without an approval. */
  readonly pushedToday: ReadonlySet<Id>;
  /** What a person approved of a refused plan and may still be sent: it passes the limits, and no brake. */
  readonly approved: readonly PlannedPush[];
  /** What a person decided field by field: it passes the brakes as well. */
  readonly resolved: readonly PlannedPush[];
  /** The rows of the refused plan that waits for a person; `null`: none does. */
  readonly waiting: readonly PlannedPush[] | null;
  /** Whether that plan has waited for so long that people are to be told of it again. */
  readonly isOld: boolean;
  /** Rows of refused plans whose field is held for another reason meanwhile, or whose user has left. */
  readonly kept: readonly PlannedPush[];
  /** Of the users of all these rows those who have left. */
  readonly gone: ReadonlySet<Id>;
  /** Fields for which the plan that waits was refused, since many users no longer have them. */
  readonly lacking: readonly Field[];
  /** Fields of which a person agreed that many users no longer have them. */
  readonly accepted: readonly Field[];
}

/** What a run leaves for people to decide about. */
export interface PlanMemory {
  /** `null`: nothing waits. */
  readonly plan: RefusedPlan | null;
  /** Whether people are to be told of it, for the first time or again. */
  readonly isNews: boolean;
  /** Rows that are no part of it now, and wait again as soon as their field would be pushed. */
  readonly kept: readonly PlannedPush[];
  /** Fields that many users no longer have, accepted or not; `null`: too few were read to tell. */
  readonly drifting: readonly Field[] | null;
}

/** A user who is in the mirror and not gone, with the values last agreed on. */
export interface PresentUser {
  readonly id: Id;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: Id | null;
}

/** A user of whom something was edited in the mirror. */
export interface EditedUser {
  readonly id: Id;
  /** Whether a lookup answered for the user the last time. */
  readonly resolved: boolean;
}
