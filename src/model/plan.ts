/** Users as a run looks for them. */
import type { Id } from './id.ts';

/** A user who is in the mirror and not gone, with the values last agreed on. */
export interface PresentUser {
  readonly id: Id;
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: Id | null;
}

/** Of whom else a limit on single fields has to know: who has one of these, in canonical form. */
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
