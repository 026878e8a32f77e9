import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';

/** One entry of the team object's `members`: who exists. What they look like, `users/get` says. */
export interface TeamMember {
  readonly id: Id;
  readonly name: string | null;
  /** The role's name; the user object has its id, and no mapping between the two is documented. */
  readonly role: string | null;
  /** Undocumented extras that some deployments send, used as addresses to look up, never as values. */
  readonly email: string | null;
  readonly phone: string | null;
}

/** interface.md, Team. */
export interface Team {
  readonly id: Id;
  readonly name: string | null;
  readonly listSize: Id | null;
  /** Stands for the answer. */
  readonly digest?: string;
  readonly members: readonly TeamMember[];
  readonly rejected: readonly RejectedRow[];
  readonly raw: Readonly<Record<string, unknown>>;
  /** Of a team that was known by its digest: nobody in it has been read, and this does, once. */
  readonly read?: () => Promise<Team>;
}

/** What is known of a team's answer without reading it. */
export type TeamBefore = Pick<Team, 'id' | 'name' | 'listSize'> & { readonly digest: string };

/** The same with everybody in it. */
export async function wholeTeam(team: Team): Promise<Team> {
  return team.read === undefined ? team : await team.read();
}
