import type { Id } from './id.ts';

/** One entry of `members` in the team object, which lists the users that exist. `users/get` returns their values. */
export interface TeamMember {
  readonly id: Id;
  readonly name: string | null;
  /** The name of the role. The user object has the role's id; no mapping from ids to names is documented. */
  readonly role: string | null;
  /** Undocumented fields that some deployments send. They are used as addresses to look up, never as values. */
  readonly email: string | null;
  readonly phone: string | null;
}
