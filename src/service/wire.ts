/**
 * Shared by all decoders, which are tolerant: a row needs only a storable id. A number in place of a text, or the
 * reverse, is converted. A row is not rejected because a field is absent, null or of another type. Values that the typed
 * fields cannot express exactly stay in `raw`.
 */
import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { inTurns } from '../model/in-turns.ts';
import { toJson } from '../model/json.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import { longestText } from '../model/longest-text.ts';
import type { Reply } from './call.ts';
import { isObject, type JsonObject } from './json-object.ts';
import type { DecodeRows, Page, RowFacts } from './page.ts';
import { escapeUnprintable } from './printable.ts';
import { judgeRow, type TakeAs, takeExact, takeId } from './row-flaws.ts';

/** The most rows of one answer. No team can sensibly have more. */
const maxRows = 250_000;
const excerptLength = 500;
/** The most rejected rows of an answer that are reported with an excerpt. */
const mostExcerpts = 1_000;

/** Reads a text. An exact integer is accepted, too, as its digits. */
export const takeText: TakeAs<string> = (value) =>
  typeof value === 'string' ? value : (takeExact(value)?.toString() ?? null);

export const takeBoolean: TakeAs<boolean> = (value) => (typeof value === 'boolean' ? value : null);

/** Reads a list if all of its entries can be read; otherwise `null`. */
export function takeList<T>(take: TakeAs<T>): TakeAs<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return null;
    const taken = value.map(take);
    return taken.every((entry) => entry !== null) ? taken : null;
  };
}

/** Reads a nested object: its documented fields, and a `raw` of its own. */
export function takeObject<T>(shape: Shape<T>): TakeAs<Nullable<T> & { readonly raw: JsonObject }> {
  return (value) => (isObject(value) ? takeFields(value, shape, false) : null);
}

/** The documented fields of a resource, by our names, each with the interface's name and the reader for its type. */
export type Shape<T> = {
  readonly [K in keyof T]: readonly [wireName: string, take: TakeAs<NonNullable<T[K]>>];
};

export type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

interface ReadField {
  readonly name: string;
  readonly wireName: string;
  readonly take: TakeAs<unknown>;
}

/** A shape, indexed by the interface's names. It is built once, because an answer can have hundreds of thousands of rows. */
interface Reader {
  readonly fields: readonly ReadField[];
  readonly byWireName: ReadonlyMap<string, ReadField>;
  /** A row in which every field of the shape is absent. */
  readonly blank: JsonObject;
}

const readers = new WeakMap<object, Reader>();

function readerOf<T>(shape: Shape<T>): Reader {
  const cached = readers.get(shape);
  if (cached !== undefined) return cached;
  const entries = Object.entries(shape) as [string, readonly [string, TakeAs<unknown>]][];
  const fields = entries.map(([name, [wireName, take]]) => ({ name, wireName, take }));
  const reader = {
    fields,
    byWireName: new Map(fields.map((field) => [field.wireName, field])),
    blank: Object.fromEntries([...entries.map(([name]) => [name, null]), ['raw', nothing]]) as JsonObject,
  };
  readers.set(shape, reader);
  return reader;
}

/** The `raw` of a row that has only documented fields. */
export const nothing: JsonObject = Object.freeze({});

/** Fills in the row's fields. Unknown fields and fields of another type go to `raw`. */
function fillIn(fields: Record<string, unknown>, row: JsonObject, reader: Reader, hasId: boolean): void {
  let rest: Record<string, unknown> | undefined;
  // Keys mostly come in the order of the interface. Then no lookup by name is needed.
  let next = 0;
  for (const key in row) {
    if (hasId && key === 'id') continue;
    const value = row[key];
    let field = reader.fields[next];
    if (field?.wireName !== key) field = reader.byWireName.get(key);
    else next += 1;
    const taken = field === undefined ? null : field.take(value);
    if (field !== undefined && (taken !== null || value === null)) fields[field.name] = taken;
    else {
      rest ??= {};
      // Assigning to `__proto__` would set the prototype.
      if (key === '__proto__') Object.defineProperty(rest, key, { value, enumerable: true });
      else rest[key] = value;
    }
  }
  if (rest !== undefined) fields['raw'] = rest;
}

/** All documented fields. A field is `null` if absent, null or of another type; `raw` keeps a value of another type. */
export function takeFields<T>(
  row: JsonObject,
  shape: Shape<T>,
  hasId = true,
): Nullable<T> & { readonly raw: JsonObject } {
  const reader = readerOf(shape);
  const fields: Record<string, unknown> = { ...reader.blank };
  fillIn(fields, row, reader, hasId);
  return fields as Nullable<T> & { readonly raw: JsonObject };
}

/**
 * Only the documented fields that the service sent, including `id` if the shape has it. A field of another type
 * counts as not sent and is in `raw`.
 */
export function takeSentFields<T>(
  row: JsonObject,
  shape: Shape<T>,
): Partial<Nullable<T>> & { readonly raw: JsonObject } {
  const fields: Record<string, unknown> = { raw: nothing };
  fillIn(fields, row, readerOf(shape), false);
  return fields as Partial<Nullable<T>> & { readonly raw: JsonObject };
}

/** A value as a short piece of JSON that can be printed. */
export function excerpt(row: unknown): string {
  try {
    return escapeUnprintable(toJson(row)).slice(0, excerptLength).toWellFormed();
  } catch {
    return '(nested too deep to be shown)';
  }
}

export function rejectRow(resource: string, row: unknown, reason: string): RejectedRow {
  return { resource, id: isObject(row) ? takeId(row['id']) : null, reason, excerpt: excerpt(row) };
}

/** How to decode the rows of one resource. */
interface RowReader<Row> {
  readonly resource: string;
  readonly decode: (row: JsonObject, id: Id) => Row;
  /**
   * Fast path for a row with exactly the documented fields and types, which needs no full check; returns `null` for any
   * other row. It is used only if no string needs a check.
   */
  readonly decodePlain: ((row: JsonObject) => Row | null) | undefined;
}

/** Decodes all acceptable rows, while other work can run in between. A bad row does not affect other rows. */
export async function decodeRows<Row>(
  { resource, decode, decodePlain }: RowReader<Row>,
  rows: readonly unknown[],
  { suspicious }: RowFacts,
): Promise<Page<Row>> {
  const taken: Row[] = [];
  const rejected: RejectedRow[] = [];
  await inTurns(rows, (row) => {
    const plain = suspicious || decodePlain === undefined || !isObject(row) ? null : decodePlain(row);
    if (plain !== null) {
      taken.push(plain);
      return;
    }
    const { id, flaw } = judgeRow(row, suspicious);
    if (flaw !== null || id === null || !isObject(row)) {
      rejected.push(reject(resource, row, flaw, rejected.length));
    } else taken.push(decode(row, id));
  });
  return { rows: taken, rejected };
}

function reject(resource: string, row: unknown, flaw: string | null, before: number): RejectedRow {
  const content = before < mostExcerpts ? row : isObject(row) ? { id: row['id'] } : null;
  return rejectRow(resource, content, flaw ?? 'it is not an object');
}

/** The error for JSON of another shape than the interface's. The phase is `sent`: a write may have had an effect. */
export function unexpected(reply: Reply, expected: string): ServiceError {
  return new ServiceError(`${reply.operation} was answered ${reply.status} without ${expected}`, {
    operation: reply.operation,
    phase: 'sent',
    status: reply.status,
    requestId: reply.requestId ?? undefined,
    hint: 'The service, or a proxy before it, does not follow the interface.',
  });
}

/** @throws ServiceError for anything but a list of at most 250,000 entries */
function requireList(reply: Reply, value: unknown, expected: string): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected(reply, expected);
  if (value.length > maxRows) throw unexpected(reply, `a page: ${value.length} rows are too many`);
  return value;
}

/** Decodes the rows of a list. @throws ServiceError if the value is not a list, or is too long */
export async function takeRows<Row>(
  reply: Reply,
  value: unknown,
  expected: string,
  decode: DecodeRows<Row>,
): Promise<Page<Row>> {
  return await decode(requireList(reply, value, expected), { suspicious: reply.body.suspicious });
}

/** True for `null`, and for a text that can be stored unchanged (see `findFlaw`). */
export const isPlainText = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && value.length <= longestText);

/** The number of keys of a row. Parsed JSON has no inherited keys. */
export function countKeys(row: JsonObject): number {
  let keys = 0;
  for (const _key in row) keys += 1;
  return keys;
}
