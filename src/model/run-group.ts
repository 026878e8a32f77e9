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

/** A group of a team with its schedule. */
export interface ScheduledRun {
  readonly team: string;
  readonly group: RunGroup;
  /** The schedule as text: when it changes, the next time is found again. */
  readonly schedule: string;
  /** Ms from now to the next time of the schedule. */
  readonly delayMs: number;
  /** What of it is older than this is stale. */
  readonly staleAfterMs: number;
}

/** A team's edits, and how pushing them stands. */
export interface FreshEdits {
  readonly team: string;
  /** Whether there are some that no run has set out with yet. */
  readonly isFresh: boolean;
  /** What is committed by now: a run that begins later sees at least this. */
  readonly mark: string;
  /** Whether the last run that set out kept its mark, and it is one of this server. */
  readonly isMarked: boolean;
  /** Ms since a run last set out with edits of the team; `null`: none has. */
  readonly triedForMs: number | null;
  /** Such runs in a row that failed. */
  readonly failures: number;
}

/** A mark that has seen no edit: a time that is yet to come, as of another server. A person's decision takes it away. */
export const everyEdit = '1:9223372036854775807:';

/** A group that is due, and the due time that says so, as text: a Date would cut its microseconds. */
export interface DueGroup {
  readonly group: RunGroup;
  readonly dueAt: string;
}

/** The next time of a group, and the due time that the run took up: set only if nobody has set another one meanwhile. */
export interface NextTime extends DueGroup {
  /** Ms from now. */
  readonly delayMs: number;
}
