import type { Id } from './id.ts';

/** One entry of the team object's `members`, which says who exists. `users/get` has the users themselves. */
export interface TeamMember {
  readonly id: Id;
  readonly name: string | null;
  /** The name of the role. The user object has its id, and no mapping between the two is documented. */
  readonly role: string | null;
  /** Undocumented fields that some deployments send. They are used as addresses to look up, never as values. */
  readonly email: string | null;
  readonly phone: string | null;
}
