/** Pushes that are written down before they are sent, and what became of them. */
import type { Field, UserValues } from './fields.ts';
import type { Id } from './id.ts';
import type { NamePair } from './name.ts';
import type { BaseUser, ServiceUser, UserPatch } from './user.ts';
import type { Hold } from './user-plan.ts';

/** What became of one field of a push. */
export const pushOutcomes = [
  /** The service shows what was sent. */
  'confirmed',
  /** The service still shows the old value. */
  'ineffective',
  /** The service shows a third value. */
  'changed',
  /** The answer does not have the user or the field. */
  'missing',
  /** The service said that it does not take the value. */
  'refused',
  /** It never left, or was turned away before it could have an effect. */
  'unsent',
  /** It was sent, nobody answered, and after the quiet period it shows no effect. */
  'unanswered',
  /** Nobody knows. */
  'unknown',
] as const;
export type PushOutcome = (typeof pushOutcomes)[number];
export type FieldOutcomes = Readonly<Partial<Record<Field, PushOutcome>>>;

/** What an update without a name does to the name on this deployment, as far as it was seen. */
export type NameSafety = 'unknown' | 'keeps' | 'clears';

export const namesInWords: Readonly<Record<NameSafety, string>> = {
  unknown: 'it is not known whether an update without the name keeps it: the first one goes alone',
  keeps: 'an update without the name keeps it',
  clears: 'an update without the name clears it: the name goes along with every update',
};

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
  /** The service's versions of the user as they were known before it was sent, in ms; absent: they tell nothing. */
  readonly versions?:
    | { readonly updatedMs: number | null; readonly userUpdatedMs: number | null }
    | undefined;
  /** The fields that it was opened for under a person's decision, which is spent by that. */
  readonly decided: readonly Field[];
  /** Whether it may have left: that is noted right before, by whoever holds the lease then. */
  readonly hasLeft: boolean;
  /** Ms since it last left, or was written down if it never did, by the database's clock. */
  readonly ageMs: number;
}

/** What was written down to be sent. */
export interface OpenedIntents {
  readonly intents: readonly Intent[];
  /** Users whom somebody is editing or deciding about in a transaction that is still open: they are left out. */
  readonly busy: readonly Id[];
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
  /** Whether `seen` is of the answer to the update itself, with nobody's change in between. */
  readonly isDirect: boolean;
  readonly requestId: string | null;
}

/** Earlier tries to no effect, by field. */
export type PushTries = Readonly<Partial<Record<Field, number>>>;
