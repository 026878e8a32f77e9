/**
 * One hash for each row of an answer: 8 bytes of the SHA-256 of its decoded values. A run looks at the rows whose hash is
 * another than in the record of the last run. A changed row is overlooked if both hashes are the same by chance, which is
 * once in 2^64 (1.8e19) changes, and only until it changes again or all rows are compared, a day later at most.
 *
 * Packed, a row is its id and its hash, 8 bytes each, in the order of the answer.
 */
import { hash } from 'node:crypto';
import type { Id } from './id.ts';
import { toJson } from './json.ts';

const idBytes = 8;
const hashBytes = 8;
const rowBytes = idBytes + hashBytes;

/** By id. A hash is a text of 8 characters, one a byte. */
export type RowHashes = ReadonlyMap<Id, string>;

/** What is known of the rows of an answer before it is read. */
export interface RowsBefore {
  /** Absent: the answer is the same as before, and so is each of its rows. It is used up. */
  readonly hashes?: Map<Id, string> | undefined;
  /** Whose rows are wanted even if they are the same. */
  readonly besides: ReadonlySet<Id>;
}

/** No text that can be stored has a NUL: what is behind one is never part of the text before. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return `\0s${value}`;
  if (typeof value === 'bigint') return `\0i${value}`;
  return value === null ? '\0n' : `\0j${toJson(value)}`;
}

/** Values in another order count as others, so such a row is looked at once more. */
export function hashOfRow(row: object): string {
  let text = '';
  for (const [name, value] of Object.entries(row)) text += `\0${name}${textOf(value)}`;
  return hash('sha256', text, 'binary').slice(0, hashBytes);
}

/** @param hashes of the rows, in their order */
export function packHashes(rows: readonly { readonly id: Id }[], hashes: readonly string[]): Buffer {
  const packed = Buffer.allocUnsafe(rows.length * rowBytes);
  for (const [at, { id }] of rows.entries()) {
    packed.writeBigInt64BE(id, at * rowBytes);
    packed.write(hashes[at] ?? '', at * rowBytes + idBytes, 'latin1');
  }
  return packed;
}

export const countHashes = (packed: Buffer): number => packed.length / rowBytes;

export function unpackHashes(packed: Buffer): Map<Id, string> {
  const hashes = new Map<Id, string>();
  for (let at = 0; at < packed.length; at += rowBytes)
    hashes.set(packed.readBigInt64BE(at), packed.toString('latin1', at + idBytes, at + rowBytes));
  return hashes;
}
