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
  /** True if both sides have ever agreed on the user. */
  readonly agreed: boolean;
  /** The time of the first complete pass without the user, if the absence is not proven yet. */
  readonly missing_since: Date | null;
  /** By field, such as `role_id`: the pending edit, open push or hold that explains a difference. */
  readonly expected: Readonly<Record<string, string>>;
}
