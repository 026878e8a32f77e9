import type { Id } from './id.ts';
import type { NamePair } from './name.ts';
import type {
  BaseUser,
  Field,
  MirrorUser,
  ServiceUser,
  ServiceValue,
  UserPatch,
  UserValues,
} from './user.ts';

/** Any one value of a user. */
export type FieldValue = NamePair | string | Id | null;

/** What is to happen to one field of one user. */
export type MoveKind = 'pull' | 'settle' | 'push';

/** Why a field waits for a person. */
export type HoldReason =
  | 'conflict'
  | 'refused'
  | 'ineffective'
  | 'unsupported'
  | 'gone'
  | 'brake'
  /** A person asked for it. */
  | 'asked'
  /** A person decided that it is not sent. */
  | 'rejected';

export interface Move {
  readonly kind: MoveKind;
  readonly field: Field;
  /** `undefined`: nothing was agreed on before. */
  readonly base: FieldValue | undefined;
  readonly mirror: FieldValue | undefined;
  readonly service: ServiceValue;
}

/** A field that is left alone on both sides until one of its two values changes; see also `holdStands`. */
export interface Hold {
  readonly field: Field;
  readonly reason: HoldReason;
  readonly base: FieldValue | undefined;
  readonly mirror: FieldValue | undefined;
  readonly service: ServiceValue;
  /** What happened, in words. */
  readonly detail: string;
  /** The service's value as a run last saw it, where it was held before. */
  readonly shown?: ServiceValue;
  /** A hold that a person asked for stands until then, whatever the values do: ms from now, by the database's clock. */
  readonly endsInMs?: number | undefined;
}

/**
 * What is to become of one user as a whole. The table stands in `reconcile/merge/user-case.ts`.
 * `missing`: in no listing, not yet proven gone.
 */
export type UserCase =
  | 'adopt'
  | 'return'
  | 'merge'
  | 'unresolved'
  | 'missing'
  | 'forget'
  | 'stranger'
  | 'waiting';

/** The columns of a mirror row that only ever follow the service. */
export interface ObservedUser {
  readonly name: string;
  readonly role: string | null;
  readonly resolved: boolean;
  /** `null`: nothing new is known, the row keeps what it has. */
  readonly details: UserDetails | null;
}

export interface UserDetails {
  /** ISO 8601 UTC, as the service wrote it. */
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly userCreatedAt: string | null;
  readonly userUpdatedAt: string | null;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** What one run makes of one user; nothing in it has been done yet. */
export interface UserPlan {
  readonly id: Id;
  readonly presence: UserCase;
  readonly moves: readonly Move[];
  readonly holds: readonly Hold[];
  /** Fields whose hold has ended. */
  readonly releases: readonly Field[];
  /** Fields that stay held as they were. */
  readonly held: readonly Field[];
  /** Of them those of which the service shows another value than a run last saw. */
  readonly shown?: readonly { readonly field: Field; readonly service: ServiceValue }[];
  /** What is to be sent. */
  readonly patch: UserPatch;
  /** The name of the role, where it follows the team listing: all that is known of the role of such a member. */
  readonly role?: { readonly old: string | null; readonly new: string | null };
  /** What is to be written to the mirror and the base, or `null` if they stay as they are. */
  readonly write: UserWrite | null;
}

/** Mirror and base of one user as they are to be, both or neither. */
export interface UserWrite {
  readonly id: Id;
  /** What the mirror held when it was read; the write does not happen if it holds anything else by then. */
  readonly expected: MirrorUser | null;
  readonly mirror: MirrorUser;
  readonly observed: ObservedUser;
  readonly base: BaseUser;
}

/** What became of one field of a push. */
export type PushOutcome =
  /** The service shows what was sent. */
  | 'confirmed'
  /** The service still shows the old value. */
  | 'ineffective'
  /** The service shows a third value. */
  | 'changed'
  /** The answer does not have the user or the field. */
  | 'missing'
  /** The service said that it does not take the value. */
  | 'refused'
  /** It never left, or was turned away before it could have an effect. */
  | 'unsent'
  /** It was sent, nobody answered, and after the quiet period it shows no effect. */
  | 'unanswered'
  /** Nobody knows. */
  | 'unknown';

export type FieldOutcomes = Readonly<Partial<Record<Field, PushOutcome>>>;

/**
 * What an update without a name does to the name on this deployment, as far as it was seen. `suspect`: one user lost
 * some of it, which may have been somebody's edit in the same moment. A second user, or `check --write-probe`, decides.
 */
export type NameSafety = 'kept' | 'touched' | 'unknown' | { readonly suspect: Id };

/** A push that is written down before it is sent, and open until its outcome is known. */
export interface Intent {
  readonly changeId: Id;
  readonly userId: Id;
  readonly sent: UserPatch;
  /** The user's last agreed values, and the service's own name then. */
  readonly base: BaseUser;
  /** What the service showed right before the push. */
  readonly before: UserValues;
  /** The service's own name, unedited, that goes along since an update without it would clear it. */
  readonly along?: NamePair;
  /** Whether it may have left: that is noted right before, by whoever holds the lease then. */
  readonly hasLeft: boolean;
  /** Ms since it last left, or was written down if it never did, by the database's clock. */
  readonly ageMs: number;
}

/** What the verdict on one open intent changes. */
export interface IntentResult {
  readonly intent: Intent;
  readonly outcomes: FieldOutcomes;
  /** The user as the service showed it, or `null` if it did not. */
  readonly seen: ServiceUser | null;
  /** The service's own values, to be taken for the confirmed fields; `joined` is its name. */
  readonly taken: UserValues;
  readonly joined: string;
  readonly holds: readonly Hold[];
  /** The update took of a name that it did not hold: base takes what it left, which `taken` and `joined` have. */
  readonly harmed: boolean;
  /** `false`: something is still unknown, and the intent stays open. */
  readonly closed: boolean;
  readonly requestId: string | null;
}

/** Earlier tries to no effect, by field. */
export type PushTries = Readonly<Partial<Record<Field, number>>>;

/** What the versions tell by which the service counts the changes of a user. The table stands in `overtaken.ts`. */
export interface Versions {
  /** The service shows a newer one than is on record. */
  readonly isNewer: boolean;
  /** The mirror was edited after that. */
  readonly isEditedSince: boolean;
  /** On this deployment a newer one says that a value was changed. */
  readonly isTelling: boolean;
}

/** All that is known of one user. */
export interface UserState {
  readonly id: Id;
  readonly service: ServiceUser | undefined;
  readonly base: BaseUser | undefined;
  readonly mirror: MirrorRow | undefined;
  readonly held: readonly Hold[];
  readonly hasOpenIntent: boolean;
  /** Ms since the first complete pass that missed the user, by the database's clock. */
  readonly missingForMs: number | undefined;
  /** Whether the observed columns in the mirror differ from what the service says, byte for byte. */
  readonly observedDiffers: boolean;
  /** The service shows other values than before with an older version: what it says is not believed. */
  readonly stale?: boolean;
  /** Left out where the service has not been asked. */
  readonly versions?: Versions;
}

export interface MirrorRow extends MirrorUser {
  readonly joined: string;
  readonly role: string | null;
  readonly resolved: boolean;
  readonly gone: boolean;
}
