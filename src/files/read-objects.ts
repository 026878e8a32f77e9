/** Rows that name their values: JSON, JSON by line, YAML. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { MusterdError } from '../errors.ts';
import type { FileTable, RowProblem } from '../model/file-table.ts';

/** A row as it was read; a text in place of its values says what is wrong with it. */
interface ObjectRow {
  readonly line: number;
  readonly values: ReadonlyMap<string, string> | string;
}

const nested = (key: string) => `${key} holds a list or an object`;

function tableOf(objects: readonly ObjectRow[]): FileTable {
  const problems: RowProblem[] = [];
  const good: { line: number; values: ReadonlyMap<string, string> }[] = [];
  for (const { line, values } of objects) {
    if (typeof values === 'string') problems.push({ line, kind: 'unreadable', reason: values });
    else good.push({ line, values });
  }
  const columns = [...new Set(good.flatMap(({ values }) => [...values.keys()]))];
  const rows = good.map(({ line, values }) => ({ line, cells: columns.map((one) => values.get(one) ?? '') }));
  return { columns, rows, problems, notes: [] };
}

/** Numbers stay as they are written: an id of twenty digits is not rounded. */
function parseJson(text: string): unknown {
  const keepNumber = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, keepNumber);
}

function valuesOf(item: unknown): ObjectRow['values'] {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return 'it is not an object';
  const entries = Object.entries(item as Readonly<Record<string, unknown>>);
  const wrong = entries.find(([, value]) => typeof value === 'object' && value !== null);
  if (wrong !== undefined) return nested(wrong[0]);
  return new Map(
    entries.map(([key, value]) => [key, value === null ? '' : String(value as string | boolean)]),
  );
}

/** In which line each member of the outermost list begins. */
function linesOfMembers(text: string): readonly number[] {
  const lines: number[] = [];
  let line = 1;
  let depth = 0;
  let isText = false;
  let isNext = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '\n') line += 1;
    if (isNext && !/[\s\]]/.test(char)) {
      lines.push(line);
      isNext = false;
    }
    if (isText) {
      if (char === '\\') at += 1;
      else if (char === '"') isText = false;
    } else if (char === '"') isText = true;
    else if (char === '[' || char === '{') {
      depth += 1;
      isNext = depth === 1;
    } else if (char === ']' || char === '}') depth -= 1;
    else if (char === ',' && depth === 1) isNext = true;
  }
  return lines;
}

const notReadable = (what: string, error: unknown, line?: number) =>
  new MusterdError(
    'usage',
    `${line === undefined ? '' : `line ${line}: `}this is not ${what}: ${error instanceof Error ? error.message : String(error)}`,
    { cause: error },
  );

export function readJsonList(text: string): FileTable {
  let list: unknown;
  try {
    list = parseJson(text);
  } catch (error) {
    throw notReadable('JSON', error);
  }
  if (!Array.isArray(list)) throw new MusterdError('usage', 'This JSON is not a list of objects');
  const lines = linesOfMembers(text);
  return tableOf(list.map((item: unknown, at) => ({ line: lines[at] ?? 1, values: valuesOf(item) })));
}

/** Parted at line feeds alone: other readers also part it inside of a text. */
export function readNdjson(text: string): FileTable {
  const lines = text.split('\n').map((one, at) => ({ line: at + 1, one }));
  return tableOf(
    lines
      .filter(({ one }) => one.trim() !== '')
      .map(({ line, one }) => {
        try {
          return { line, values: valuesOf(parseJson(one)) };
        } catch (error) {
          return {
            line,
            values: `it is not JSON: ${error instanceof Error ? error.message : String(error)}`,
          };
        }
      }),
  );
}

/** Reading YAML takes ten times as long as anything else, and a hundred times the memory. */
const longestYaml = 4 * 1024 * 1024;
const isNothing = /^(~|null|Null|NULL|)$/;

/** The schema leaves every value the text that it is. */
const textOf = ({ value }: Scalar): string => (typeof value === 'string' ? value : '');

function valuesOfMap(map: YAMLMap): ObjectRow['values'] {
  const values = new Map<string, string>();
  for (const { key, value } of map.items) {
    if (!isScalar(key)) return 'a key is not text';
    const name = textOf(key);
    if (value === null) values.set(name, '');
    else if (!isScalar(value)) return nested(name);
    else {
      const text = textOf(value);
      values.set(name, value.type === 'PLAIN' && isNothing.test(text) ? '' : text);
    }
  }
  return values;
}

/** Every value is text as it is written: a phone number keeps its plus sign, and an id its digits. */
export function readYaml(text: string): FileTable {
  if (text.length > longestYaml)
    throw new MusterdError('usage', 'This YAML is too long to be read', {
      hint: 'Use CSV or NDJSON for as many rows.',
    });
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { schema: 'failsafe', lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw notReadable('YAML', error, lineCounter.linePos(error.pos[0]).line);
  const { contents } = document;
  if (contents === null) return tableOf([]);
  if (!isSeq(contents)) throw new MusterdError('usage', 'This YAML is not a list of rows');
  return tableOf(
    contents.items.map((item) => {
      const start = isMap(item) || isScalar(item) || isSeq(item) ? (item.range?.[0] ?? 0) : 0;
      const { line } = lineCounter.linePos(start);
      return { line, values: isMap(item) ? valuesOfMap(item) : 'it is not a row of names and values' };
    }),
  );
}
