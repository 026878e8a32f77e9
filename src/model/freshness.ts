/**
 * Judges if the mirror is as new as its schedule promises. Only a complete run resets the age. A run that failed, was
 * partial or refused, never began, or found no database does not.
 */
import { type ScheduledGroup, type GroupStatus, scheduledGroups } from './run-group.ts';

/** The longest time in ms between two runs of each group, by team. Only these teams and groups are judged. */
export type Intervals = ReadonlyMap<string, Readonly<Partial<Record<ScheduledGroup, number>>>>;

export interface GroupFreshness {
  readonly group: ScheduledGroup;
  readonly fresh: boolean;
  /** Ms since the last complete run; if there was no complete run, since the group was first recorded. */
  readonly ageMs: number;
  readonly limitMs: number;
  /** True if there was no complete run so far. */
  readonly never: boolean;
}

export interface TeamFreshness {
  readonly team: string;
  readonly fresh: boolean;
  readonly groups: readonly GroupFreshness[];
}

/** The time after which a group is stale: three intervals without a complete run. */
export const staleAfterMs = (intervalMs: number): number => 3 * intervalMs;

/**
 * Judges each group of these teams. A group is on record once a process has stored its schedule:
 *
 * | on record | had a complete run | its age is the time since                            |
 * |-----------|--------------------|------------------------------------------------------|
 * | yes       | yes                | the end of the last complete run                     |
 * | yes       | no                 | it was first recorded, by the clock of the database  |
 * | not yet   | –                  | this process started, which will record it soon      |
 *
 * A group is stale if its age is more than three intervals. The age of a recorded group does not depend on the start of
 * the process, because a daemon that restarts over and over would otherwise look fresh forever. The group `edits`, which
 * has no schedule, is left out.
 */
export function judgeFreshness(
  standings: readonly GroupStatus[],
  intervals: Intervals,
  upForMs: number,
): readonly TeamFreshness[] {
  const byKey = new Map(standings.map((standing) => [`${standing.group} ${standing.team}`, standing]));
  return [...intervals].map(([team, ofTeam]) => {
    const groups = scheduledGroups.flatMap((group) => {
      const intervalMs = ofTeam[group];
      return intervalMs === undefined
        ? []
        : [judgeGroup(group, byKey.get(`${group} ${team}`), staleAfterMs(intervalMs), upForMs)];
    });
    return { team, fresh: groups.every(({ fresh }) => fresh), groups };
  });
}

/** The clocks of database and daemon can differ by up to this many ms. */
const futureMs = 60_000;

function judgeGroup(
  group: ScheduledGroup,
  standing: GroupStatus | undefined,
  limitMs: number,
  upForMs: number,
): GroupFreshness {
  const recordedMs = standing?.completeForMs ?? null;
  // A complete run in the future was recorded before the clock was set back, so its time means nothing.
  const completeForMs = recordedMs !== null && recordedMs < -futureMs ? null : recordedMs;
  const ageMs = Math.max(0, completeForMs ?? standing?.knownForMs ?? upForMs);
  return { group, fresh: ageMs <= limitMs, ageMs, limitMs, never: recordedMs === null };
}

/** Adds `byMs` to the ages of states that were read `byMs` ago. Runs that ended since then are not known here. */
export function ageStandings(standings: readonly GroupStatus[], byMs: number): readonly GroupStatus[] {
  return standings.map((standing) => ({
    ...standing,
    knownForMs: standing.knownForMs + byMs,
    completeForMs: standing.completeForMs === null ? null : standing.completeForMs + byMs,
  }));
}

/**
 * True if the process does its job; if false, a watchdog restarts it. False if every team is stale and this process has
 * been up for longer than each team's limit. A younger process is never restarted, because the mirror may have been
 * stale before it started, and its first run needs time. A single stale team causes no restart, because all fresh teams
 * need the daemon.
 */
export function isAtWork(teams: readonly TeamFreshness[], upForMs: number): boolean {
  const isStuck = ({ groups }: TeamFreshness) =>
    groups.some(({ fresh, limitMs }) => !fresh && upForMs > limitMs);
  return teams.length === 0 || !teams.every(isStuck);
}
