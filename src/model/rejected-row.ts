import type { Id } from './id.ts';

/** A row of an answer that could not be taken, and the reason. It does not affect the other rows. */
export interface RejectedRow {
  /** The listing or answer that contained it, for example `tags`. */
  readonly resource: string;
  /** The id of the row, if it had a usable one. */
  readonly id: Id | null;
  readonly reason: string;
  /** The row as JSON, escaped and cut to 500 characters. */
  readonly excerpt: string;
}
