/** Collects rows for Postgres in the text format of COPY, which needs a tenth of the memory of objects. */
import { inTurns } from '../../model/in-turns.ts';
import { toJson } from '../../model/json.ts';
import type { Id } from '../../model/id.ts';
import type { GatheredRows } from '../../model/listing.ts';
import { createBlocks } from './blocks.ts';

/** `jsonb`: the value is already JSON text. */
type ColumnType = 'bigint' | 'text' | 'boolean' | 'timestamptz' | 'jsonb';

/** The columns of staged rows, and the values of a row. The first column is the key. */
export interface StageShape<Row> {
  readonly name: string;
  readonly columns: readonly (readonly [name: string, type: ColumnType])[];
  /** The values of one row, in the order of the columns. */
  readonly values: (row: Row) => readonly (string | bigint | boolean | null | undefined)[];
}

export interface Spool<Row, Shape extends StageShape<Row> = StageShape<Row>> extends GatheredRows<Row> {
  readonly shape: Shape;
  readonly count: number;
  /** The rows as text in blocks. A block has only whole lines, one for each row. */
  blocks(): Iterable<Buffer>;
}

const special = /[\\\t\n\r]/;
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function toField(value: string | bigint | boolean | null | undefined): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value !== 'string') return String(value);
  return special.test(value) ? value.replaceAll(/[\\\t\n\r]/g, (char) => escapes[char] ?? char) : value;
}

const characters: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r' };

/** The inverse of {@link toField} for texts. */
const unescaped = (field: string): string =>
  field.replaceAll(/\\(.)/g, (_, char: string) => characters[char] ?? char);

/** Tries the fast `JSON.stringify` first. It fails for a `bigint`, which is rare, and slow to search for. */
export function toJsonField(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return toJson(value);
  }
}

const keyOf = (line: string): string => line.slice(0, line.indexOf('\t'));

function replaceLines(block: Buffer, replaced: ReadonlyMap<string, string>): Buffer {
  if (replaced.size === 0) return block;
  const lines = block
    .toString()
    .split('\n')
    .map((line) => replaced.get(keyOf(line)) ?? line);
  return Buffer.from(lines.join('\n'));
}

export function createSpool<Row, Shape extends StageShape<Row>>(
  shape: Shape & StageShape<Row>,
): Spool<Row, Shape> {
  let blocks = createBlocks();
  let count = 0;
  /** By key: the lines that replace earlier lines. They fit in memory, because rows that come twice are rare. */
  const replaced = new Map<string, string>();
  const lineOf = (row: Row) => {
    let line = '';
    for (const value of shape.values(row)) line += `${toField(value)}\t`;
    return line.slice(0, -1);
  };
  return {
    shape,
    get count() {
      return count;
    },
    clear: () => {
      blocks.close();
      blocks = createBlocks();
      replaced.clear();
      count = 0;
    },
    add: (rows) => {
      for (const row of rows) {
        blocks.add(`${lineOf(row)}\n`);
        count += 1;
      }
    },
    replace: (row) => {
      const line = lineOf(row);
      replaced.set(keyOf(line), line);
    },
    differing: () => {
      const ids: Id[] = [];
      for (const block of replaced.size === 0 ? [] : blocks.read())
        for (const line of block.toString().split('\n'))
          if ((replaced.get(keyOf(line)) ?? line) !== line) ids.push(BigInt(keyOf(line)));
      return ids;
    },
    blocks: function* () {
      for (const block of blocks.read()) yield replaceLines(block, replaced);
    },
    close: () => blocks.close(),
  };
}

/** Runs `work` with a spool of all these rows. Adding the rows has pauses, so that the event loop can do other work. */
export async function withSpool<Row, Shape extends StageShape<Row>, R>(
  shape: Shape & StageShape<Row>,
  rows: Iterable<Row>,
  work: (spool: Spool<Row, Shape>) => Promise<R>,
): Promise<R> {
  const spool = createSpool<Row, Shape>(shape);
  try {
    await inTurns(rows, (row) => spool.add([row]));
    return await work(spool);
  } finally {
    spool.close();
  }
}

/** A key and its value for a JSON object; empty for null, because `json_to_recordset` reads an absent key as null. */
function fieldToJson(field: string, key: string, type: ColumnType): string {
  if (field === '\\N') return '';
  if (type === 'bigint' || type === 'boolean') return `${key}${field},`;
  const text = field.includes('\\') ? unescaped(field) : field;
  return `${key}${type === 'jsonb' ? text : JSON.stringify(text)},`;
}

/** The rows of a spool as one JSON array of objects. */
export function spoolToJson(spool: Pick<Spool<never>, 'shape' | 'blocks'>): string {
  const columns = spool.shape.columns.map(([name, type]) => [`"${name}":`, type] as const);
  const rows: string[] = [];
  for (const block of spool.blocks()) {
    const lines = block.toString().split('\n');
    lines.pop();
    for (const line of lines) {
      const fields = line.split('\t');
      let row = '';
      for (const [at, [key, type]] of columns.entries()) row += fieldToJson(fields[at] ?? '\\N', key, type);
      rows.push(`{${row.slice(0, -1)}}`);
    }
  }
  return `[${rows.join(',')}]`;
}
