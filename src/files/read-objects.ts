/** Reads formats in which each row names its values: JSON, NDJSON, YAML. */
import {
  Composer,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { MusterdError } from '../errors.ts';
import type { FileTable } from '../model/file-table.ts';
import { chooseColumns, type TableWishes } from './choose-columns.ts';
import { inTurns } from '../model/in-turns.ts';
import { eachRow, linesOf, type WrittenRow } from './each-row.ts';

/** The named values of a row, and the reason why the row cannot be used, if there is one. */
interface ObjectValues {
  readonly values: readonly (readonly [name: string, value: string])[];
  readonly wrong: string | undefined;
}

const nested = (key: string) => `${key} holds a list or an object`;
const noRow = (wrong: string): ObjectValues => ({ values: [], wrong });

/** Collects the rows, and the names of all columns. */
function createObjects({ isRead }: Pick<TableWishes, 'isRead'>) {
  const names = new Set<string>();
  const good: { line: number; of: ReadonlyMap<string, string> }[] = [];
  const bad: ((typeof good)[number] & { reason: string; text: string })[] = [];
  const add = ({ line, text }: WrittenRow, { values, wrong }: ObjectValues) => {
    for (const [name] of values) names.add(name);
    const row = { line, of: new Map(values.filter(([name]) => isRead(name, []))) };
    if (wrong === undefined) good.push(row);
    else bad.push({ ...row, reason: wrong, text });
  };
  const table = (): FileTable => {
    const { columns, places, notes } = chooseColumns([...names], { isRead });
    const read = columns.slice(0, places.length);
    const withCells = <T extends (typeof good)[number]>({ of, ...row }: T) => ({
      ...row,
      cells: read.map((column) => of.get(column) ?? ''),
    });
    return { columns, rows: good.map(withCells), problems: bad.map(withCells), notes };
  };
  return { add, table };
}

/** Keeps numbers as they are written, so that an id of twenty digits is not rounded. */
function parseJson(text: string): unknown {
  const keepNumber = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, keepNumber);
}

const longestRow = 1024 * 1024;

function valuesOf(text: string): ObjectValues {
  if (text.length > longestRow) return noRow('it is longer than 1 MiB');
  const item = parseJson(text);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return noRow('it is not an object');
  const entries = Object.entries(item as Readonly<Record<string, unknown>>);
  const wrong = entries.find(([, value]) => typeof value === 'object' && value !== null);
  const textIn = (value: unknown) => (typeof value === 'object' ? '' : String(value as string | boolean));
  return { values: entries.map(([key, value]) => [key, textIn(value)]), wrong: wrong && nested(wrong[0]) };
}

const sayError = (error: unknown) => (error instanceof Error ? error.message : String(error));

const notReadable = (what: string, error: unknown, line?: number) =>
  new MusterdError(
    'usage',
    `${line === undefined ? 'This' : `Line ${line}: this`} is not ${what}: ${sayError(error)}`,
    { cause: error },
  );

/** The position of the quote that closes the string whose opening quote is at `start`. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** The nesting depth after this character. A `}` directly in the list is ignored here; JSON.parse reports it later. */
function depthAfter(char: string, depth: number): number {
  if (char === '[' || char === '{') return depth + 1;
  return char === ']' || (char === '}' && depth > 1) ? depth - 1 : depth;
}

/** Yields the members of a JSON list as text that is not parsed yet. @throws MusterdError `usage` */
function* membersOf(text: string): Generator<WrittenRow> {
  const start = text.search(/\S/);
  if (text[start] !== '[') throw new MusterdError('usage', 'This JSON is not a list of objects');
  let line = text.slice(0, start).split('\n').length;
  let depth = 0;
  let from = start + 1;
  let first: number | undefined;
  let members = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '\n') line += 1;
    if (depth === 1 && (char === ',' || char === ']')) {
      const isEmpty = char === ']' && first === undefined && members === 0;
      if (!isEmpty) yield { line: first ?? line, text: text.slice(from, at) };
      members += 1;
      from = at + 1;
      first = undefined;
    } else if (depth === 1 && !/\s/.test(char)) first ??= line;
    if (char === '"') at = endOfText(text, at);
    depth = depthAfter(char, depth);
    if (depth === 0) return requireEnd(text, at + 1, line);
  }
  throw notReadable('JSON', 'its list does not end', line);
}

function requireEnd(text: string, at: number, line: number): void {
  if (text.slice(at).trim() !== '') throw notReadable('JSON', 'it continues after its list', line);
}

export async function readJsonList(text: string, wishes: TableWishes): Promise<FileTable> {
  const objects = createObjects(wishes);
  await eachRow(membersOf(text), wishes.signal, (member) => {
    try {
      objects.add(member, valuesOf(member.text));
    } catch (error) {
      throw notReadable('JSON', error, member.line);
    }
  });
  return objects.table();
}

export async function readNdjson(text: string, wishes: TableWishes): Promise<FileTable> {
  const objects = createObjects(wishes);
  await eachRow(linesOf(text), wishes.signal, (line) => {
    try {
      objects.add(line, valuesOf(line.text));
    } catch (error) {
      objects.add(line, noRow(`it is not JSON: ${sayError(error)}`));
    }
  });
  return objects.table();
}

/** Reading YAML takes ten times as long as the other formats, and a hundred times the memory. */
const longestYaml = 2 * 1024 * 1024;
const isNothing = /^(~|null|Null|NULL|)$/;

/** The text of a value. The schema `failsafe` keeps every value as text. */
const textOf = ({ value }: Scalar): string => (typeof value === 'string' ? value : '');

/** @throws MusterdError `usage` for a key that occurs twice */
function valuesOfMap(map: YAMLMap, lineOf: (offset: number) => number): ObjectValues {
  const values = new Map<string, string>();
  let wrong: string | undefined;
  for (const { key, value } of map.items) {
    if (!isScalar(key)) return noRow('a key is not text');
    const name = textOf(key);
    if (values.has(name)) throw notReadable('YAML', `${name} is given twice`, lineOf(key.range?.[0] ?? 0));
    if (value === null) values.set(name, '');
    else if (!isScalar(value)) wrong ??= nested(name);
    else {
      const text = textOf(value);
      values.set(name, value.type === 'PLAIN' && isNothing.test(text) ? '' : text);
    }
  }
  return { values: [...values], wrong };
}

/** YAML with many mistakes creates many errors. Without stack traces, these take a tenth of the time. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The YAML parser's check for repeated keys compares all pairs of keys, so it is off. `valuesOfMap` checks the keys. */
async function parseYaml(text: string, lines: LineCounter, signal: AbortSignal): Promise<Document.Parsed> {
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false });
  const documents: Document.Parsed[] = [];
  lines.addNewLine(0);
  await inTurns(new Lexer().lex(text), (lexeme) => {
    signal.throwIfAborted();
    withoutStacks(() => {
      for (const token of parser.next(lexeme)) documents.push(...composer.next(token));
    });
  });
  withoutStacks(() => {
    for (const token of parser.end()) documents.push(...composer.next(token));
    documents.push(...composer.end(true, text.length));
  });
  const [document, another] = documents;
  if (document === undefined || another !== undefined) throw new Error('it is several documents');
  return document;
}

/** Keeps every value as text, so that a phone number keeps its plus sign, and an id all of its digits. */
export async function readYaml(text: string, wishes: TableWishes): Promise<FileTable> {
  if (text.length > longestYaml)
    throw new MusterdError('usage', 'This YAML is too long', {
      hint: 'Use CSV or NDJSON for this many rows.',
    });
  const { signal } = wishes;
  const lineCounter = new LineCounter();
  const lineOf = (offset: number) => lineCounter.linePos(offset).line;
  const document = await parseYaml(text, lineCounter, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw notReadable('YAML', error);
  });
  const [error] = document.errors;
  if (error !== undefined) throw notReadable('YAML', error, lineOf(error.pos[0]));
  const { contents } = document;
  const objects = createObjects(wishes);
  if (contents === null) return objects.table();
  if (!isSeq(contents)) throw new MusterdError('usage', 'This YAML is not a list of rows');
  await eachRow(contents.items, signal, (item) => {
    const [from, to] = (isNode(item) && item.range) || [0, 0];
    const row = { line: lineOf(from), text: text.slice(from, to) };
    objects.add(row, isMap(item) ? valuesOfMap(item, lineOf) : noRow('it is not a row of names and values'));
  });
  return objects.table();
}
