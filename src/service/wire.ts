/**
 * What all decoders share. They are tolerant: a row needs an
 * id that can be stored and nothing else; a number for a text, or the reverse, is read as what it plainly says;
 * what is absent, null or of another type than documented does not cost the row, and what the typed fields cannot say exactly stays in `raw`.
 */
import { ServiceError } from '../errors.ts';
import { type Id, maxId } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { RejectedRow } from '../model/listing.ts';
import { isTooLong, longestText } from '../model/longest-text.ts';
import type { Reply } from './call.ts';
import { isObject, type JsonObject } from './parse-json.ts';
import type { Page } from './page.ts';
import { escapeUnprintable } from './printable.ts';

const maxDepth = 32;
/** More rows in one answer than any page can sensibly have. */
const maxRows = 250_000;
const excerptLength = 500;
/** Of so many rejected rows of an answer it is told how they looked. */
const mostExcerpts = 1_000;

/** The JavaScript value of a field, if it is of the documented type; `null` otherwise. */
export type TakeAs<T> = (value: unknown) => T | null;

/** A number that is exactly an integer of 64 bits. */
const takeExact: TakeAs<bigint> = (value) => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null;
  return typeof value === 'bigint' && value <= maxId && value >= -maxId - 1n ? value : null;
};

const integerText = /^(?:0|-?[1-9]\d{0,18})$/;

/** A 64-bit integer; a text that is nothing but one counts as well. */
export const takeInteger: TakeAs<bigint> = (value) =>
  takeExact(typeof value === 'string' && integerText.test(value) ? BigInt(value) : value);

/**
 * "All IDs are integers" (interface.md, Resources): from 1 to the largest that can be stored, exactly. What a row is
 * known by is not guessed from a text.
 */
export const takeId: TakeAs<Id> = (value) => {
  const id = takeExact(value);
  return id !== null && id > 0n ? id : null;
};

/** A text; a number that is exactly an integer counts as its digits. */
export const takeText: TakeAs<string> = (value) =>
  typeof value === 'string' ? value : (takeExact(value)?.toString() ?? null);

export const takeBoolean: TakeAs<boolean> = (value) => (typeof value === 'boolean' ? value : null);

/** All of the list's entries, or `null`. */
export function takeList<T>(take: TakeAs<T>): TakeAs<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return null;
    const taken = value.map(take);
    return taken.every((entry) => entry !== null) ? taken : null;
  };
}

/** An object inside a row, with its documented fields and its own `raw`. */
export function takeObject<T>(shape: Shape<T>): TakeAs<Nullable<T> & { readonly raw: JsonObject }> {
  return (value) => (isObject(value) ? takeFields(value, shape, false) : null);
}

/** An object whose fields are not documented, as it is. */
export const takeJson: TakeAs<JsonObject> = (value) => (isObject(value) ? value : null);

/** The documented fields of a resource: our name, the interface's name, and the type. */
export type Shape<T> = {
  readonly [K in keyof T]: readonly [wireName: string, take: TakeAs<NonNullable<T[K]>>];
};

export type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** A shape by the interface's names, made once; rows come by the hundred thousand. */
interface Reader {
  readonly byWireName: ReadonlyMap<string, { readonly name: string; readonly take: TakeAs<unknown> }>;
  /** Every field of the shape, as absent. */
  readonly blank: JsonObject;
}

const readers = new WeakMap<object, Reader>();

function readerOf<T>(shape: Shape<T>): Reader {
  const known = readers.get(shape);
  if (known !== undefined) return known;
  const entries = Object.entries(shape) as [string, readonly [string, TakeAs<unknown>]][];
  const reader = {
    byWireName: new Map(entries.map(([name, [wireName, take]]) => [wireName, { name, take }])),
    blank: Object.fromEntries(entries.map(([name]) => [name, null])),
  };
  readers.set(shape, reader);
  return reader;
}

const nothing: JsonObject = Object.freeze({});

/** Fills in what the row says; `raw` is what the typed fields do not say: unknown, or of another type. */
function fillIn(fields: Record<string, unknown>, row: JsonObject, reader: Reader, hasId: boolean): void {
  let rest: Record<string, unknown> | undefined;
  for (const key in row) {
    if (hasId && key === 'id') continue;
    const value = row[key];
    const field = reader.byWireName.get(key);
    if (field !== undefined) {
      const taken = field.take(value);
      if (taken !== null || value === null) {
        fields[field.name] = taken;
        continue;
      }
    }
    rest ??= {};
    // Assigned, this one name would set the prototype instead.
    if (key === '__proto__') Object.defineProperty(rest, key, { value, enumerable: true });
    else rest[key] = value;
  }
  fields['raw'] = rest ?? nothing;
}

/** All documented fields, `null` where absent, null or of another type; in the last case `raw` has them. */
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

/** Only the documented fields that the service sent; one of another type counts as not sent, and is in `raw`. */
export function takeSentFields<T>(
  row: JsonObject,
  shape: Shape<T>,
): Partial<Nullable<T>> & { readonly raw: JsonObject } {
  const fields: Record<string, unknown> = {};
  fillIn(fields, row, readerOf(shape), true);
  return fields as Partial<Nullable<T>> & { readonly raw: JsonObject };
}

const largestInteger = 10n ** 1000n;
/** Far within what Postgres can store, and far beyond what anything is counted in. */
const largestNumber = 1e300;

function findNumberFlaw(value: number | bigint): string | null {
  if (typeof value === 'bigint') {
    return value < largestInteger && value > -largestInteger ? null : 'a number has more than 1000 digits';
  }
  const size = Math.abs(value);
  const fits = size === 0 || (size <= largestNumber && size >= 1 / largestNumber);
  return fits ? null : 'a number is beyond 1e300 or below 1e-300';
}

function findTextFlaw(text: string, suspicious: boolean): string | null {
  if (isTooLong(text)) return `a text is longer than ${longestText} characters`;
  if (!suspicious) return null;
  if (text.includes('\0')) return 'a text holds a NUL';
  return text.isWellFormed() ? null : 'a text holds half a surrogate pair';
}

/**
 * What makes a value impossible to store, or `null`.
 *
 * @param suspicious whether strings have to be looked at for a NUL or a lone surrogate
 */
export function findFlaw(value: unknown, suspicious: boolean, depth = 0): string | null {
  if (typeof value === 'string') return findTextFlaw(value, suspicious);
  if (typeof value === 'number' || typeof value === 'bigint') return findNumberFlaw(value);
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= maxDepth) return `values are nested deeper than ${maxDepth} levels`;
  for (const key in value) {
    const inner: unknown = (value as JsonObject)[key];
    const flaw =
      (suspicious ? findTextFlaw(key, true) : null) ??
      (typeof inner === 'string' ? findTextFlaw(inner, suspicious) : findFlaw(inner, suspicious, depth + 1));
    if (flaw !== null) return flaw;
  }
  return null;
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

/** Takes what rows can be taken. One bad row costs no other. */
export function decodeRows<Row>(
  resource: string,
  rows: readonly unknown[],
  suspicious: boolean,
  decode: (row: JsonObject, id: Id) => Row,
): Page<Row> {
  const taken: Row[] = [];
  const rejected: RejectedRow[] = [];
  for (const row of rows) {
    const id = isObject(row) ? takeId(row['id']) : null;
    const flaw = id === null ? 'its id is not an integer from 1 to 2^63 - 1' : findFlaw(row, suspicious);
    if (flaw !== null || id === null || !isObject(row)) {
      const shown = rejected.length < mostExcerpts ? row : isObject(row) ? { id: row['id'] } : null;
      rejected.push(rejectRow(resource, shown, flaw ?? 'it is not an object'));
    } else taken.push(decode(row, id));
  }
  return { rows: taken, rejected };
}

/**
 * An answer that is JSON and not what the interface says. Whether a write had its effect is then unknown,
 * hence `sent`.
 */
export function unexpected(reply: Reply, expected: string): ServiceError {
  return new ServiceError(`${reply.operation} was answered ${reply.status} without ${expected}`, {
    operation: reply.operation,
    phase: 'sent',
    status: reply.status,
    requestId: reply.requestId ?? undefined,
    hint: 'the service, or what stands between, does not follow the interface',
  });
}

/** @throws ServiceError for anything but a list of at most 250,000 entries */
export function requireList(reply: Reply, value: unknown, expected: string): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected(reply, expected);
  if (value.length > maxRows) throw unexpected(reply, `a page: ${value.length} rows are too many`);
  return value;
}
