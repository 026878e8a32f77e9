/** Pushes that are recorded before they are sent, and their outcomes. */
import type { Field, UserValues } from './fields.ts';
import type { Id } from './id.ts';
import type { NamePair } from './name.ts';
import type { BaseUser, ServiceUser, UserPatch } from './user.ts';
import type { Hold } from './user-plan.ts';

export const pushOutcomes = [
  /** The service shows what was sent. */
  'confirmed',
  /** The service still shows the old value. */
  'ineffective',
  /** The service shows a third value. */
  'changed',
  /** The answer lacks the user or the field. */
  'missing',
  /** The service refused the value. */
  'refused',
  /** It never left, or was turned away before it could have an effect. */
  'unsent',
  /** It was sent without an answer, and after the quiet period the service shows no effect. */
  'unanswered',
  /** Nobody knows yet. */
  'unknown',
] as const;
export type PushOutcome = (typeof pushOutcomes)[number];
export type FieldOutcomes = Readonly<Partial<Record<Field, PushOutcome>>>;

/** The effect of an update without a name on the name on this deployment, as far as it is known. */
export type NameSafety = 'unknown' | 'keeps' | 'clears';

export const namesInWords: Readonly<Record<NameSafety, string>> = {
  unknown: 'it is not known whether an update without the name keeps it: the first one goes alone',
  keeps: 'an update without the name keeps it',
  clears: 'an update without the name clears it: the name goes along with every update',
};

/** A push that is recorded before it is sent, and open until its outcome is known. */
export interface Intent {
  readonly changeId: Id;
  readonly userId: Id;
  readonly sent: UserPatch;
  /** The last agreed values of the user, with the service's own name at that time. */
  readonly base: BaseUser;
  /** The values that the service showed right before the push. */
  readonly before: UserValues;
  /** The service's own name, unedited, which goes along because an update without it would clear it. */
  readonly along?: NamePair;
  /** The fields that it was opened for under a person's decision, which is spent by that. */
  readonly decided: readonly Field[];
  /** What the service answered while an editor had the user's row locked: mirror, base and holds do not have it yet. */
  readonly known?: FieldOutcomes;
  /** Whether it may have left, which the holder of the lease records right before. */
  readonly hasLeft: boolean;
  /** The time since it last left, or since it was recorded if it never did, in ms by the database's clock. */
  readonly ageMs: number;
}

/** The pushes that were recorded. */
export interface OpenedIntents {
  readonly intents: readonly Intent[];
  /** Users who are left out because somebody is editing them, or deciding about them, in a transaction that is still open. */
  readonly busy: readonly Id[];
}

/** The consequences of the verdict on one open intent. */
export interface IntentResult {
  readonly intent: Intent;
  readonly outcomes: FieldOutcomes;
  /** The user as the service showed it, or `null` if it did not. */
  readonly seen: ServiceUser | null;
  /** The service's own values, to be taken for the confirmed fields. `joined` is its name. */
  readonly taken: UserValues;
  readonly joined: string;
  readonly holds: readonly Hold[];
  /** Whether the update harmed a name that it did not contain. Base then takes the rest, as in `taken` and `joined`. */
  readonly harmed: boolean;
  /** `false` if something is still unknown, so that the intent stays open. */
  readonly closed: boolean;
  /** Whether `seen` comes from the answer to the update itself, so that nobody's change is in between. */
  readonly isDirect: boolean;
  /** `false` if nothing of it reached the service, or it was turned away before anybody looked at it. */
  readonly hasLeft: boolean;
  readonly requestId: string | null;
}

/** The number of earlier tries without effect, by field. */
export type PushTries = Readonly<Partial<Record<Field, number>>>;

/** What is pushed, and before which change of the ledger. */
export type EarlierThan = Pick<Intent, 'userId' | 'sent' | 'changeId'>;

/** What came of the pushes before. */
export interface EarlierPushes {
  /** Users whose last push got no answer. */
  readonly unanswered: ReadonlySet<Id>;
  /** How often these values were pushed in a row without effect. */
  readonly tries: ReadonlyMap<Id, PushTries>;
}
