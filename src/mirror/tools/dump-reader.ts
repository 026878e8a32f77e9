/** Reads a dump line by line, and the rows of a table in pieces: it is never in memory as a whole. */

export interface DumpReader {
  /** The next line without its line break; `null` after the last. */
  line(): Promise<string | null>;
  /** The rows up to the end marker, in pieces that may end anywhere. */
  rows(): AsyncGenerator<Buffer>;
}

const endOfRows = Buffer.from('\\.\n');
const inTheMiddle = Buffer.from('\n\\.\n');

/** Longest line outside of rows; those of the schema are the longest. */
const longestLine = 1_000_000;

/** @param cut makes the error for rows without an end marker */
export function createDumpReader(chunks: AsyncIterator<Buffer>, cut: () => Error): DumpReader {
  let rest: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await chunks.next();
    if (done !== true) rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
    return done !== true;
  };
  const take = (length: number) => {
    const taken = rest.subarray(0, length);
    rest = rest.subarray(length);
    return taken;
  };
  return {
    line: async () => {
      let end = rest.indexOf(10);
      while (end < 0) {
        if (rest.length > longestLine || !(await more()))
          return rest.length === 0 ? null : take(rest.length).toString();
        end = rest.indexOf(10);
      }
      return take(end + 1).toString('utf8', 0, end);
    },
    rows: async function* () {
      let isStart = true;
      for (;;) {
        const isOver = isStart && rest.subarray(0, endOfRows.length).equals(endOfRows);
        const end = isOver ? 0 : rest.indexOf(inTheMiddle) + 1;
        if (isOver || end > 0) {
          if (end > 0) yield take(end);
          take(endOfRows.length);
          return;
        }
        // A text that may be the beginning of the marker waits for the rest of it.
        const certain = rest.length - endOfRows.length;
        if (certain > 0) {
          isStart = false;
          yield take(certain);
        }
        if (!(await more())) throw cut();
      }
    },
  };
}
