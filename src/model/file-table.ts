/** A file of rows, as people's tools write it, before its content is interpreted. */
import type { Id } from './id.ts';

export interface FileTableRow {
  /** The line of the file in which it begins; the first one is 1. */
  readonly line: number;
  /** The cells by column. An empty one means nothing. */
  readonly cells: readonly string[];
}

export interface UnreadableRow extends FileTableRow {
  readonly reason: string;
  /** What is written there. */
  readonly text: string;
}

/** A row of a file that cannot be used as it is. */
export interface RowProblem {
  readonly line: number;
  readonly kind: 'unreadable' | 'unmatched' | 'ambiguous' | 'contradictory' | 'duplicate' | 'invalid';
  readonly reason: string;
  /** The only user who has the name in the row, if the row does not say who it is about. */
  readonly user_id?: Id;
}

export interface FileTable {
  readonly columns: readonly string[];
  readonly rows: readonly FileTableRow[];
  readonly problems: readonly UnreadableRow[];
  /** Sentences about how it was read. */
  readonly notes: readonly string[];
}
