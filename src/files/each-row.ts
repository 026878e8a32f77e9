/** Handles the rows of a file one by one, up to a million rows. */
import { MusterdError } from '../errors.ts';
import { inTurns } from '../model/in-turns.ts';

const mostRows = 1_000_000;

/** @throws MusterdError `usage` */
export function requireRowLimit(rows: number): void {
  if (rows > mostRows)
    throw new MusterdError('usage', `The file has more than ${mostRows} rows`, {
      hint: 'Split it into several files.',
    });
}

/** Calls `work` for each row, while other work can run in between. @throws MusterdError `usage` for too many rows */
export async function eachRow<T>(
  rows: Iterable<T>,
  signal: AbortSignal,
  work: (row: T) => void,
): Promise<void> {
  let count = 0;
  await inTurns(rows, (row) => {
    signal.throwIfAborted();
    count += 1;
    requireRowLimit(count);
    work(row);
  });
}

/** A row's text as it is in the file, with the number of its first line. */
export interface WrittenRow {
  readonly line: number;
  readonly text: string;
}

/** The lines that are not empty. Only line feeds separate lines, because JSON texts can contain other line separators. */
export function* linesOf(text: string): Generator<WrittenRow> {
  for (let from = 0, line = 1; from < text.length; line += 1) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    const lineText = text.slice(from, to);
    if (lineText.trim() !== '') yield { line, text: lineText };
    from = to + 1;
  }
}
