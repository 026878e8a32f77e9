/** Reads CSV as spreadsheets write it: commas, semicolons or tabs, with line breaks in quotes. */
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { MusterdError } from '../errors.ts';
import type { FileTable, FileTableRow, UnreadableRow } from '../model/file-table.ts';
import { chooseColumns, type TableWishes } from './choose-columns.ts';
import { requireRowLimit } from './each-row.ts';
import { asWritten } from './formula.ts';

const delimiters = [',', ';', '\t'] as const;
/** The longest record in characters. With this limit, a missing closing quote cannot swallow the whole file. */
const longestRecord = 1024 * 1024;
const pieceBytes = 64 * 1024;
/** The number of first records in which the header is searched, and which give samples of the columns. */
const mostSamples = 20;

const countLines = (text: string) => text.match(/\r\n|\n|\r/g)?.length ?? 0;

const countKnown = (cells: readonly string[], isRead: TableWishes['isRead']) =>
  cells.map((cell) => textOf(cell).trim()).filter((cell) => cell !== '' && isRead(cell, [])).length;

/** The delimiter that gives a line the most known columns. If several do, the most frequent in the first line with one. */
function findDelimiter(text: string, isRead: TableWishes['isRead']): string {
  const lines = text
    .slice(0, pieceBytes)
    .replaceAll(/"([^"]*)"?/g, (_, quoted: string) => quoted.replaceAll(/[,;\t\r\n]/g, ' '))
    .split(/[\r\n]+/, mostSamples);
  const first = lines.find((line) => delimiters.some((delimiter) => line.includes(delimiter))) ?? '';
  const scores = delimiters.map((delimiter) => {
    const known = lines.map((line) => countKnown(line.split(delimiter), isRead));
    return { delimiter, known: Math.max(...known), count: first.split(delimiter).length };
  });
  const [best] = scores.toSorted((a, b) => b.known - a.known || b.count - a.count);
  return best?.delimiter ?? ',';
}

/** Yields the text in pieces for the parser, so that other work can run in between. */
async function* piecesOf(text: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    await setImmediate();
    signal.throwIfAborted();
    yield bytes.subarray(from, from + pieceBytes);
  }
}

/** Reads all records with their line numbers. @throws MusterdError `usage` for a quote that is not closed or in a wrong place */
async function readRecords(
  text: string,
  { delimiter, firstLine, signal }: CsvFile,
  take: (record: CsvRecord) => void,
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
          const at = line + countLines(/^[\r\n]*/.exec(raw)?.[0] ?? '');
          take({ line: at, cells: record, text: raw.trim() });
          line += countLines(raw);
        }
      },
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const at = typeof error['lines'] === 'number' ? error['lines'] + firstLine - 1 : firstLine;
    throw new MusterdError('usage', `Line ${at}: the quotes of this CSV do not match (${error.code})`, {
      hint: 'Double each quote inside a quoted cell.',
      cause: error,
    });
  }
}

interface CsvFile {
  readonly delimiter: string;
  readonly firstLine: number;
  readonly signal: AbortSignal;
}

/** Some programs write a text as a formula without quotes, ="0041…", so that spreadsheets do not read it as a number. */
const numberAsFormula = /(?<=^|[,;\t\r\n])="([-+0-9 ()./]+)"(?=[,;\t\r\n]|$)/g;
const textAsFormula = /^="([^"]*)"$/;
const textOf = (cell: string) => textAsFormula.exec(cell)?.[1] ?? asWritten(cell);

interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  readonly text: string;
}

interface Head extends ReturnType<typeof chooseColumns> {
  /** The number of columns. `fewest` does not count unnamed columns at the end. */
  readonly width: number;
  readonly fewest: number;
}

export async function readCsv(given: string, { isRead, signal }: TableWishes): Promise<FileTable> {
  // Some spreadsheets name the delimiter in the first line.
  const delimiterLine = /^sep=(.)\r?\n/.exec(given);
  const text = (delimiterLine === null ? given : given.slice(delimiterLine[0].length)).replace(
    numberAsFormula,
    '"$1"',
  );
  const delimiter = delimiterLine?.[1] ?? findDelimiter(text, isRead);
  const first: CsvRecord[] = [];
  let head: Head | undefined;
  const rows: FileTableRow[] = [];
  const problems: UnreadableRow[] = [];
  const takeRow = ({ line, cells, text: written }: CsvRecord, { fewest, width, places }: Head) => {
    if (cells.every((cell) => cell.trim() === '')) return;
    requireRowLimit(rows.length + problems.length + 1);
    const isWhole = cells.length >= fewest && cells.slice(width).every((cell) => cell === '');
    const row = { line, cells: places.map((place) => textOf(cells[place] ?? '')) };
    const reason = `it has ${cells.length} cells, and the header has ${width}`;
    if (isWhole) rows.push(row);
    else problems.push({ ...row, reason, text: written });
  };
  const begin = () => {
    const header = first.findIndex(({ cells }) => countKnown(cells, isRead) > 1);
    const at = Math.max(0, header);
    const names = first[at]?.cells.map((cell) => textOf(cell).trim()) ?? [];
    const below = first.slice(at + 1);
    const isEmpty = (place: number) => below.every(({ cells }) => (cells[place] ?? '') === '');
    const fewest = names.findLastIndex((name) => name !== '') + 1;
    while (names.at(-1) === '' && isEmpty(names.length - 1)) names.pop();
    const chosen = chooseColumns(
      names,
      { isRead },
      below.map(({ cells }) => cells.map(textOf)),
    );
    const skipped = `line ${first[at]?.line} looks like the header: the lines above it are not read`;
    head = { ...chosen, fewest, notes: [...(at > 0 ? [skipped] : []), ...chosen.notes], width: names.length };
    for (const record of below) takeRow(record, head);
    return head;
  };
  await readRecords(text, { delimiter, firstLine: delimiterLine === null ? 1 : 2, signal }, (record) => {
    if (head !== undefined) takeRow(record, head);
    else if (first.push(record) > mostSamples) begin();
  });
  const { columns, notes } = head ?? begin();
  return { columns, rows, problems, notes };
}
