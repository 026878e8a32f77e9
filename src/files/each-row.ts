/** Goes through the rows of a file, of which there may be many. */
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

/** Does this for each row, in turns with other work, until the signal. @throws MusterdError `usage` for too many */
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

/** A row in the form of the file, with the line in which it begins. */
export interface WrittenRow {
  readonly line: number;
  readonly text: string;
}

/** The lines that are not empty. Only line feeds separate them; other readers would also split within a text. */
export function* linesOf(text: string): Generator<WrittenRow> {
  for (let from = 0, line = 1; from < text.length; line += 1) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    const lineText = text.slice(from, to);
    if (lineText.trim() !== '') yield { line, text: lineText };
    from = to + 1;
  }
}
