/** Writes rows as text, page by page. Earlier pages are not kept in memory. */
import { stringify as toCsv } from 'csv-stringify/sync';
import { stringify as toYaml } from 'yaml';
import { toJson } from '../model/json.ts';
import type { Format } from './format.ts';
import { withoutFormula } from './formula.ts';
import { createJsonList, onOneLine } from './write-answers.ts';

export type FileRow = Readonly<Record<string, unknown>>;

export interface RowWriter {
  /** The text before the first row. */
  readonly begin: string;
  readonly rows: (page: readonly FileRow[]) => string;
  /** The text after the last row. */
  readonly end: () => string;
}

const plain = (value: unknown) => (value instanceof Date ? value.toISOString() : value);

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  const cell = plain(value);
  if (typeof cell === 'string') return withoutFormula(cell);
  return typeof cell === 'object' ? toJson(cell) : `${cell as number | bigint | boolean}`;
}

/** Writes CSV with a byte order mark. Without it, spreadsheets assume the code page of their machine. */
function createCsvWriter(columns: readonly string[]): RowWriter {
  // Quotes line breaks, which a custom record delimiter would not, and semicolons, at which some programs split.
  const options = { record_delimiter: 'windows', quoted_match: /[\r\n\t;\ufeff]/ } as const;
  return {
    begin: toCsv([columns], { ...options, bom: true }),
    rows: (page) =>
      toCsv(
        page.map((row) => columns.map((column) => cellOf(row[column]))),
        options,
      ),
    end: () => '',
  };
}

const toJsonLine = (columns: readonly string[], row: FileRow): string =>
  onOneLine(toJson(Object.fromEntries(columns.map((column) => [column, plain(row[column]) ?? null]))));

function createJsonWriter(columns: readonly string[]): RowWriter {
  const list = createJsonList();
  return {
    begin: '[',
    rows: (page) => list.add(page.map((row) => toJsonLine(columns, row))),
    end: () => `${list.end()}\n`,
  };
}

function createNdjsonWriter(columns: readonly string[]): RowWriter {
  return {
    begin: '',
    rows: (page) => page.map((row) => `${toJsonLine(columns, row)}\n`).join(''),
    end: () => '',
  };
}

/** All text is quoted, so that no reader takes a phone for a number or a name for a boolean. */
function createYamlWriter(columns: readonly string[]): RowWriter {
  let isEmpty = true;
  return {
    begin: '',
    rows: (page) => {
      if (page.length === 0) return '';
      isEmpty = false;
      const shown = page.map((row) =>
        Object.fromEntries(columns.map((column) => [column, plain(row[column]) ?? null])),
      );
      return toYaml(shown, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 });
    },
    end: () => (isEmpty ? '[]\n' : ''),
  };
}

const writers = {
  csv: createCsvWriter,
  json: createJsonWriter,
  ndjson: createNdjsonWriter,
  yaml: createYamlWriter,
} as const satisfies Readonly<Record<Format, (columns: readonly string[]) => RowWriter>>;

export function createRowWriter(format: Format, columns: readonly string[]): RowWriter {
  return writers[format](columns);
}
