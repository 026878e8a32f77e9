/** Users as a run looks for them. */
import type { Id } from './id.ts';
import type { ServiceUser } from './user.ts';
import type { UserState } from './user-state.ts';

/** A user who is in the mirror and not gone, with the values last agreed on. */
export interface PresentUser {
  readonly id: Id;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: Id | null;
}

/** A limit on single fields has to know of everybody who has one of these, in canonical form. */
export interface Concern {
  readonly emails: readonly string[];
  readonly phones: readonly string[];
  readonly roleIds: readonly Id[];
}

/** By which addresses a user can be looked up. */
export interface Addresses {
  readonly id: Id;
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}

/** A user of whom something was edited in the mirror. */
export interface EditedUser extends Addresses {
  /** Whether a lookup answered for the user the last time. */
  readonly resolved: boolean;
}

/** The names of the roles of members, where they are known. */
export type RoleNames = Pick<ReadonlyMap<Id, string>, 'get'>;

/** Everybody whom one pass has seen. */
export interface ShownUsers {
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** The names of their roles. */
  readonly roles: RoleNames;
  /** Members of the team: of those that are gone, these alone are looked for. */
  readonly listed: Iterable<Id>;
}

export interface ComparedUsers {
  /** Shown, and not equal everywhere. */
  readonly differing: readonly UserState[];
  /** Shown, of whom all can be read and nothing at all is known here. */
  readonly unknown: readonly Id[];
  /** Users of mirror or base who are not shown; of those that are gone, only the listed ones. */
  readonly unseen: readonly UserState[];
}
