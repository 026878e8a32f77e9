/** The next times of the groups of all teams. Teams with the same cron expression share one task. */
import { createHash } from 'node:crypto';
import { type ScheduledGroup, scheduledGroups } from '../model/run-group.ts';
import { createSchedule, type Schedule } from './schedule.ts';

export interface ScheduledTeam {
  readonly name: string;
  readonly schedule: Readonly<Record<ScheduledGroup, string>>;
}

export interface Timetable {
  /** Ms until the next time of this group, or `null` if there is none. */
  delayMs(team: string, group: ScheduledGroup): number | null;
  /** Ms between two times of this group. */
  gapMs(team: string, group: ScheduledGroup): number;
  /** The schedule as text, to detect changes. */
  textOf(team: string, group: ScheduledGroup): string;
  close(): Promise<void>;
}

/** Teams with the same schedule do not all begin at once: each team is delayed by up to this share of the gap. */
const spreadShare = 0.1;
/** Upper bound of that delay in ms. */
const longestSpreadMs = 30_000;

/** A fixed number between 0 and 1 for each team. */
function placeOf(team: string): number {
  return createHash('sha256').update(team).digest().readUInt32BE(0) / 2 ** 32;
}

/** @param onTick called at each time; not reliable, because a sleeping machine can miss a time */
export async function createTimetable(
  teams: readonly ScheduledTeam[],
  onTick: () => void,
): Promise<Timetable> {
  const tasks = new Map<string, Schedule>();
  const texts = new Map<string, string>();
  const key = (team: string, group: ScheduledGroup) => `${group} ${team}`;
  for (const { name, schedule } of teams) {
    for (const group of scheduledGroups) {
      const text = schedule[group];
      texts.set(key(name, group), text);
      if (!tasks.has(text)) tasks.set(text, await createSchedule(text, onTick));
    }
  }
  const textOf = (team: string, group: ScheduledGroup) => texts.get(key(team, group)) ?? '';
  /** The next two times of each task. Cached until the first of them has passed, because computing them is slow. */
  const nextTimes = new Map<string, { readonly atMs: number; readonly times: readonly Date[] }>();
  const timesOf = (team: string, group: ScheduledGroup): readonly Date[] => {
    const text = textOf(team, group);
    const nowMs = Date.now();
    const last = nextTimes.get(text);
    if (last !== undefined && last.atMs <= nowMs && nowMs < (last.times[0]?.getTime() ?? 0))
      return last.times;
    const times = tasks.get(text)?.upcoming(2) ?? [];
    nextTimes.set(text, { atMs: nowMs, times });
    return times;
  };
  const gapMs = (team: string, group: ScheduledGroup) => {
    const [first, second] = timesOf(team, group);
    return first === undefined || second === undefined ? 0 : second.getTime() - first.getTime();
  };
  const spreadMs = (team: string, group: ScheduledGroup) =>
    teams.length < 2 ? 0 : placeOf(team) * Math.min(gapMs(team, group) * spreadShare, longestSpreadMs);
  return {
    delayMs: (team, group) => {
      const [next] = timesOf(team, group);
      return next ? Math.max(0, next.getTime() - Date.now()) + spreadMs(team, group) : null;
    },
    gapMs,
    textOf,
    close: async () => {
      for (const task of tasks.values()) await task.close();
    },
  };
}
