import type { Id } from './id.ts';

/** A row of an answer that could not be taken, and why. It never costs the other rows. */
export interface RejectedRow {
  /** The listing or answer it stood in, such as `tags`. */
  readonly resource: string;
  /** The row's id, where it had a usable one. */
  readonly id: Id | null;
  readonly reason: string;
  /** The row as JSON, escaped and cut to 500 characters. */
  readonly excerpt: string;
}
