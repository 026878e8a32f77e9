/** A file of rows, as spreadsheets and other tools write it, before its content is interpreted. */
import type { Id } from './id.ts';

export interface FileTableRow {
  /** The line of the file in which the row begins; the first line is 1. */
  readonly line: number;
  /** The cells by column. An empty cell means nothing. */
  readonly cells: readonly string[];
}

export interface UnreadableRow extends FileTableRow {
  readonly reason: string;
  /** The text of the row. */
  readonly text: string;
}

/** A row of a file that cannot be used. */
export interface RowProblem {
  readonly line: number;
  readonly kind: 'unreadable' | 'unmatched' | 'ambiguous' | 'contradictory' | 'duplicate' | 'invalid';
  readonly reason: string;
  /** The only user who has the name in the row, if the row itself does not identify its user. */
  readonly user_id?: Id;
}

export interface FileTable {
  readonly columns: readonly string[];
  readonly rows: readonly FileTableRow[];
  readonly problems: readonly UnreadableRow[];
  /** Sentences about how the file was read. */
  readonly notes: readonly string[];
}
