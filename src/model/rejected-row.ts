import type { Id } from './id.ts';

/** A row of an answer that could not be used, and the reason. All other rows of the answer are used. */
export interface RejectedRow {
  /** The listing or answer that contained the row, for example `tags`. */
  readonly resource: string;
  /** The id of the row; `null` if it had no usable id. */
  readonly id: Id | null;
  readonly reason: string;
  /** The row as JSON, escaped and cut to 500 characters. */
  readonly excerpt: string;
}
