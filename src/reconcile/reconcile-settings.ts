/** The settings of a run. */
import type { Segment } from '../model/contact-count.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import type { AbsenceSettings } from './missing-rows.ts';
import type { PushSettings } from './push/record.ts';

export interface ReconcileSettings {
  /** The version of this program. Answers that another version stored are ignored. */
  readonly program: string;
  readonly push: Omit<PushSettings, 'policy'>;
  readonly pageSize: number | undefined;
  readonly absence: AbsenceSettings;
  readonly guard: GuardSettings;
  readonly policy: Policy;
  readonly segments: readonly Segment[];
}
