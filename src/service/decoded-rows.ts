/**
 * The rows of a long list: parsed, judged and decoded some at a time, so that neither its text nor what it parses to
 * is held, and others have their turn meanwhile.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { RejectedRow } from '../model/listing.ts';
import { fromJson } from '../model/json.ts';
import { cutRows, findList } from './cut-rows.ts';
import { countRows, type Page } from './page.ts';
import { isSuspicious } from './row-flaws.ts';

/** What there is to know of rows before they are decoded. */
export interface RowsLook {
  /** Whether strings have to be looked at for a NUL or a lone surrogate. */
  readonly suspicious: boolean;
  /** Of rows that are a piece of a long list. */
  readonly piece?: {
    /** Whether long numbers were kept as they were written. */
    readonly isExact: boolean;
    /** How many rows before them were rejected. */
    readonly rejected: number;
  };
}

export type DecodeRows<Row> = (rows: readonly unknown[], look: RowsLook) => Page<Row>;

/** What stands for the list in the value of an answer. */
export interface DecodedRows {
  readonly page: Page<unknown>;
  readonly length: number;
}

/** More rows than any team can sensibly have. */
export const maxRows = 250_000;
/** So much is parsed before others have their turn. */
const bytesPerTurn = 262_144;

const known = new WeakSet<object>();

export function isDecoded(value: unknown): value is DecodedRows {
  return typeof value === 'object' && value !== null && known.has(value);
}

interface Taken {
  readonly rows: unknown[];
  readonly rejected: RejectedRow[];
}

/** @returns where the list ends; `null`: it cannot be cut, or is too long */
async function decodePieces(
  bytes: Buffer,
  at: number,
  text: (from: number, to: number) => string,
  decode: DecodeRows<unknown>,
  taken: Taken,
): Promise<number | null> {
  let isExact = false;
  let suspicious = false;
  let turn = at;
  const parse = (from: number, to: number) => {
    const piece = text(from, to);
    suspicious = isSuspicious(piece);
    const list = `[${piece}]`;
    return (isExact ? fromJson(list) : JSON.parse(list)) as readonly unknown[];
  };
  const decodePiece = (rows: readonly unknown[]) =>
    decode(rows, { suspicious, piece: { isExact, rejected: taken.rejected.length } });
  for (const { from, to, rows, isLast } of cutRows(bytes, at, parse)) {
    let page = decodePiece(rows);
    // Looking for long numbers beforehand takes half as long as parsing, and hardly any answer has one.
    if (!isExact && page.rejected.length > 0) {
      isExact = true;
      page = decodePiece(parse(from, to));
    }
    for (const row of page.rows) taken.rows.push(row);
    for (const row of page.rejected) taken.rejected.push(row);
    if (isLast) return to;
    if (countRows(taken) > maxRows) return null;
    if (to - turn > bytesPerTurn) {
      await setImmediate();
      turn = to;
    }
  }
  return null;
}

/** An answer whose list is decoded: the rest of its text has `mark` in place of the list. */
export interface DecodedAnswer {
  readonly rows: DecodedRows;
  readonly text: string;
  readonly mark: string;
}

/**
 * Decodes the list of this property piece by piece.
 * @returns `null` where it cannot be cut into pieces
 */
export async function decodeLongList(
  bytes: Buffer,
  property: string,
  decode: DecodeRows<unknown>,
): Promise<DecodedAnswer | null> {
  const at = isUtf8(bytes) ? findList(bytes, property) : null;
  if (at === null) return null;
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  const text = (from: number, to: number) => bytes.toString(encoding, from, to);
  const page: Taken = { rows: [], rejected: [] };
  const end = await decodePieces(bytes, at, text, decode, page);
  if (end === null || at + bytes.length - end > longestFrame) return null;
  const rows = { page, length: countRows(page) };
  known.add(rows);
  const mark = `decoded ${Math.random()}`;
  return { rows, text: `${text(0, at)}${JSON.stringify(mark)}${text(end + 1, bytes.length)}`, mark };
}

/** What fits in here besides the list takes little room, no matter what it says. */
const longestFrame = 262_144;
