/** The list in the text of an answer: where it stands, how its pieces are decoded, and what is left without it. */
import { isAscii, isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Id } from '../model/id.ts';
import { fromJson } from '../model/json.ts';
import { mostRowsInPiece } from '../model/known-rows.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import { cutRows, findList } from './cut-rows.ts';
import type { DecodeRows, Frame, Page } from './page.ts';
import { isSuspicious } from './row-flaws.ts';

/** An answer of no more than this takes little room, no matter how it is kept. */
const shortBytes = 262_144;
/** So much is parsed before others have their turn. */
const bytesPerTurn = 131_072;

export interface HasId {
  readonly id: Id;
}

export interface Taken {
  readonly rows: unknown[];
  readonly rejected: RejectedRow[];
}

/** The bytes of a list, and how they become rows. */
export interface ListText {
  readonly bytes: Buffer;
  /** Where its bracket stands. */
  readonly at: number;
  readonly text: (from: number, to: number) => string;
}

export function findText(bytes: Buffer, property: string | null): ListText | null {
  const at = isUtf8(bytes) ? findList(bytes, property) : null;
  if (at === null) return null;
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  return { bytes, at, text: (from, to) => bytes.toString(encoding, from, to) };
}

/** Decodes the rows between two places; `null`: what stands there is not rows alone. */
export function createDecoder({ bytes, text }: ListText, decode: DecodeRows<unknown>, taken: Taken) {
  const isLong = bytes.length > shortBytes;
  let isExact = false;
  const parse = (list: string): readonly unknown[] | null => {
    try {
      const rows = (isExact ? fromJson(list) : JSON.parse(list)) as readonly unknown[];
      return rows.length === 0 ? null : rows;
    } catch {
      return null;
    }
  };
  return (from: number, to: number): Page<unknown> | null => {
    const piece = text(from, to);
    const list = `[${piece}]`;
    const suspicious = isSuspicious(piece);
    const decodePiece = (rows: readonly unknown[]) =>
      decode(rows, { suspicious, piece: { isExact, isLong, rejected: taken.rejected.length } });
    const rows = parse(list);
    if (rows === null) return null;
    const page = decodePiece(rows);
    // Looking for long numbers beforehand takes half as long as parsing, and hardly any answer has one.
    if (isExact || page.rejected.length === 0) return page;
    isExact = true;
    return decodePiece(parse(list) ?? rows);
  };
}

/**
 * Goes through the pieces of a list; others have their turn meanwhile.
 * @param each what becomes of one; `false`: it is not gone on with
 * @returns where the list ends; `null`: it cannot be cut, or is not gone on with
 */
export async function eachPiece<Rows>(
  { bytes, at }: ListText,
  take: (from: number, to: number) => Rows | null,
  each: (rows: Rows, from: number, to: number) => boolean,
): Promise<number | null> {
  let turn = at;
  for (const { from, to, rows, isLast } of cutRows(bytes, at, take)) {
    if (!each(rows, from, to)) return null;
    if (isLast) return to;
    if (to - turn > bytesPerTurn) {
      await setImmediate();
      turn = to;
    }
  }
  return null;
}

/** 16 characters, one a byte. */
export const pieceDigest = (bytes: Buffer, from: number, to: number): string =>
  hash('sha256', bytes.subarray(from, to), 'binary').slice(0, 16);

/** The ids of rows that are to be known again; `null`: they cannot be. */
export function idsOf({ rows, rejected }: Page<unknown>): readonly Id[] | null {
  const isKept = rejected.length === 0 && rows.length <= mostRowsInPiece;
  return isKept ? (rows as readonly HasId[]).map(({ id }) => id) : null;
}

/** @param end where the list ends; `null`: nobody knows */
export function frameOf({ bytes, at, text }: ListText, end: number | null): Frame | null {
  if (end === null || at + bytes.length - end > longestFrame) return null;
  const mark = `decoded ${Math.random()}`;
  return { text: `${text(0, at)}${JSON.stringify(mark)}${text(end + 1, bytes.length)}`, mark };
}

/** The rest of an answer fits in here; then it takes little room, no matter what it says. */
const longestFrame = 262_144;
