import type { Id } from './id.ts';

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
