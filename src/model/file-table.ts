/** A file of rows as people's tools write it: nothing in it has been understood yet. */

export interface FileTableRow {
  /** The line of the file in which it begins; the first one is 1. */
  readonly line: number;
  /** By the place of their column; empty: the row says nothing there. */
  readonly cells: readonly string[];
}

/** A row of a file that cannot be used as it is. */
export interface RowProblem {
  readonly line: number;
  readonly kind: 'unreadable' | 'unmatched' | 'ambiguous' | 'duplicate' | 'invalid';
  readonly reason: string;
}

export interface FileTable {
  readonly columns: readonly string[];
  readonly rows: readonly FileTableRow[];
  readonly problems: readonly RowProblem[];
  /** What is to be known of how it was read, in words. */
  readonly notes: readonly string[];
}
