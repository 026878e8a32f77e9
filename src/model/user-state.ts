/** The known facts about a user before anything is decided. */
import type { Field } from './fields.ts';
import type { Id } from './id.ts';
import type { BaseUser, MirrorRow, ServiceUser } from './user.ts';
import type { Hold } from './user-plan.ts';

/** The edit of a field that lasts: the mirror has its value, and the base does not. */
export interface LastingEdit {
  readonly id: Id;
  /** The time of the edit by the database's clock, because after a restore another edit may get the same number. */
  readonly madeMs?: number;
  /** The split of the name before the edit. */
  readonly split?: MirrorRow['split'] | undefined;
}

/** The edits by field; absent if both sides agree, or the edit is not on record yet. */
export type LastingEdits = Readonly<Partial<Record<Field, LastingEdit>>>;

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
  /** Whether an older version than before is shown, with other values or of whom a field is held: it is not believed. */
  readonly stale?: boolean;
  /** Set if the mirror was edited while the triggers were off that record its history. */
  readonly isUnrecorded?: true;
}
