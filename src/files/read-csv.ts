/** CSV as spreadsheets write it: commas, semicolons or tabs, with line breaks in quotes. */
import { CsvError, parse } from 'csv-parse/sync';
import { MusterdError } from '../errors.ts';
import type { FileTable, FileTableRow, RowProblem } from '../model/file-table.ts';
import { asWritten } from './formula.ts';

const delimiters = [',', ';', '\t'] as const;
/** A quote that is never closed takes no more than this along. */
const longestRecord = 1024 * 1024;

const countLines = (text: string) => text.match(/\r\n|\n|\r/g)?.length ?? 0;

/** Which delimiter the first record holds most of, outside of quotes. */
function findDelimiter(text: string): string {
  const counts = new Map<string, number>(delimiters.map((one) => [one, 0]));
  let isQuoted = false;
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (char === '\n' || char === '\r')) break;
    else if (!isQuoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return delimiters.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}

interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** All records with the lines in which they begin. @throws MusterdError `usage` where a quote is not closed, or stands astray */
function readRecords(text: string, delimiter: string, firstLine: number): readonly CsvRecord[] {
  let line = firstLine;
  try {
    const options = {
      delimiter,
      raw: true,
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: longestRecord,
    } as const;
    const parsed = parse(text, options) as unknown as { raw: string; record: string[] }[];
    return parsed.map(({ raw, record }) => {
      const begin = line + countLines(/^[\r\n]*/.exec(raw)?.[0] ?? '');
      line += countLines(raw);
      return { line: begin, cells: record };
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const at = typeof error['lines'] === 'number' ? error['lines'] + firstLine - 1 : firstLine;
    throw new MusterdError('usage', `Line ${at}: the quotes of this CSV are not in order (${error.code})`, {
      hint: 'A quote inside a quoted cell is written twice.',
      cause: error,
    });
  }
}

export function readCsv(given: string): FileTable {
  // The first line of some spreadsheets says what parts the cells.
  const said = /^sep=(.)\r?\n/.exec(given);
  const text = said === null ? given : given.slice(said[0].length);
  const delimiter = said?.[1] ?? findDelimiter(text);
  const [head, ...records] = readRecords(text, delimiter, said === null ? 1 : 2);
  const columns = (head?.cells ?? []).map((cell) => asWritten(cell).trim());
  while (columns.at(-1) === '') columns.pop();
  const rows: FileTableRow[] = [];
  const problems: RowProblem[] = [];
  for (const { line, cells } of records) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    const isWhole =
      cells.length >= columns.length && cells.slice(columns.length).every((cell) => cell === '');
    if (isWhole) rows.push({ line, cells: cells.slice(0, columns.length).map(asWritten) });
    else {
      const reason = `it has ${cells.length} cells, and the header has ${columns.length}`;
      problems.push({ line, kind: 'unreadable', reason });
    }
  }
  return { columns, rows, problems, notes: [] };
}
