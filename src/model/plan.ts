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

/** The addresses (in canonical form) and roles whose users the limits on single fields must know. */
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
  /** Read only if the other addresses have not found all users. */
  readonly others: () => Promise<Omit<Addresses, 'id'>>;
}

/** The names of members' roles, as far as they are known. */
export type RoleNames = Pick<ReadonlyMap<Id, string>, 'get'>;

/** The users that one look has seen. */
export interface ShownUsers {
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly roles: RoleNames;
  /**
   * The members of the team whom the answer does not show. A user who is gone is compared only if the team lists the user.
   * `null`: only users who are shown are compared.
   */
  readonly leftOut: readonly Id[] | null;
}

export interface ComparedUsers {
  /** Users who are shown and whose three versions differ. */
  readonly differing: readonly UserState[];
  /** Users who are shown and readable, and who are neither in the mirror nor in base. */
  readonly unknown: readonly Id[];
  /** Users of mirror or base who are not shown. Users who are gone are included only if the team lists them. */
  readonly unseen: readonly UserState[];
}
