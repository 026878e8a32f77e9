/** What a run is told by the configuration. */
import type { Segment } from '../model/contact-count.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import type { AbsenceSettings, Scope } from './missing-rows.ts';

export interface ReconcileSettings {
  /** The version of this program: records of another version do not count. */
  readonly program: string;
  readonly push: {
    readonly batchSize: number;
    readonly quietPeriodMs: number;
    readonly maxTries: number;
    /** Ms after its preparation within which an update must leave. */
    readonly sendDeadlineMs: number;
    /** Number of updates that may be in flight in parallel. */
    readonly updatesAtOnce: number;
  };
  readonly pageSize: number | undefined;
  readonly absence: AbsenceSettings;
  readonly scope: Scope;
  readonly guard: GuardSettings;
  readonly policy: Policy;
  readonly segments: readonly Segment[];
}
