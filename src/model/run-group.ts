/**
 * The parts of a run: `users` in both directions, `listings` (tags, contact fields, inboxes, surveys), contact
 * `counts`, or `edits`, the fast path for users who were just edited in the mirror.
 */
export type RunGroup = 'users' | 'listings' | 'counts' | 'edits';

/** The groups that have a schedule; one-shot runs do all three. */
export const scheduledGroups = ['users', 'listings', 'counts'] as const satisfies readonly RunGroup[];
export type ScheduledGroup = (typeof scheduledGroups)[number];

/** The number of steps of a day in a strip of runs. */
export const daySteps = 96;

/** It is complete if all listings were read and all outcomes are known, and refused if the guard refused the plan. */
export type RunOutcome = 'complete' | 'partial' | 'failed' | 'refused';

/** The state of a group of one team, by the database's clock. */
export interface GroupStatus {
  readonly team: string;
  readonly group: RunGroup;
  /** The time since the group became known, in ms. */
  readonly knownForMs: number;
  /** The beginning of its last run; `null` if there was none. */
  readonly startedAt: Date | null;
  readonly outcome: string | null;
  /** The number of runs in a row that failed. */
  readonly failures: number;
  /** The end of its last complete run, and the time since in ms; `null` if there was none. */
  readonly completeAt: Date | null;
  readonly completeForMs: number | null;
}

/** A group of a team with its schedule. */
export interface ScheduledRun {
  readonly team: string;
  readonly group: RunGroup;
  /** The schedule as text. When it changes, the next time is computed again. */
  readonly schedule: string;
  /** Ms from now to the next time of the schedule. */
  readonly delayMs: number;
  /** The age in ms after which the group is stale. */
  readonly staleAfterMs: number;
}

/** A team's edits, and the state of pushing them. */
export interface FreshEdits {
  readonly team: string;
  /** Whether there are some that no run has begun with yet. */
  readonly isFresh: boolean;
  /** What is committed by now. A run that begins later sees at least this. */
  readonly mark: string;
  /** Whether the last run that began with edits kept its mark, and the mark belongs to this server. */
  readonly isMarked: boolean;
  /** The time in ms since a run last began with edits of the team; `null` if none has. */
  readonly triedForMs: number | null;
  /** The number of such runs in a row that did not finish; 0 if somebody has edited since one that had answers. */
  readonly failures: number;
}

/** A mark whose transaction lies in the future, so that a run looks at every edit. A person's decision removes it. */
export const everyEdit = '1:9223372036854775807:';

/** A due group, and its due time as text, because a Date would lose the microseconds. */
export interface DueGroup {
  readonly group: RunGroup;
  readonly dueAt: string;
}

/** The next time of a group, and the due time that the run found. It is set only if nobody has set another one meanwhile. */
export interface NextTime extends DueGroup {
  /** In ms from now. */
  readonly delayMs: number;
}
