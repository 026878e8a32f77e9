/** What is done for one team when its turn has come: whatever of it is due, in one run. */
import { type RunGroup, type ScheduledGroup, scheduledGroups } from '../model/run-group.ts';
import type { Timetable } from './timetable.ts';

/** A group of a team with its schedule, as the store keeps it. */
export interface Planned {
  readonly team: string;
  readonly group: RunGroup;
  readonly schedule: string;
  readonly delayMs: number;
}

/** A team's edits that no run has set out with yet. */
export interface FreshEdits {
  readonly team: string;
  /** Stands for all that waits to be sent. */
  readonly mark: string;
  /** Ms since a run last set out with edits of the team; `null`: none has. */
  readonly triedForMs: number | null;
  /** Such runs in a row that failed. */
  readonly failures: number;
}

/** What the loop keeps in the database, by the database's clock (`mirror/due.ts`). */
export interface LoopStore {
  makeKnown(all: readonly Planned[], now: boolean): Promise<void>;
  readDue(teams: readonly string[]): Promise<ReadonlyMap<string, readonly RunGroup[]>>;
  readNextDueMs(teams: readonly string[]): Promise<number | null>;
  readFailures(team: string): Promise<ReadonlyMap<RunGroup, number>>;
  postpone(team: string, delays: ReadonlyMap<RunGroup, number>): Promise<void>;
  hasten(team: string): Promise<void>;
  readFreshEdits(teams: readonly string[]): Promise<readonly FreshEdits[]>;
  noteEdits(team: string, mark: string): Promise<void>;
}

/** `busy`: another process has the team's lease. What went wrong in a run is its own to report. */
export type RunEnd = 'done' | 'busy';
export type Run = (team: string, groups: readonly RunGroup[]) => Promise<RunEnd>;

const longestBackOffMs = 3_600_000;

/** How long a group that fails again and again is left alone: doubled each time, up to an hour. */
export function backOffMs(failures: number, gapMs: number): number {
  return failures < 2 ? 0 : Math.min(gapMs * 2 ** Math.min(failures - 1, 30), longestBackOffMs);
}

/** Ms until edits may be pushed again; 0: now. */
export function editsWaitMs({ triedForMs, failures }: FreshEdits, everyMs: number): number {
  if (triedForMs === null) return 0;
  return Math.max(0, Math.min(everyMs * 2 ** Math.min(failures, 30), longestBackOffMs) - triedForMs);
}

const isScheduled = (group: RunGroup): group is ScheduledGroup => group !== 'edits';

export interface WorkPlaces {
  readonly store: LoopStore;
  readonly timetable: Timetable;
  readonly run: Run;
  readonly monotonicMs: () => number;
}

/** One run of what is due for this team, if anything is, and then its next times. */
export async function workOn(
  { store, timetable, run, monotonicMs }: WorkPlaces,
  { name, everyMs }: { readonly name: string; readonly everyMs: number },
): Promise<RunEnd> {
  const due = ((await store.readDue([name])).get(name) ?? []).filter(isScheduled);
  const [edits] = await store.readFreshEdits([name]);
  const pushes = edits !== undefined && editsWaitMs(edits, everyMs) === 0;
  const groups = [...due, ...(pushes && !due.includes('users') ? (['edits'] as const) : [])];
  if (groups.length === 0) return 'done';
  const startedMs = monotonicMs();
  // A time that comes up while the run goes on is answered by one more run after it.
  const delays = due.map((group) => [group, timetable.delayMs(name, group)] as const);
  const end = await run(name, groups);
  if (end === 'busy') return end;
  if (edits !== undefined && (pushes || due.includes('users'))) await store.noteEdits(name, edits.mark);
  const failures = await store.readFailures(name);
  const tookMs = monotonicMs() - startedMs;
  const next = delays.map(([group, delayMs]): [RunGroup, number] => {
    const backOff = backOffMs(failures.get(group) ?? 0, timetable.gapMs(name, group));
    return [group, Math.max(0, Math.max(delayMs ?? longestBackOffMs, backOff) - tookMs)];
  });
  await store.postpone(name, new Map(next));
  return end;
}

/** All groups of these teams, with their next times. */
export function plannedOf(teams: readonly string[], timetable: Timetable): readonly Planned[] {
  return teams.flatMap((team) =>
    scheduledGroups.map((group) => ({
      team,
      group,
      schedule: timetable.textOf(team, group),
      delayMs: timetable.delayMs(team, group) ?? longestBackOffMs,
    })),
  );
}
