/** Decodes the rows of listed resources, and the count of contacts. */
import type { Id } from '../model/id.ts';
import type { ColumnKind, ListedResource, ListedRow } from '../model/listed-resource.ts';
import type { Reply } from './call.ts';
import { isObject, type JsonObject } from './json-object.ts';
import type { DecodeRows, Page } from './page.ts';
import { type TakeAs, takeId, takeInteger } from './row-flaws.ts';
import {
  decodeRows,
  type Shape,
  takeBoolean,
  takeFields,
  takeList,
  takeRows,
  takeText,
  unexpected,
} from './wire.ts';

const takeAs: Readonly<Record<ColumnKind, TakeAs<unknown>>> = {
  text: takeText,
  integer: takeInteger,
  boolean: takeBoolean,
  texts: takeList(takeText),
  ids: takeList(takeId),
  object: (value) => (isObject(value) ? value : null),
  team: takeInteger,
};

/** Returns the decoder for rows of a listed resource, in which each column has the name of its field in the interface. */
export function decodeListed({ columns }: ListedResource): DecodeRow<ListedRow> {
  const shape = Object.fromEntries(
    Object.entries(columns).map(([name, kind]) => [name, [name, takeAs[kind]]] as const),
  ) as Shape<Readonly<Record<string, unknown>>>;
  return (row, id) => ({ id, ...takeFields(row, shape) });
}

export type DecodeRow<Row> = (row: JsonObject, id: Id) => Row;

const decodeList =
  <Row>(resource: string, decode: DecodeRow<Row>): DecodeRows<Row> =>
  (rows, look) =>
    decodeRows({ resource, decode, decodePlain: undefined }, rows, look);

/** Decodes the rows of a page. @throws ServiceError for anything but a list */
export async function decodePage<Row>(
  reply: Reply,
  resource: string,
  decode: DecodeRow<Row>,
): Promise<Page<Row>> {
  return await takeRows(reply, reply.body.value, `a list of ${resource}`, decodeList(resource, decode));
}

/** Decodes one row. @throws ServiceError if the row cannot be accepted, or has another id */
export async function decodeOne<Row extends { readonly id: Id }>(
  reply: Reply,
  resource: string,
  asked: Id,
  decode: DecodeRow<Row>,
): Promise<Row> {
  const { value, suspicious } = reply.body;
  if (!isObject(value)) throw unexpected(reply, `a ${resource}`);
  const page = await decodeRows({ resource, decode, decodePlain: undefined }, [value], { suspicious });
  const [row] = page.rows;
  if (row === undefined) throw unexpected(reply, `a usable ${resource}: ${page.rejected[0]?.reason ?? ''}`);
  if (row.id !== asked) throw unexpected(reply, `the ${resource} that was asked for`);
  return row;
}

/** A count has at most 15 digits, without signs, spaces, separators, exponents or leading zeros. */
const count = /^(?:0|[1-9]\d{0,14})$/;

/**
 * `POST /v1/contacts/count`: "a string holding the count of contacts" (interface.md, Endpoints). A JSON integer is
 * accepted, too. Any other answer is refused, because a wrong guess would be stored as a count.
 *
 * @throws ServiceError
 */
export function decodeCount(reply: Reply): bigint {
  const { value, spelling } = reply.body;
  const digits = typeof value === 'string' ? value : (spelling ?? '');
  if (!count.test(digits)) throw unexpected(reply, 'a count of contacts');
  return BigInt(digits);
}
