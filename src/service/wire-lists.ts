/** Decodes tags, contact fields and the count of contacts. */
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import type { Tag } from '../model/tag.ts';
import type { Reply } from './call.ts';
import type { DecodeRows } from './page.ts';
import { isObject, type JsonObject } from './json-object.ts';
import type { Page } from './page.ts';
import { takeInteger } from './row-flaws.ts';
import { decodeRows, type Shape, takeFields, takeRows, takeText, unexpected } from './wire.ts';

const tagShape: Shape<Omit<Tag, 'id' | 'raw'>> = {
  teamId: ['team_id', takeInteger],
  tag: ['tag', takeText],
  color: ['color', takeText],
  rev: ['rev', takeInteger],
  created: ['created', takeText],
  updated: ['updated', takeText],
};

const contactFieldShape: Shape<Omit<ContactField, 'id' | 'raw'>> = {
  op: ['op', takeText],
  rev: ['rev', takeInteger],
  tid: ['tid', takeInteger],
  title: ['title', takeText],
  uid: ['uid', takeInteger],
};

/** interface.md, Tag. */
export function decodeTag(row: JsonObject, id: Id): Tag {
  return { id, ...takeFields(row, tagShape) };
}

/** interface.md, Contact field. */
export function decodeContactField(row: JsonObject, id: Id): ContactField {
  return { id, ...takeFields(row, contactFieldShape) };
}

export type DecodeRow<Row> = (row: JsonObject, id: Id) => Row;

export const decodeList =
  <Row>(resource: string, decode: DecodeRow<Row>): DecodeRows<Row> =>
  (rows, look) =>
    decodeRows({ resource, decode, decodePlain: undefined }, rows, look);

/** @throws ServiceError for anything but a list */
export function decodePage<Row>(reply: Reply, resource: string, decode: DecodeRow<Row>): Page<Row> {
  return takeRows(reply, reply.body.value, `a list of ${resource}`, decodeList(resource, decode));
}

/** Decodes one resource. @throws ServiceError for anything that cannot be accepted, or has another id */
export function decodeOne<Row extends { readonly id: Id }>(
  reply: Reply,
  resource: string,
  asked: Id,
  decode: DecodeRow<Row>,
): Row {
  const { value, suspicious } = reply.body;
  if (!isObject(value)) throw unexpected(reply, `a ${resource}`);
  const page = decodeRows({ resource, decode, decodePlain: undefined }, [value], {
    suspicious,
    piece: undefined,
  });
  const [row] = page.rows;
  if (row === undefined) throw unexpected(reply, `a usable ${resource}: ${page.rejected[0]?.reason ?? ''}`);
  if (row.id !== asked) throw unexpected(reply, `the ${resource} that was asked for`);
  return row;
}

/** At most 15 digits, without signs, spaces, separators, exponents or leading zeros. */
const count = /^(?:0|[1-9]\d{0,14})$/;

/**
 * `POST /v1/contacts/count`: "a string holding the count of contacts" (interface.md, Endpoints). A JSON
 * integer is accepted as well, and nothing else, because a wrong guess would be stored as a count.
 *
 * @throws ServiceError
 */
export function decodeCount(reply: Reply): bigint {
  const { value, spelling } = reply.body;
  const digits = typeof value === 'string' ? value : (spelling ?? '');
  if (!count.test(digits)) throw unexpected(reply, 'a count of contacts');
  return BigInt(digits);
}
