/** What is done for one team when its turn has come: whatever of it is due, in one run. */
import {
  type DueGroup,
  everyEdit,
  type FreshEdits,
  type NextTime,
  type ScheduledRun,
} from '../model/due-groups.ts';
import { staleAfterMs } from '../model/freshness.ts';
import { type RunGroup, type RunOutcome, type ScheduledGroup, scheduledGroups } from '../model/run-group.ts';
import { longestGapMs } from './schedule.ts';
import type { ScheduledTeam, Timetable } from './timetable.ts';

/** A team as the loop knows it. */
export interface LoopTeam extends ScheduledTeam {
  readonly edits: {
    readonly debounceMs: number;
    readonly everyMs: number;
    /** How often the mirror is looked at for edits that nobody told of. */
    readonly pollMs: number;
  };
}

/** What there is to do for a team; `edits` is left out where no run has known it yet. */
export interface TeamWorkload {
  readonly due: readonly DueGroup[];
  readonly edits: FreshEdits | undefined;
}

/** What the loop keeps in the database, by the database's clock (`mirror/due.ts`). */
export interface LoopStore {
  registerGroups(all: readonly ScheduledRun[], now: boolean): Promise<void>;
  readDue(teams: readonly string[]): Promise<ReadonlyMap<string, readonly DueGroup[]>>;
  readNextDueMs(teams: readonly string[]): Promise<number | null>;
  readFailures(team: string): Promise<ReadonlyMap<RunGroup, number>>;
  /** What of this team is due, and its edits, as of one moment. */
  readWork(team: string): Promise<TeamWorkload>;
  setNextTime(team: string, next: readonly NextTime[]): Promise<void>;
  runSooner(team: string): Promise<void>;
  readFreshEdits(teams: readonly string[]): Promise<readonly FreshEdits[]>;
  noteEdits(team: string, mark: string | null, wasMarked?: boolean): Promise<void>;
}

/**
 * `busy`: another process has the team's lease, or has it by now. `stopped`: somebody asked to stop: what was
 * due still is. `postponed`: complete, but for edits that it left to the next run. What went wrong in a run is
 * its own to report.
 */
export type RunEnd = RunOutcome | 'busy' | 'stopped' | 'postponed';
export type Run = (team: string, groups: readonly RunGroup[]) => Promise<RunEnd>;

/** `idle`: nothing was due. `edits`: nothing was, and edits were seen to. */
export type WorkEnd = 'idle' | 'edits' | RunEnd;

const longestBackOffMs = 3_600_000;

/** How long a group that fails again and again is left alone: doubled each time, up to an hour. */
export function backOffMs(failures: number, gapMs: number): number {
  return failures < 2 ? 0 : Math.min(gapMs * 2 ** Math.min(failures - 1, 30), longestBackOffMs);
}

/** Ms until edits may be pushed again; 0: now. */
export function editsWaitMs({ triedForMs, failures }: FreshEdits, everyMs: number): number {
  // A run that set out in the future did so before the clock was set back.
  if (triedForMs === null || triedForMs < 0) return 0;
  return Math.max(0, Math.min(everyMs * 2 ** Math.min(failures, 30), longestBackOffMs) - triedForMs);
}

const isScheduled = (group: RunGroup): group is ScheduledGroup => group !== 'edits';

export interface LoopContext {
  readonly store: LoopStore;
  readonly timetable: Timetable;
  readonly run: Run;
  readonly monotonicMs: () => number;
}

/** One run of what is due for this team, if anything is, and then its next times. */
export async function workOn(
  { store, timetable, run, monotonicMs }: LoopContext,
  { name, everyMs }: { readonly name: string; readonly everyMs: number },
): Promise<WorkEnd> {
  const { due: groupsDue, edits } = await store.readWork(name);
  const due = groupsDue.flatMap(({ group, dueAt }) => (isScheduled(group) ? [{ group, dueAt }] : []));
  const hasUsers = due.some(({ group }) => group === 'users');
  const pushes = edits?.isFresh === true && editsWaitMs(edits, everyMs) === 0;
  const groups = [...due.map(({ group }) => group), ...(pushes && !hasUsers ? (['edits'] as const) : [])];
  if (groups.length === 0) return 'idle';
  const startedMs = monotonicMs();
  const mayPush = pushes || hasUsers;
  const isNews = edits !== undefined && (edits.isFresh || !edits.isMarked);
  // Only a mark can be taken away by whoever decides something during the run.
  if (isNews && mayPush && !edits.isMarked) await store.noteEdits(name, everyEdit);
  // A time that comes up while the run goes on is answered by one more run after it.
  const delays = new Map(due.map(({ group }) => [group, timetable.delayMs(name, group)]));
  const end = await run(name, groups);
  if (end === 'busy' || end === 'stopped') return end;
  // Edits of a run that did not get to its end are tried again; those of a batch wait for a person.
  const isWhole = end === 'complete' || end === 'refused';
  if (isNews && isWhole && mayPush) await store.noteEdits(name, edits.mark, true);
  // Whatever waits by now is fresh, also what was edited before.
  if (end === 'postponed') await store.noteEdits(name, null);
  if (due.length === 0) return end === 'complete' ? 'edits' : end;
  const failures = end === 'failed' ? await store.readFailures(name) : new Map<RunGroup, number>();
  const tookMs = monotonicMs() - startedMs;
  const next = due.map(({ group, dueAt }) => {
    const backOff = backOffMs(failures.get(group) ?? 0, timetable.gapMs(name, group));
    const delayMs = Math.max(delays.get(group) ?? longestBackOffMs, backOff) - tookMs;
    return { group, dueAt, delayMs: Math.max(0, delayMs) };
  });
  await store.setNextTime(name, next);
  return end;
}

/** All groups of these teams, with their next times. */
export function plannedOf(teams: readonly ScheduledTeam[], timetable: Timetable): readonly ScheduledRun[] {
  return teams.flatMap(({ name: team, schedule }) =>
    scheduledGroups.map((group) => ({
      team,
      group,
      schedule: timetable.textOf(team, group),
      delayMs: timetable.delayMs(team, group) ?? longestBackOffMs,
      staleAfterMs: staleAfterMs(longestGapMs(schedule[group], schedule.timezone)),
    })),
  );
}
