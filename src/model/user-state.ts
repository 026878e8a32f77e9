/** The facts about a user that a decision is based on. */
import type { Field } from './fields.ts';
import type { Id } from './id.ts';
import type { BaseUser, MirrorRow, ServiceUser } from './user.ts';
import type { Hold } from './user-plan.ts';

/** The present edit of a field: the mirror has the edited value, and the base does not have it. */
export interface LastingEdit {
  readonly id: Id;
  /** The transaction that made the edit; `null` if it is of another cluster, or not known. */
  readonly transaction: string | null;
  /** The split of the name before the edit. */
  readonly split?: MirrorRow['split'] | undefined;
}

/** The present edits by field. A field is absent if both sides agree, or its edit is not on record yet. */
export type LastingEdits = Readonly<Partial<Record<Field, LastingEdit>>>;

export interface UserState {
  readonly id: Id;
  readonly service: ServiceUser | undefined;
  readonly base: BaseUser | undefined;
  readonly mirror: MirrorRow | undefined;
  readonly held: readonly Hold[];
  readonly edits: LastingEdits;
  readonly hasOpenIntent: boolean;
  /** Ms by the database's clock since a run first read all users without finding this user. */
  readonly missingForMs: number | undefined;
  /** True if the columns that only the service sets differ, byte for byte, between mirror and service. */
  readonly observedDiffers: boolean;
  /** True if the service shows an older version of the user than before, and it would change something. It is ignored. */
  readonly stale?: boolean;
  /** Set if the user was edited in the mirror while the triggers that record its history were off. */
  readonly isUnrecorded?: true;
}
