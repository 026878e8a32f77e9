/** Pushes that are recorded before they are sent, and their outcomes. */
import type { Field, UserValues } from './fields.ts';
import type { Id } from './id.ts';
import type { NamePair } from './name.ts';
import type { BaseUser, ServiceUser, UserPatch } from './user.ts';
import type { Hold } from './user-plan.ts';

export const pushOutcomes = [
  /** The service shows the sent value. */
  'confirmed',
  /** The service still shows the old value. */
  'ineffective',
  /** The service shows neither the value from before the push nor the pushed value. */
  'changed',
  /** The answer does not contain the user or the field. */
  'missing',
  /** The service refused the value. */
  'refused',
  /** The push was never sent, or the service turned it away before it could have an effect. */
  'unsent',
  /** The push got no answer, and after the quiet period the service shows no effect. */
  'unanswered',
  /** The outcome is not known yet. */
  'unknown',
] as const;
export type PushOutcome = (typeof pushOutcomes)[number];
export type FieldOutcomes = Readonly<Partial<Record<Field, PushOutcome>>>;

/** The observed effect on a user's name of an update that leaves the name out. */
export type NameSafety = 'unknown' | 'keeps' | 'clears';

export const namesInWords: Readonly<Record<NameSafety, string>> = {
  unknown: 'it is not known if an update without the name keeps it: the first update goes alone',
  keeps: 'an update without the name keeps it',
  clears: 'an update without the name clears it: the name is sent with every update',
};

/** A push that is recorded before it is sent, and open until its outcome is known. */
export interface Intent {
  readonly changeId: Id;
  readonly userId: Id;
  readonly sent: UserPatch;
  /** The last agreed values of the user, with the service's joined name at that time. */
  readonly base: BaseUser;
  /** The values that the service showed right before the push. */
  readonly before: UserValues;
  /** The user's unedited name, which is sent too, because an update without the name would clear it. */
  readonly along?: NamePair;
  /** Fields that a person's decision allowed to send. A decision counts for one push, so this intent used it up. */
  readonly decided: readonly Field[];
  /** Outcomes that are not applied to mirror, base and holds yet, because an editor had the user's row locked. */
  readonly known?: FieldOutcomes;
  /** True if the push may have been sent. The process with the lease records this right before it sends the push. */
  readonly hasLeft: boolean;
  /** Ms by the database's clock since the push was last sent; if it never was, since it was recorded. */
  readonly ageMs: number;
}

/** The result of recording pushes before they are sent. */
export interface OpenedIntents {
  readonly intents: readonly Intent[];
  /** Users who are left out because an open transaction of an editor or approver is changing them. */
  readonly busy: readonly Id[];
}

/** The outcome of one open intent, and the values and holds that follow from it. */
export interface IntentResult {
  readonly intent: Intent;
  readonly outcomes: FieldOutcomes;
  /** The user as the service showed it after the push; `null` if the service did not show the user. */
  readonly seen: ServiceUser | null;
  /** The service's values, which mirror and base get for confirmed fields. `joined` is the service's name. */
  readonly taken: UserValues;
  readonly joined: string;
  readonly holds: readonly Hold[];
  /** True if the update changed a name that it did not contain. Base then gets the changed name (in `taken`). */
  readonly harmed: boolean;
  /** `false` if an outcome is still unknown, so that the intent stays open. */
  readonly closed: boolean;
  /** True if `seen` comes from the answer to the update itself, so nothing can have changed since the update. */
  readonly isDirect: boolean;
  /** `false` if the push did not reach the service, or the service turned it away without looking at it. */
  readonly hasLeft: boolean;
  readonly requestId: string | null;
}

/** The number of earlier pushes without effect, by field. */
export type PushTries = Readonly<Partial<Record<Field, number>>>;

/** A push, and the id of its ledger entry. Only pushes with an older entry count as earlier. */
export type EarlierThan = Pick<Intent, 'userId' | 'sent' | 'changeId'>;

/** The outcomes of earlier pushes. */
export interface EarlierPushes {
  /** Users whose last push got no answer. */
  readonly unanswered: ReadonlySet<Id>;
  /** The number of times that the same values were pushed in a row without effect, by user and field. */
  readonly tries: ReadonlyMap<Id, PushTries>;
}
