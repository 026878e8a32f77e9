/** CSV as spreadsheets write it: commas, semicolons or tabs, with line breaks in quotes. */
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { MusterdError } from '../errors.ts';
import type { FileTable, FileTableRow, RowProblem } from '../model/file-table.ts';
import { chooseColumns, type TableWishes } from './choose-columns.ts';
import { requireRowLimit } from './each-row.ts';
import { asWritten } from './formula.ts';

const delimiters = [',', ';', '\t'] as const;
/** The longest record, so that a quote that is never closed does not take the rest of the file along. */
const longestRecord = 1024 * 1024;
const pieceBytes = 64 * 1024;

const countLines = (text: string) => text.match(/\r\n|\n|\r/g)?.length ?? 0;

/** The delimiter that occurs most often in the first record that has one, outside of quotes. */
function findDelimiter(text: string): string {
  const counts = new Map<string, number>(delimiters.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /[\r\n]/.test(char) && counts.values().some((count) => count > 0)) break;
    else if (!isQuoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return delimiters.reduce((best, delimiter) =>
    (counts.get(delimiter) ?? 0) > (counts.get(best) ?? 0) ? delimiter : best,
  );
}

/** Feeds the parser in pieces, in turns with other work. */
async function* piecesOf(text: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    await setImmediate();
    signal.throwIfAborted();
    yield bytes.subarray(from, from + pieceBytes);
  }
}

/** Reads all records with their lines. @throws MusterdError `usage` for a quote that is not closed or in a wrong place */
async function readRecords(
  text: string,
  { delimiter, firstLine, signal }: CsvFile,
  take: (line: number, cells: readonly string[]) => void,
): Promise<void> {
  let line = firstLine;
  const parser = parse({
    delimiter,
    raw: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: longestRecord,
  });
  try {
    await pipeline(
      piecesOf(text, signal),
      parser,
      async (records: AsyncIterable<{ readonly raw: string; readonly record: readonly string[] }>) => {
        for await (const { raw, record } of records) {
          take(line + countLines(/^[\r\n]*/.exec(raw)?.[0] ?? ''), record);
          line += countLines(raw);
        }
      },
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const at = typeof error['lines'] === 'number' ? error['lines'] + firstLine - 1 : firstLine;
    throw new MusterdError('usage', `Line ${at}: the quotes of this CSV are not in order (${error.code})`, {
      hint: 'A quote inside a quoted cell is written twice.',
      cause: error,
    });
  }
}

interface CsvFile {
  readonly delimiter: string;
  readonly firstLine: number;
  readonly signal: AbortSignal;
}

/** A text that some programs export as a formula, unquoted, so that it does not become a number: ="0041…" */
const numberAsFormula = /(?<=^|[,;\t\r\n])="([-+0-9 ()./]+)"(?=[,;\t\r\n]|$)/g;
const textAsFormula = /^="([^"]*)"$/;
const textOf = (cell: string) => textAsFormula.exec(cell)?.[1] ?? asWritten(cell);

/** The most records in which the header is looked for, and by which columns are judged. */
const mostSamples = 20;

/** The record that names the columns: the first one, or if that has no known column, the first with two of them. */
function findHeader(records: readonly CsvRecord[], { isRead }: Pick<TableWishes, 'isRead'>): number {
  const known = records.map(({ cells }) => cells.filter((cell) => isRead(textOf(cell).trim(), [])).length);
  return known[0] === 0
    ? Math.max(
        0,
        known.findIndex((count) => count > 1),
      )
    : 0;
}

interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

export async function readCsv(given: string, { isRead, signal }: TableWishes): Promise<FileTable> {
  // The first line of some spreadsheets names the delimiter.
  const delimiterLine = /^sep=(.)\r?\n/.exec(given);
  const text = (delimiterLine === null ? given : given.slice(delimiterLine[0].length)).replace(
    numberAsFormula,
    '"$1"',
  );
  const delimiter = delimiterLine?.[1] ?? findDelimiter(text);
  const first: CsvRecord[] = [];
  let head: (ReturnType<typeof chooseColumns> & { readonly width: number }) | undefined;
  const rows: FileTableRow[] = [];
  const problems: RowProblem[] = [];
  const takeRow = (
    { line, cells }: CsvRecord,
    { width, places }: { readonly width: number; readonly places: readonly number[] },
  ) => {
    if (cells.every((cell) => cell.trim() === '')) return;
    requireRowLimit(rows.length + problems.length + 1);
    const isWhole = cells.length >= width && cells.slice(width).every((cell) => cell === '');
    if (isWhole) rows.push({ line, cells: places.map((place) => textOf(cells[place] ?? '')) });
    else {
      const reason = `it has ${cells.length} cells, and the header has ${width}`;
      problems.push({ line, kind: 'unreadable', reason });
    }
  };
  const begin = () => {
    const at = findHeader(first, { isRead });
    const names = first[at]?.cells.map((cell) => textOf(cell).trim()) ?? [];
    while (names.at(-1) === '') names.pop();
    const below = first.slice(at + 1);
    const chosen = chooseColumns(
      names,
      { isRead },
      below.map(({ cells }) => cells.map(textOf)),
    );
    const skipped = `line ${first[at]?.line} looks like the header: what is above it is not read`;
    head = { ...chosen, notes: [...(at > 0 ? [skipped] : []), ...chosen.notes], width: names.length };
    for (const record of below) takeRow(record, head);
    return head;
  };
  await readRecords(text, { delimiter, firstLine: delimiterLine === null ? 1 : 2, signal }, (line, cells) => {
    if (head !== undefined) takeRow({ line, cells }, head);
    else if (first.push({ line, cells }) > mostSamples) begin();
  });
  const { columns, notes } = head ?? begin();
  return { columns, rows, problems, notes };
}
