/** Users in the forms in which a run looks for them. */
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';
import type { UserState } from './user-state.ts';

/** A user in the mirror who is not gone, with the last agreed values. */
export interface PresentUser {
  readonly id: Id;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: Id | null;
}

/** The addresses and roles, in canonical form, of which a limit on single fields has to know all users. */
export interface Concern {
  readonly emails: readonly string[];
  readonly phones: readonly string[];
  readonly roleIds: readonly Id[];
}

/** The addresses to look a user up by. */
export interface Addresses {
  readonly id: Id;
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}

/** A user of the mirror, to be looked up. */
export interface KnownUser extends Addresses {
  /** Whether the last lookup found the user. */
  readonly resolved: boolean;
}

/** The addresses of some users, and those that a person has named for users of whom none is known. */
export interface KnownAddresses {
  readonly ofUsers: readonly KnownUser[];
  /** Read only when nothing else has found somebody. */
  readonly others: () => Promise<Omit<Addresses, 'id'>>;
}

/** The names of members' roles, as far as they are known. */
export type RoleNames = Pick<ReadonlyMap<Id, string>, 'get'>;

/** The users that one look has seen. */
export interface ShownUsers {
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly roles: RoleNames;
  /**
   * The members of the team who are not shown. Of the users that are gone, only these are looked for. `null`: nobody but those
   * who are shown is looked for.
   */
  readonly leftOut: readonly Id[] | null;
}

export interface ComparedUsers {
  /** Users who are shown and not equal everywhere. */
  readonly differing: readonly UserState[];
  /** Users who are shown and readable, and of whom nothing is known here. */
  readonly unknown: readonly Id[];
  /** Users of mirror or base who are not shown. Of those that are gone, only listed ones are included. */
  readonly unseen: readonly UserState[];
}
