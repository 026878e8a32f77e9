/** The settings of a run. */
import type { Segment } from '../model/contact-count.ts';
import type { Writes } from '../model/kept-settings.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import type { AbsenceSettings, Scope } from './missing-rows.ts';
import type { PushSettings } from './push/record.ts';

/** The settings for what may be written besides users, and the limits beyond which it waits for a person. */
export interface WriteSettings extends Writes {
  /** Tags that may be made within a day. */
  readonly maxNewTags: number;
  /** Messages that may be due on one day. */
  readonly maxMessages: number;
  /** Recipients of the messages that are due on one day. */
  readonly maxRecipients: number;
}

export interface ReconcileSettings {
  /** The version of this program: records of another version do not count. */
  readonly program: string;
  readonly push: Omit<PushSettings, 'policy'>;
  readonly pageSize: number | undefined;
  readonly absence: AbsenceSettings;
  readonly scope: Scope;
  readonly guard: GuardSettings;
  readonly write: WriteSettings;
  readonly policy: Policy;
  readonly segments: readonly Segment[];
}
