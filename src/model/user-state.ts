/** What is known of a user before anything is decided. */
import type { Field } from './fields.ts';
import type { Id } from './id.ts';
import type { BaseUser, MirrorRow, ServiceUser } from './user.ts';
import type { Hold } from './user-plan.ts';

/** What the versions tell by which the service counts the changes of a user. The table stands in `overtaken.ts`. */
export interface Versions {
  /** The service shows a newer one than is on record. */
  readonly isNewer: boolean;
  /** The later of the two that the service shows: ms, by its clock. */
  readonly changedMs?: number | undefined;
  /** On this deployment a newer one says that a value was changed. */
  readonly isTelling: boolean;
}

/** The edit of a field that lasts: what the mirror has there, and the base has not. */
export interface LastingEdit {
  readonly id: Id;
  /** It was made after the version that the service shows, by more than the clocks may differ. */
  readonly isSince: boolean;
  /** When it was made, by the database's clock: after an older copy was put back, another edit may get its number. */
  readonly madeMs?: number;
  /** What was known of the halves of a name before the edit. */
  readonly split?: MirrorRow['split'] | undefined;
}

/** By field; absent: both sides agree, or the edit is not on record yet. */
export type LastingEdits = Readonly<Partial<Record<Field, LastingEdit>>>;

/** All that is known of one user. */
export interface UserState {
  readonly id: Id;
  readonly service: ServiceUser | undefined;
  readonly base: BaseUser | undefined;
  readonly mirror: MirrorRow | undefined;
  readonly held: readonly Hold[];
  readonly edits: LastingEdits;
  readonly hasOpenIntent: boolean;
  /** Ms since the first complete pass that missed the user, by the database's clock. */
  readonly missingForMs: number | undefined;
  /** Whether the observed columns in the mirror differ from what the service says, byte for byte. */
  readonly observedDiffers: boolean;
  /** The service shows other values than before with an older version: what it says is not believed. */
  readonly stale?: boolean;
  /** The mirror was edited past the triggers that keep what the roster was. */
  readonly isUnrecorded?: true;
  /** Left out where the service has not been asked. */
  readonly versions?: Versions;
}
