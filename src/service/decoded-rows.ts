/**
 * The rows of a long list. They are parsed, judged and decoded in parts, so that neither the text nor the parsed values
 * of all of it are held, and other work has its turn meanwhile.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { fromJson } from '../model/json.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { ServiceUser } from '../model/user.ts';
import { cutRows, findList } from './long-list.ts';
import { countRows, type DecodeRows, type LongList, type Page, type RowSieve } from './page.ts';
import { isSuspicious } from './row-flaws.ts';

/** The value of an answer in which a list was decoded. */
export interface DecodedRows {
  readonly page: Page<unknown>;
  /** The number of all rows. */
  readonly length: number;
  readonly sieve: RowSieve | undefined;
}

/** The rest of an answer, with `mark` in place of its list. */
export interface Frame {
  readonly text: string;
  readonly mark: string;
}

/** No team can sensibly have more rows. */
export const maxRows = 250_000;
/** An answer of at most this length takes little memory, in whatever form it is kept. */
const shortBytes = 262_144;
/** Bytes to parse before other work has its turn. */
const bytesPerTurn = 131_072;
/** If the rest of an answer is no longer than this, it takes little memory, whatever it contains. */
const longestFrame = 262_144;

const decodedLists = new WeakSet<object>();

export function isDecoded(value: unknown): value is DecodedRows {
  return typeof value === 'object' && value !== null && decodedLists.has(value);
}

/** Decodes pieces of a list. @returns `null` for a text that is not rows alone */
function createDecoder(decode: DecodeRows<unknown>, isLong: boolean, rejected: readonly RejectedRow[]) {
  let isExact = false;
  const parse = (list: string): readonly unknown[] | null => {
    try {
      const rows = (isExact ? fromJson(list) : JSON.parse(list)) as readonly unknown[];
      return rows.length === 0 ? null : rows;
    } catch {
      return null;
    }
  };
  return (piece: string): Page<unknown> | null => {
    const list = `[${piece}]`;
    const suspicious = isSuspicious(piece);
    const decodePiece = (rows: readonly unknown[]) =>
      decode(rows, { suspicious, piece: { isExact, isLong, rejected: rejected.length } });
    const rows = parse(list);
    if (rows === null) return null;
    const page = decodePiece(rows);
    // Searching for long numbers beforehand takes half as long as parsing, and hardly any answer has one.
    if (isExact || page.rejected.length === 0) return page;
    isExact = true;
    return decodePiece(parse(list) ?? rows);
  };
}

/** Decodes the list of this property piece by piece. @returns `null` if it cannot be cut into pieces, or is too long */
export async function decodeLongList(
  bytes: Buffer,
  { property, decode, sieve }: LongList,
): Promise<{ readonly frame: Frame; readonly rows: DecodedRows } | null> {
  const at = isUtf8(bytes) ? findList(bytes, property) : null;
  if (at === null) return null;
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  const text = (from: number, to: number) => bytes.toString(encoding, from, to);
  const page = { rows: [] as unknown[], rejected: [] as RejectedRow[] };
  const decodePiece = createDecoder(decode, bytes.length > shortBytes, page.rejected);
  let length = 0;
  let turn = at;
  for (const { to, rows: piece, isLast } of cutRows(bytes, at, (from, until) =>
    decodePiece(text(from, until)),
  )) {
    length += countRows(piece);
    if (length > maxRows) return null;
    const kept = sieve === undefined ? piece.rows : sieve.keep(piece.rows as readonly ServiceUser[]);
    for (const row of kept) page.rows.push(row);
    for (const row of piece.rejected) page.rejected.push(row);
    if (isLast) {
      if (at + bytes.length - to > longestFrame) return null;
      const mark = `decoded ${Math.random()}`;
      const rows = { page, length, sieve };
      decodedLists.add(rows);
      return {
        frame: { text: `${text(0, at)}${JSON.stringify(mark)}${text(to + 1, bytes.length)}`, mark },
        rows,
      };
    }
    if (to - turn > bytesPerTurn) {
      await setImmediate();
      turn = to;
    }
  }
  return null;
}
