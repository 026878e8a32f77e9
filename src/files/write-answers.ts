/** Writes the answers of SQL statements as text, page by page, with exact values. */
import { stringify as toCsv } from 'csv-stringify/sync';

interface Column {
  readonly name: string;
  readonly inWords: (value: string) => string;
  readonly inJson: (value: string) => string;
}

type Row = readonly (string | null)[];

export interface AnswersWriter {
  /** The text before the first answer. */
  readonly begin: string;
  /** The text before the rows of an answer. */
  readonly head: (columns: readonly Column[]) => string;
  readonly rows: (columns: readonly Column[], page: readonly Row[]) => string;
  /** The text after each answer, also after an answer without columns. */
  readonly tail: (hasColumns: boolean) => string;
  readonly end: string;
}

export const wordsOf = (columns: readonly Column[], row: Row) =>
  columns.map(({ inWords }, at) => {
    const value = row[at];
    return value === null || value === undefined ? null : inWords(value);
  });

/** Writes CSV like psql: NULL is an empty cell, an empty text is two quotes, and formulas are not escaped. */
function createCsvWriter(): AnswersWriter {
  let answers = 0;
  const string = (value: string) => (value === '' ? { value, quoted_empty: true } : value);
  const options = { cast: { string } } as const;
  return {
    begin: '',
    head: (columns) => {
      answers += 1;
      return `${answers > 1 ? '\n' : ''}${toCsv([columns.map(({ name }) => name)], options)}`;
    },
    rows: (columns, page) =>
      toCsv(
        page.map((row) => wordsOf(columns, row)),
        options,
      ),
    tail: () => '',
    end: '',
  };
}

/** Escapes line separators other than the line feed, so that every reader sees the JSON as one line. */
export const onOneLine = (json: string): string =>
  json.replaceAll(
    /[\u0085\u2028\u2029]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function objectOf(columns: readonly Column[], row: Row): string {
  const parts = columns.map(({ name, inJson }, at) => {
    const value = row[at];
    return `${JSON.stringify(name)}:${value === null || value === undefined ? 'null' : inJson(value)}`;
  });
  return onOneLine(`{${parts.join(',')}}`);
}

/** A JSON list with each item on a line of its own. */
export function createJsonList() {
  let isEmpty = true;
  return {
    add: (items: readonly string[]) => {
      const comma = isEmpty ? '' : ',';
      isEmpty &&= items.length === 0;
      return items.length === 0 ? '' : `${comma}\n  ${items.join(',\n  ')}`;
    },
    end: () => (isEmpty ? ']' : '\n]'),
  };
}

/** For one statement, the JSON is a list of rows; for several statements, a list of such lists. */
function createJsonWriter(isOne: boolean): AnswersWriter {
  let answers = 0;
  let list = createJsonList();
  const open = () => {
    answers += 1;
    list = createJsonList();
    return `${answers > 1 ? ',\n' : ''}[`;
  };
  return {
    begin: isOne ? '' : '[',
    head: open,
    rows: (columns, page) => list.add(page.map((row) => objectOf(columns, row))),
    tail: (hasColumns) => (hasColumns ? list.end() : `${open()}]`),
    end: isOne ? '\n' : ']\n',
  };
}

function createNdjsonWriter(): AnswersWriter {
  return {
    begin: '',
    head: () => '',
    rows: (columns, page) => page.map((row) => `${objectOf(columns, row)}\n`).join(''),
    tail: () => '',
    end: '',
  };
}

export const answerFormats = ['table', 'csv', 'json', 'ndjson'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

/** @param isOne true if there is only one statement */
export function createAnswersWriter(format: Exclude<AnswerFormat, 'table'>, isOne: boolean): AnswersWriter {
  if (format === 'json') return createJsonWriter(isOne);
  return format === 'csv' ? createCsvWriter() : createNdjsonWriter();
}
