/** The knowledge about users with which a run looks them up, and the result of the lookup. */
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

/** Addresses (in canonical form) and roles. The limits on single fields are checked against all users who have them. */
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
  /** True if the last lookup found the user. */
  readonly resolved: boolean;
}

/** The addresses of some users, and the addresses in `mirror.user_lookups`, which belong to no known user. */
export interface KnownAddresses {
  readonly ofUsers: readonly KnownUser[];
  /** Reads the addresses of `mirror.user_lookups`. Called only if the users' own addresses did not find all users. */
  readonly others: () => Promise<Omit<Addresses, 'id'>>;
}

/** The names of members' roles, as far as they are known. */
export type RoleNames = Pick<ReadonlyMap<Id, string>, 'get'>;

/** The users that one look (a reading of users from the service) has found. */
export interface ShownUsers {
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly roles: RoleNames;
  /**
   * The members of the team whom no answer shows. A user who is marked as gone is compared only if the team lists the
   * user. `null`: only users whom an answer shows are compared.
   */
  readonly leftOut: readonly Id[] | null;
}

export interface ComparedUsers {
  /** Users whom the service shows, and whose versions in mirror, base and service differ. */
  readonly differing: readonly UserState[];
  /** Users whom the service shows in readable form, and who are neither in the mirror nor in base. */
  readonly unknown: readonly Id[];
  /** Users of mirror or base whom the service does not show; users marked as gone only if the team lists them. */
  readonly unseen: readonly UserState[];
}
