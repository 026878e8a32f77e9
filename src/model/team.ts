import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { TeamMember } from './team-member.ts';

/** The team without its members. */
export interface TeamHead {
  readonly id: Id;
  readonly name: string | null;
  readonly listSize: Id | null;
  /** A digest of the answer; `null` if there is none. */
  readonly digest: string | null;
}

/** interface.md, Team. */
export interface Team extends TeamHead {
  readonly members: readonly TeamMember[];
  readonly rejected: readonly RejectedRow[];
  readonly raw: Readonly<Record<string, unknown>>;
}

/**
 * The answer about a team. If it is the known one, it is read only on demand, because reading a large team takes as
 * long as all the rest of a run in which nothing is new.
 */
export interface TeamAnswer {
  readonly head: TeamHead | Team;
  /** Reads it once, however often it is called. */
  readTeam(): Promise<Team>;
}

/** The answer about a team that has been read. */
export const asAnswer = (team: Team): TeamAnswer => ({
  head: team,
  readTeam: () => Promise.resolve(team),
});
