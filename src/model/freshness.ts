/**
 * Whether the mirror is as new as its schedule promises. Only complete runs count: one that failed, was
 * partial or refused, never began, or had no database to begin in leaves the age as it was.
 */
import { type ScheduledGroup, type GroupStatus, scheduledGroups } from './run-group.ts';

/** Longest time between two runs of each group, by team: the teams and groups that are judged. */
export type Intervals = ReadonlyMap<string, Readonly<Partial<Record<ScheduledGroup, number>>>>;

export interface GroupFreshness {
  readonly group: ScheduledGroup;
  readonly fresh: boolean;
  /** Since the last complete run; where there was none, since the group became known. */
  readonly ageMs: number;
  readonly limitMs: number;
  /** There was no complete run so far. */
  readonly never: boolean;
}

export interface TeamFreshness {
  readonly team: string;
  readonly fresh: boolean;
  readonly groups: readonly GroupFreshness[];
}

/** Three intervals may pass without a complete run. */
export const staleAfterMs = (intervalMs: number): number => 3 * intervalMs;

/**
 * One group:
 *
 * | complete | known    | its age is the time since                               |
 * |----------|----------|---------------------------------------------------------|
 * | once     | yes      | the end of the last complete run                        |
 * | never    | yes      | it became known, by the database                        |
 * | –        | not yet  | this process started, which is about to make it known   |
 *
 * and it is stale when that is more than three intervals. The start of the process excuses nothing that is
 * known: a daemon that ends and is started over and over would otherwise look fresh for ever. `edits` have
 * no schedule and are not judged.
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

/** Clocks of database and daemon may part by this much. */
const futureMs = 60_000;

function judgeGroup(
  group: ScheduledGroup,
  standing: GroupStatus | undefined,
  limitMs: number,
  upForMs: number,
): GroupFreshness {
  const said = standing?.completeForMs ?? null;
  // A run that was complete in the future was so before the clock was set back: it tells nothing any more.
  const completeForMs = said !== null && said < -futureMs ? null : said;
  const ageMs = Math.max(0, completeForMs ?? standing?.knownForMs ?? upForMs);
  return { group, fresh: ageMs <= limitMs, ageMs, limitMs, never: said === null };
}

/** What was read a while ago, as it stands now if nothing has happened since. */
export function ageStandings(standings: readonly GroupStatus[], byMs: number): readonly GroupStatus[] {
  return standings.map((standing) => ({
    ...standing,
    knownForMs: standing.knownForMs + byMs,
    completeForMs: standing.completeForMs === null ? null : standing.completeForMs + byMs,
  }));
}

/**
 * Whether the process is doing its job, for a watchdog that would start it again. It is not when every team is
 * stale and has been so for as long as this process had time to mend it. A mirror that was stale at the start
 * gets that time first, or the watchdog would end each process before its first run; and one team that can
 * not be reconciled does not cost the others their daemon.
 */
export function isAtWork(teams: readonly TeamFreshness[], upForMs: number): boolean {
  const isStuck = ({ groups }: TeamFreshness) =>
    groups.some(({ fresh, limitMs }) => !fresh && upForMs > limitMs);
  return teams.length === 0 || !teams.every(isStuck);
}
