/** When the groups of a team are to be done, and what of its edits waits: what the loop asks of its store. */
import type { RunGroup } from './run-group.ts';

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
