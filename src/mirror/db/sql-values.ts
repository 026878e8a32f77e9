/** The columns of a result, and their values as text and as JSON, exact to the digit. */
import pg from 'pg';

export interface SqlColumn {
  readonly name: string;
  /** The value as text, for tables and CSV. */
  readonly inWords: (value: string) => string;
  readonly inJson: (value: string) => string;
}

const { builtins } = pg.types;
const numbers: ReadonlySet<number> = new Set([
  builtins.INT2,
  builtins.INT4,
  builtins.INT8,
  builtins.OID,
  builtins.FLOAT4,
  builtins.FLOAT8,
  builtins.NUMERIC,
]);
const moments: ReadonlySet<number> = new Set([builtins.TIMESTAMP, builtins.TIMESTAMPTZ]);
const documents: ReadonlySet<number> = new Set([builtins.JSON, builtins.JSONB]);

/** The element type of each array type that the mirror has, or that people build from its columns. */
const elements: ReadonlyMap<number, number> = new Map([
  [199, builtins.JSON],
  [1000, builtins.BOOL],
  [1003, 19],
  [1005, builtins.INT2],
  [1007, builtins.INT4],
  [1009, builtins.TEXT],
  [1015, builtins.VARCHAR],
  [1016, builtins.INT8],
  [1021, builtins.FLOAT4],
  [1022, builtins.FLOAT8],
  [1115, builtins.TIMESTAMP],
  [1182, builtins.DATE],
  [1185, builtins.TIMESTAMPTZ],
  [1231, builtins.NUMERIC],
  [2951, builtins.UUID],
  [3807, builtins.JSONB],
]);
const textList: number = 1009;

const moment = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(:\d\d(?::\d\d)?)?)?$/;

/** Converts a time to ISO 8601. `infinity` and years BC stay unchanged. */
function toIso(text: string): string {
  const [, date, time, hours, minutes = ':00'] = moment.exec(text) ?? [];
  if (date === undefined || time === undefined) return text;
  const zone = hours === undefined ? '' : `${hours}${minutes}`;
  return `${date}T${time}${zone === '+00:00' ? 'Z' : zone}`;
}

const inWords = (type: number) => (value: string) => {
  if (type === builtins.BOOL) return value === 't' ? 'true' : 'false';
  return moments.has(type) ? toIso(value) : value;
};

function listInJson(value: unknown, inJson: (value: string) => string): string {
  if (Array.isArray(value)) return `[${value.map((item) => listInJson(item, inJson)).join(',')}]`;
  return typeof value === 'string' ? inJson(value) : 'null';
}

/** Returns a function that converts a value of this type to JSON. Bounds of an array (`[0:1]={a,b}`) are dropped. */
function inJson(type: number): (value: string) => string {
  const element = elements.get(type);
  if (element !== undefined) {
    const read: (text: string) => unknown = pg.types.getTypeParser(textList);
    const each = inJson(element);
    return (value) => listInJson(read(value), each);
  }
  // In a JSON document, line breaks occur only between its parts, never inside a text.
  if (documents.has(type)) return (value) => value.replaceAll(/[\r\n]+/g, ' ');
  if (type === builtins.BOOL) return inWords(type);
  // NaN and Infinity become texts, because JSON has no such numbers.
  if (numbers.has(type))
    return (value) => (/^-?\d+(\.\d+)?(e[+-]\d+)?$/i.test(value) ? value : JSON.stringify(value));
  const words = inWords(type);
  return (value) => JSON.stringify(words(value));
}

/** Makes column names unique, because a JSON object has each key once. */
export function columnsInAnswer(
  fields: readonly { readonly name: string; readonly dataTypeID: number }[],
): readonly SqlColumn[] {
  const taken = new Set(fields.map(({ name }) => name));
  const seen = new Set<string>();
  return fields.map(({ name, dataTypeID: type }) => {
    let own = name;
    for (let count = 2; seen.has(own); count += 1)
      if (!taken.has(`${name}_${count}`) && !seen.has(`${name}_${count}`)) own = `${name}_${count}`;
    seen.add(own);
    return { name: own, inWords: inWords(type), inJson: inJson(type) };
  });
}
