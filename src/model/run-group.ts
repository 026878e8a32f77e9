/**
 * What a run does: `users` both ways, `listings` (tags and contact fields), contact `counts`, or `edits`, the
 * short way of the users that were just edited in the mirror.
 */
export type RunGroup = 'users' | 'listings' | 'counts' | 'edits';

/** The groups that have a schedule; one-shot runs do all three. */
export const scheduledGroups = ['users', 'listings', 'counts'] as const satisfies readonly RunGroup[];
export type ScheduledGroup = (typeof scheduledGroups)[number];

/** complete: every listing was read to its end and every outcome is known. refused: the guard refused the plan. */
export type RunOutcome = 'complete' | 'partial' | 'failed' | 'refused';

/** How a group of one team stands, by the database's clock. */
export interface GroupStatus {
  readonly team: string;
  readonly group: RunGroup;
  /** Ms since the group was first to be done. */
  readonly knownForMs: number;
  /** When the last run of it began; `null`: there was none. */
  readonly startedAt: Date | null;
  readonly outcome: string | null;
  /** Runs in a row that failed. */
  readonly failures: number;
  /** When the last complete run of it ended, and how many ms ago; `null`: there was none. */
  readonly completeAt: Date | null;
  readonly completeForMs: number | null;
}
