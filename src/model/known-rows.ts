/**
 * The rows of a long answer, known again by their bytes. The answer is cut into pieces of some rows each; of every piece
 * its digest is kept, and the ids of its rows. A piece that comes again need not be parsed.
 *
 * Packed, a piece is 16 bytes of its SHA-256, the number of its rows in two bytes, and 8 bytes for each id. Pieces are
 * numbered from 0 in the order of the answer.
 */
import { createHash } from 'node:crypto';
import type { Id } from './id.ts';

const digestBytes = 16;
const idBytes = 8;
const headBytes = digestBytes + 2;
/** More than any piece has: a row takes at least some bytes. */
export const mostRowsInPiece = 65_535;

export interface KnownRows {
  readonly packed: Buffer;
  readonly pieces: number;
  readonly rows: number;
  /** @param digest 16 characters, one a byte */
  find(digest: string): number | undefined;
  idsOf(piece: number): readonly Id[];
  rowsIn(piece: number): number;
  packedOf(piece: number): Buffer;
  /** The pieces that these rows are in; `null`: one of them is in none. */
  holding(ids: ReadonlySet<Id>): ReadonlySet<number> | null;
}

/** Tells packed rows from others. */
export const digestOfRows = (packed: Buffer): string =>
  createHash('sha256').update(packed).digest('base64url');

/** What to go by where an answer is read again. */
export interface RowsBefore {
  readonly rows: KnownRows;
  /** Pieces that count for nothing: the last answer had others in their place. */
  readonly ended: ReadonlySet<number>;
  /** Pieces that are read even where they are the same. */
  readonly asked: ReadonlySet<number>;
}

/** The rows of an answer, to be known the next time. */
export interface NotedRows {
  /** How many they are. */
  readonly length: number;
  readonly packed: () => Buffer;
  /** Where it was compared with rows that were known: those, and which of their pieces are not in it. */
  readonly before?: { readonly rows: KnownRows; readonly ended: ReadonlySet<number> };
}

export function packPiece(digest: string, ids: readonly Id[]): Buffer {
  const piece = Buffer.allocUnsafe(headBytes + ids.length * idBytes);
  piece.write(digest, 0, 'latin1');
  piece.writeUInt16BE(ids.length, digestBytes);
  let at = headBytes;
  for (const id of ids) at = piece.writeBigInt64BE(id, at);
  return piece;
}

/** Where each piece begins, and where the last one ends. */
function findPieces(packed: Buffer): readonly number[] {
  const starts = [0];
  for (let at = 0; at < packed.length; ) {
    at += headBytes + packed.readUInt16BE(at + digestBytes) * idBytes;
    starts.push(at);
  }
  return starts;
}

/** @throws RangeError where these bytes are not such rows */
export function openKnownRows(packed: Buffer): KnownRows {
  const starts = findPieces(packed);
  const pieces = starts.length - 1;
  if (starts[pieces] !== packed.length) throw new RangeError('rows that were kept are cut short');
  const startOf = (piece: number) => starts[piece] ?? packed.length;
  const byDigest = new Map<string, number>();
  for (let piece = 0; piece < pieces; piece += 1)
    byDigest.set(packed.toString('latin1', startOf(piece), startOf(piece) + digestBytes), piece);
  const idsOf = (piece: number) => {
    const ids: Id[] = [];
    for (let at = startOf(piece) + headBytes; at < startOf(piece + 1); at += idBytes)
      ids.push(packed.readBigInt64BE(at));
    return ids;
  };
  return {
    packed,
    pieces,
    rows: (packed.length - pieces * headBytes) / idBytes,
    find: (digest) => byDigest.get(digest),
    idsOf,
    rowsIn: (piece) => (startOf(piece + 1) - startOf(piece) - headBytes) / idBytes,
    packedOf: (piece) => packed.subarray(startOf(piece), startOf(piece + 1)),
    holding: (ids) => {
      const found = new Set<number>();
      let left = ids.size;
      for (let piece = 0; left > 0 && piece < pieces; piece += 1) {
        const theirs = idsOf(piece).filter((id) => ids.has(id)).length;
        if (theirs > 0) found.add(piece);
        left -= theirs;
      }
      return left > 0 ? null : found;
    },
  };
}

/** Up to this share of the kept pieces may have ended before all rows are written again. */
const mostEnded = 1 / 8;

/** The rows to keep: those kept before, if most of their pieces are in the answer still. */
export interface RowsToKeep {
  readonly digest: string;
  readonly ended: readonly number[];
  /** `null`: they are kept already. */
  readonly packed: Buffer | null;
}

export function rowsToKeep({ before, packed: pack }: NotedRows): RowsToKeep {
  if (before !== undefined && before.ended.size <= before.rows.pieces * mostEnded)
    return { digest: digestOfRows(before.rows.packed), ended: [...before.ended], packed: null };
  const packed = pack();
  return { digest: digestOfRows(packed), ended: [], packed };
}
