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
  /** Ms since the last complete run; if there was none, since the group became known. */
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
 * Judges one group:
 *
 * | complete | known    | its age is the time since                               |
 * |----------|----------|---------------------------------------------------------|
 * | once     | yes      | the end of the last complete run                        |
 * | never    | yes      | it became known, by the database                        |
 * | –        | not yet  | this process started, which is about to make it known   |
 *
 * A group is stale if its age is more than three intervals. The age of a known group ignores when the process started,
 * because a daemon that is restarted over and over would otherwise look fresh forever. `edits` have no schedule and are
 * not judged.
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

/** The clocks of database and daemon can differ by up to this much. */
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

/** The standings that were read `byMs` ago, with the ages of now if no run has ended since. */
export function ageStandings(standings: readonly GroupStatus[], byMs: number): readonly GroupStatus[] {
  return standings.map((standing) => ({
    ...standing,
    knownForMs: standing.knownForMs + byMs,
    completeForMs: standing.completeForMs === null ? null : standing.completeForMs + byMs,
  }));
}

/**
 * True if the process does its job; otherwise a watchdog restarts it. It fails if every team is stale although this
 * process has been up for longer than the team's limit. A mirror that was stale at the start gets this time first, or
 * the watchdog would end each process before its first run. One team that cannot be reconciled causes no restart,
 * because the other teams need the daemon.
 */
export function isAtWork(teams: readonly TeamFreshness[], upForMs: number): boolean {
  const isStuck = ({ groups }: TeamFreshness) =>
    groups.some(({ fresh, limitMs }) => !fresh && upForMs > limitMs);
  return teams.length === 0 || !teams.every(isStuck);
}
