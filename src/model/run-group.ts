/**
 * The parts of a run: `users` in both directions, `listings` (tags, contact fields, inboxes, surveys), contact
 * `counts`, or `edits`, the fast path for users who were just edited in the mirror.
 */
export type RunGroup = 'users' | 'listings' | 'counts' | 'edits';

/** The groups that have a schedule. A one-shot run does all three. */
export const scheduledGroups = ['users', 'listings', 'counts'] as const satisfies readonly RunGroup[];
export type ScheduledGroup = (typeof scheduledGroups)[number];

/** The number of steps into which the page's strip of runs divides a day. */
export const daySteps = 96;

/** A run is complete if all listings were read and all outcomes are known, and refused if the guard refused the plan. */
export type RunOutcome = 'complete' | 'partial' | 'failed' | 'refused';

/** The state of a group of one team, by the database's clock. */
export interface GroupStatus {
  readonly team: string;
  readonly group: RunGroup;
  /** Ms since the group became known. */
  readonly knownForMs: number;
  /** The start of the group's last run; `null` if there was no run. */
  readonly startedAt: Date | null;
  readonly outcome: string | null;
  /** The number of runs in a row that failed. */
  readonly failures: number;
  /** The end of the group's last complete run, and the ms since then; `null` if there was no complete run. */
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
  /** True if there are edits that the last run of the group `edits` did not handle. */
  readonly isFresh: boolean;
  /** The transactions that are committed by now, as a snapshot. A run that starts later sees all of them. */
  readonly mark: string;
  /** True if the last run that pushed edits has recorded a mark (see `mark`), and the mark was made on this server. */
  readonly isMarked: boolean;
  /** Ms since a run last started with edits of the team; `null` if none has. */
  readonly triedForMs: number | null;
  /** How many runs of the group `edits` in a row did not finish; 0 if newer edits exist and the last run did not fail. */
  readonly failures: number;
}

/** A mark whose transaction lies in the future, so that a run looks at every edit. A person's decision removes it. */
export const everyEdit = '1:9223372036854775807:';

/** A due group, and its due time as text, because a Date would lose the microseconds. */
export interface DueGroup {
  readonly group: RunGroup;
  readonly dueAt: string;
}

/** A group's next time. It is stored only if the group still has the due time that the run found (`DueGroup`). */
export interface NextTime extends DueGroup {
  /** Ms from now to the next time. */
  readonly delayMs: number;
}
