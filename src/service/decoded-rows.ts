/**
 * The rows of a long list: parsed, judged and decoded some at a time, so that neither its text nor what it parses to
 * is held, and others have their turn meanwhile.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Id } from '../model/id.ts';
import {
  type KnownRows,
  mostRowsInPiece,
  type NotedRows,
  packPiece,
  type RowsBefore,
} from '../model/known-rows.ts';
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
    /** Whether the list takes so much room that what is seldom asked for is kept as text. */
    readonly isLong: boolean;
    /** How many rows before them were rejected. */
    readonly rejected: number;
  };
}

export type DecodeRows<Row> = (rows: readonly unknown[], look: RowsLook) => Page<Row>;

/** A property of an answer that is a list, perhaps a long one, and how its rows are read. */
export interface LongList<Row = unknown> {
  readonly property: string;
  readonly decode: DecodeRows<Row>;
  /** Whether its rows are to be known again. */
  readonly isNoted?: boolean;
}

/** What stands for the list in the value of an answer. */
export interface DecodedRows {
  readonly page: Page<unknown>;
  readonly length: number;
  readonly noted?: NotedRows;
}

/** More rows than any team can sensibly have. */
export const maxRows = 250_000;
/** An answer of no more than this takes little room, no matter how it is kept. */
const shortBytes = 262_144;
/** So much is parsed before others have their turn. */
const bytesPerTurn = 262_144;

const known = new WeakSet<object>();

export function isDecoded(value: unknown): value is DecodedRows {
  return typeof value === 'object' && value !== null && known.has(value);
}

interface HasId {
  readonly id: Id;
}

interface Taken {
  readonly rows: unknown[];
  readonly rejected: RejectedRow[];
}

/** The bytes of a list, and how they become rows. */
interface ListText {
  readonly bytes: Buffer;
  /** Where its bracket stands. */
  readonly at: number;
  readonly text: (from: number, to: number) => string;
}

function findText(bytes: Buffer, property: string): ListText | null {
  const at = isUtf8(bytes) ? findList(bytes, property) : null;
  if (at === null) return null;
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  return { bytes, at, text: (from, to) => bytes.toString(encoding, from, to) };
}

/** Decodes the rows between two places; `null`: what stands there is not rows alone. */
function createDecoder({ bytes, text }: ListText, decode: DecodeRows<unknown>, taken: Taken) {
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
async function eachPiece<Rows>(
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
const pieceDigest = (bytes: Buffer, from: number, to: number): string =>
  hash('sha256', bytes.subarray(from, to), 'binary').slice(0, 16);

/** The ids of rows that are to be known again; `null`: they cannot be. */
function idsOf({ rows, rejected }: Page<unknown>): readonly Id[] | null {
  const isKept = rejected.length === 0 && rows.length <= mostRowsInPiece;
  return isKept ? (rows as readonly HasId[]).map(({ id }) => id) : null;
}

/** What is left of an answer without its list, in whose place stands `mark`. */
export interface Frame {
  readonly text: string;
  readonly mark: string;
}

/** @param end where the list ends; `null`: nobody knows */
function frameOf({ bytes, at, text }: ListText, end: number | null): Frame | null {
  if (end === null || at + bytes.length - end > longestFrame) return null;
  const mark = `decoded ${Math.random()}`;
  return { text: `${text(0, at)}${JSON.stringify(mark)}${text(end + 1, bytes.length)}`, mark };
}

/** What fits in here besides the list takes little room, no matter what it says. */
const longestFrame = 262_144;

/**
 * Decodes the list of this property piece by piece.
 * @returns `null` where it cannot be cut into pieces, or is too long
 */
export async function decodeLongList(
  bytes: Buffer,
  { property, decode, isNoted = false }: LongList,
): Promise<{ readonly frame: Frame; readonly rows: DecodedRows } | null> {
  const list = findText(bytes, property);
  if (list === null) return null;
  const page: Taken = { rows: [], rejected: [] };
  const pieces: Buffer[] = [];
  let canBeNoted = isNoted;
  const end = await eachPiece(list, createDecoder(list, decode, page), (decoded, from, to) => {
    for (const row of decoded.rows) page.rows.push(row);
    for (const row of decoded.rejected) page.rejected.push(row);
    const ids = canBeNoted ? idsOf(decoded) : null;
    canBeNoted = ids !== null;
    if (ids !== null) pieces.push(packPiece(pieceDigest(bytes, from, to), ids));
    return countRows(page) <= maxRows;
  });
  const frame = frameOf(list, end);
  if (frame === null) return null;
  const length = countRows(page);
  const noted = canBeNoted ? { noted: { length, packed: () => Buffer.concat(pieces) } } : {};
  const rows = { page, length, ...noted };
  known.add(rows);
  return { frame, rows };
}

/** What is new in a list whose rows were known. */
export interface ListNews<Row = unknown> {
  /** Those in pieces that are new, and in those that were asked for. */
  readonly rows: readonly Row[];
  /** Which of them are in pieces that are new. */
  readonly changed: ReadonlySet<Id>;
  readonly noted: NotedRows;
}

/**
 * Decodes what is new in the list of this property, where the same rows are in it as before.
 * @returns `null` where a row came, went or cannot be taken, and where the list cannot be cut into pieces
 */
export async function decodeNews(
  bytes: Buffer,
  { property, decode }: LongList,
  { rows: before, ended, asked }: RowsBefore,
): Promise<{ readonly frame: Frame; readonly news: ListNews } | null> {
  const list = findText(bytes, property);
  if (list === null) return null;
  const page: Taken = { rows: [], rejected: [] };
  const decodePiece = createDecoder(list, decode, page);
  const changed = new Set<Id>();
  const same = new Set<number>();
  const found = new Set<number>();
  const pieces: { readonly digest: string; readonly ids: () => readonly Id[] }[] = [];
  const take = (from: number, to: number) => {
    const digest = pieceDigest(bytes, from, to);
    const piece = before.find(digest);
    const isSame = piece !== undefined && !found.has(piece) && !ended.has(piece);
    if (isSame && !asked.has(piece)) return { digest, piece, isSame, decoded: null };
    const decoded = decodePiece(from, to);
    return decoded === null ? null : { digest, piece, isSame, decoded };
  };
  const end = await eachPiece(list, take, ({ digest, piece, isSame, decoded }) => {
    if (piece !== undefined) found.add(piece);
    if (decoded === null) {
      same.add(piece);
      pieces.push({ digest, ids: () => before.idsOf(piece) });
      return true;
    }
    const ids = idsOf(decoded);
    if (ids === null) return false;
    for (const row of decoded.rows) page.rows.push(row);
    if (!isSame) for (const id of ids) changed.add(id);
    pieces.push({ digest, ids: () => ids });
    return true;
  });
  const frame = frameOf(list, end);
  if (frame === null || !areTheirs(page.rows as readonly HasId[], before, same)) return null;
  const all = Array.from({ length: before.pieces }, (_, piece) => piece);
  const noted = {
    length: before.rows,
    packed: () => Buffer.concat(pieces.map(({ digest, ids }) => packPiece(digest, ids()))),
    before: { rows: before, ended: new Set(all.filter((piece) => !found.has(piece))) },
  };
  return { frame, news: { rows: page.rows, changed, noted } };
}

/** Whether these are the rows of all pieces but those that are the same, each once. */
function areTheirs(rows: readonly HasId[], before: KnownRows, same: ReadonlySet<number>): boolean {
  const ids = new Set(rows.map(({ id }) => id));
  let theirs = 0;
  for (let piece = 0; piece < before.pieces; piece += 1) {
    if (same.has(piece)) continue;
    const of = before.idsOf(piece);
    if (!of.every((id) => ids.has(id))) return false;
    theirs += of.length;
  }
  return theirs === rows.length && ids.size === rows.length;
}
