/** The work for one team when its turn comes: everything that is due, in one run. */
import {
  type DueGroup,
  everyEdit,
  type FreshEdits,
  type NextTime,
  type ScheduledRun,
  type RunGroup,
  type RunOutcome,
  type ScheduledGroup,
  scheduledGroups,
} from '../model/run-group.ts';
import { type ErrorCode, MusterdError } from '../errors.ts';
import { staleAfterMs } from '../model/freshness.ts';
import { longestGapMs } from './schedule.ts';
import type { ScheduledTeam, Timetable } from './timetable.ts';

/** The work of a team; `edits` is absent if the team has had no run yet. */
export interface TeamWorkload {
  readonly due: readonly DueGroup[];
  readonly edits: FreshEdits | undefined;
}

/** The loop's state in the database, by the database's clock (`mirror/team/due.ts`). */
export interface LoopStore {
  registerGroups(all: readonly ScheduledRun[], now: boolean): Promise<void>;
  readDue(teams: readonly string[]): Promise<ReadonlyMap<string, readonly DueGroup[]>>;
  readNextDueMs(teams: readonly string[]): Promise<number | null>;
  readFailures(team: string): Promise<ReadonlyMap<RunGroup, number>>;
  /** The due groups and the edits of this team, in one snapshot. */
  readWork(team: string): Promise<TeamWorkload>;
  setNextTime(team: string, next: readonly NextTime[]): Promise<void>;
  readFreshEdits(teams: readonly string[]): Promise<readonly FreshEdits[]>;
  noteEdits(team: string, mark: string | null, wasMarked?: boolean): Promise<void>;
}

/**
 * `busy`: another process has the team's lease. `stopped`: the process was asked to stop, so all groups are still due.
 * `postponed`: the run is complete or refused, but leaves some edits to the next run. A run reports its own errors.
 */
export type RunEnd = RunOutcome | 'busy' | 'stopped' | 'postponed';
export type Run = (team: string, groups: readonly RunGroup[]) => Promise<RunEnd>;

/** `idle`: nothing was due. `edits`: no group was due, and edits were pushed. */
export type WorkEnd = 'idle' | 'edits' | RunEnd;

const interruptions: Readonly<Partial<Record<ErrorCode, RunEnd>>> = {
  'lease-held': 'busy',
  'lease-lost': 'busy',
  stopped: 'stopped',
};

/**
 * The end of a run whose work another process or the next turn continues; `undefined` if the run failed.
 * @param begun true if the run is on record; if it is not, the database did not answer, and nothing was done
 */
export function endOfInterrupted(error: unknown, begun: boolean): RunEnd | undefined {
  const end = error instanceof MusterdError ? interruptions[error.code] : undefined;
  return end ?? (begun ? undefined : 'busy');
}

const longestBackOffMs = 3_600_000;

/** Least time between two pushes of a team's edits, in ms. */
export const editsEveryMs = 500;

/** Ms until a group that keeps failing is due again: doubled each time, up to an hour. */
export function backOffMs(failures: number, gapMs: number): number {
  return failures < 2 ? 0 : Math.min(gapMs * 2 ** Math.min(failures - 1, 30), longestBackOffMs);
}

/** Ms until edits may be pushed again, where 0 means now. */
export function editsWaitMs({ triedForMs, failures }: FreshEdits): number {
  // A negative value means that the clock was set back since that run.
  if (triedForMs === null || triedForMs < 0) return 0;
  return Math.max(0, Math.min(editsEveryMs * 2 ** Math.min(failures, 30), longestBackOffMs) - triedForMs);
}

const isScheduled = (group: RunGroup): group is ScheduledGroup => group !== 'edits';

export interface LoopContext {
  readonly store: LoopStore;
  readonly timetable: Timetable;
  readonly run: Run;
  readonly monotonicMs: () => number;
}

function runOf({ due: groupsDue, edits }: TeamWorkload) {
  const due = groupsDue.flatMap(({ group, dueAt }) => (isScheduled(group) ? [{ group, dueAt }] : []));
  const hasUsers = due.some(({ group }) => group === 'users');
  const pushes = edits?.isFresh === true && editsWaitMs(edits) === 0;
  const groups = [...due.map(({ group }) => group), ...(pushes && !hasUsers ? (['edits'] as const) : [])];
  const hasNews = edits !== undefined && (edits.isFresh || !edits.isMarked);
  // `news` are the edits at the start of the run, if any of them can be new.
  return { due, groups, news: hasNews && (pushes || hasUsers) ? edits : undefined };
}

/** Makes one run of the due groups of this team, if any, and sets their next times. */
export async function workOn(
  { store, timetable, run, monotonicMs }: LoopContext,
  name: string,
): Promise<WorkEnd> {
  const { due, groups, news } = runOf(await store.readWork(name));
  if (groups.length === 0) return 'idle';
  const startedMs = monotonicMs();
  // A decision during the run must be able to remove the mark, so the mark is set before the run.
  if (news?.isMarked === false) await store.noteEdits(name, everyEdit);
  // Computed before the run: if the next time comes during the run, another run follows.
  const delays = new Map(due.map(({ group }) => [group, timetable.delayMs(name, group)]));
  const end = await run(name, groups);
  if (end === 'busy' || end === 'stopped') return end;
  // If the run did not finish, its edits are tried again. A refused run has finished: its edits wait for a person.
  const isWhole = end === 'complete' || end === 'refused';
  if (news !== undefined && isWhole) await store.noteEdits(name, news.mark, true);
  // Removes the mark. Then all edits that wait now count as fresh, including earlier edits.
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

/** All groups of these teams with their next times. */
export function plannedOf(teams: readonly ScheduledTeam[], timetable: Timetable): readonly ScheduledRun[] {
  return teams.flatMap(({ name: team, schedule }) =>
    scheduledGroups.map((group) => ({
      team,
      group,
      schedule: timetable.textOf(team, group),
      delayMs: timetable.delayMs(team, group) ?? longestBackOffMs,
      staleAfterMs: staleAfterMs(longestGapMs(schedule[group])),
    })),
  );
}
