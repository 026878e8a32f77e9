import type { Id } from './id.ts';
import type { RejectedRow } from './rejected-row.ts';
import type { TeamMember } from './team-member.ts';

/** The team without its members. */
export interface TeamHead {
  readonly id: Id;
  readonly name: string | null;
  readonly listSize: Id | null;
}

/** interface.md, Team. */
export interface Team extends TeamHead {
  readonly members: readonly TeamMember[];
  readonly rejected: readonly RejectedRow[];
  readonly raw: Readonly<Record<string, unknown>>;
}
