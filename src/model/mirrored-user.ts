import type { Id } from './id.ts';

/** A user of the mirror with everything that `musterd verify` compares. */
export interface MirroredUser {
  readonly id: Id;
  /** The joined name. */
  readonly name: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string | null;
  readonly phone: string | null;
  readonly role_id: Id | null;
  readonly role: string | null;
  readonly resolved: boolean;
  readonly gone_at: Date | null;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
  readonly user_created_at: Date | null;
  readonly user_updated_at: Date | null;
  /** True if mirror and service have ever agreed on the user, so that a base exists. */
  readonly agreed: boolean;
  /** When a run first read all users without finding this user; `null` if the user is present or known to be gone. */
  readonly missing_since: Date | null;
  /** By field name, such as `role_id`: the pending edit, open push or hold that explains why the two sides differ. */
  readonly expected: Readonly<Record<string, string>>;
}
