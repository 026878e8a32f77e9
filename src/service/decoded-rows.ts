/**
 * The rows of a long list. They stay the bytes that they came in: parsed once to be judged, some at a time, and
 * again when one is asked for. A hundred thousand users take a fifth of the room of their objects.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { Id } from '../model/id.ts';
import { fromJson } from '../model/json.ts';
import { cutRows, findList, type Piece, placeOfRow } from './cut-rows.ts';
import { isObject } from './json-object.ts';
import { isSuspicious, judgeRow, takeInteger } from './row-flaws.ts';

export interface PackedRows {
  readonly length: number;
  /** What each row is known by; `null`: nothing that can be. */
  readonly ids: readonly (Id | null)[];
  /** Whose each row says that it is. */
  readonly teamIds: readonly (Id | null)[];
  /** Why rows cannot be taken. */
  readonly flaws: ReadonlyMap<number, string>;
  read(row: number): unknown;
}

/** More rows than any team can sensibly have. */
export const maxRows = 250_000;
/** What is asked for at once, and is not longer than this, is not parsed twice. */
const shortBytes = 4_194_304;
/** So much is parsed before others have their turn. */
const bytesPerTurn = 262_144;

const known = new WeakSet<object>();

export function isPacked(value: unknown): value is PackedRows {
  return typeof value === 'object' && value !== null && known.has(value);
}

/** Parses pieces of the list, and holds what it parsed last, or all of a short answer. */
function createReader(bytes: Buffer) {
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  const isShort = bytes.length <= shortBytes;
  const held = new Map<number, readonly unknown[]>();
  let exactFrom = Number.POSITIVE_INFINITY;
  return {
    /** Whether it is parsed with a look at how its numbers are written. */
    isExact: (from: number) => from >= exactFrom,
    beExact: (from: number) => {
      exactFrom = from;
    },
    parse: (text: string, from: number) => {
      const list = `[${text}]`;
      return (from >= exactFrom ? fromJson(list) : JSON.parse(list)) as readonly unknown[];
    },
    text: (from: number, to: number) => bytes.toString(encoding, from, to),
    hold: (piece: number, rows: readonly unknown[]) => {
      if (!isShort) held.clear();
      held.set(piece, rows);
    },
    held: (piece: number) => held.get(piece),
  };
}

type Reader = ReturnType<typeof createReader>;

/** The same number is the same `bigint`: all users of a team have its id. */
function createTeamIds() {
  let last: Id | null = null;
  let lastValue: unknown;
  return (row: unknown): Id | null => {
    const value = isObject(row) ? row['team_id'] : null;
    if (value !== lastValue) {
      last = takeInteger(value);
      lastValue = value;
    }
    return last;
  };
}

interface Packed {
  readonly pieces: Piece[];
  readonly pieceOf: number[];
  readonly firstOf: number[];
  readonly ids: (Id | null)[];
  readonly teamIds: (Id | null)[];
  readonly flaws: Map<number, string>;
}

/** @returns where the list ends; `null`: it cannot be cut, or is too long */
async function judgeRows(bytes: Buffer, at: number, reader: Reader, packed: Packed): Promise<number | null> {
  const { pieces, pieceOf, firstOf, ids, teamIds, flaws } = packed;
  const teamIdOf = createTeamIds();
  let isSuspect = false;
  let turn = at;
  const parse = (from: number, to: number) => {
    const text = reader.text(from, to);
    isSuspect = isSuspicious(text);
    return reader.parse(text, from);
  };
  const judge = (rows: readonly unknown[], isExact: boolean) =>
    rows.map((row) => judgeRow(row, isSuspect, isExact));
  for (const { rows: parsed, ...piece } of cutRows(bytes, at, parse)) {
    const { from, to } = piece;
    let rows = parsed;
    let heads = judge(rows, reader.isExact(from));
    // Looking for long numbers beforehand takes half as long as parsing, and hardly any answer has one.
    if (!reader.isExact(from) && heads.some(({ flaw }) => flaw !== null)) {
      reader.beExact(from);
      rows = parse(from, to);
      heads = judge(rows, true);
    }
    reader.hold(pieces.length, rows);
    firstOf.push(ids.length);
    for (const [index, { id, flaw }] of heads.entries()) {
      if (flaw !== null) flaws.set(ids.length, flaw);
      ids.push(id);
      teamIds.push(teamIdOf(rows[index]));
      pieceOf.push(pieces.length);
    }
    pieces.push(piece);
    if (piece.isLast) return piece.to;
    if (ids.length > maxRows) return null;
    if (piece.to - turn > bytesPerTurn) {
      await setImmediate();
      turn = piece.to;
    }
  }
  return null;
}

function createRows(bytes: Buffer, reader: Reader, packed: Packed): PackedRows {
  const { pieces, pieceOf, firstOf, ids, teamIds, flaws } = packed;
  let last = -1;
  /** One row by itself, where its place can be told: what is asked for here and there costs no more than it is. */
  const readAlone = (of: Piece, first: number, next: number, row: number): unknown => {
    const areObjects = !ids.slice(first, next).includes(null);
    const place = areObjects ? placeOfRow(bytes, of, next - first, row - first) : null;
    return place === null ? undefined : fromJson(reader.text(place.from, place.to));
  };
  const rows: PackedRows = {
    length: ids.length,
    ids,
    teamIds,
    flaws,
    read: (row) => {
      const number = pieceOf[row] ?? 0;
      const first = firstOf[number] ?? 0;
      const of = pieces[number];
      const follows = row === last || row === last + 1;
      last = row;
      const held = reader.held(number);
      if (held !== undefined || of === undefined) return held?.[row - first];
      const alone = follows ? undefined : readAlone(of, first, firstOf[number + 1] ?? ids.length, row);
      if (alone !== undefined) return alone;
      const parsed = reader.parse(reader.text(of.from, of.to), of.from);
      reader.hold(number, parsed);
      return parsed[row - first];
    },
  };
  known.add(rows);
  return rows;
}

/** An answer whose list is packed: the rest of its text has `mark` in place of the list. */
export interface PackedAnswer {
  readonly rows: PackedRows;
  readonly text: string;
  readonly mark: string;
}

/**
 * Parses and judges the list of this property piece by piece, and lets others have their turn meanwhile.
 * @returns `null` where it cannot be cut into pieces
 */
export async function packRows(bytes: Buffer, property: string): Promise<PackedAnswer | null> {
  const at = isUtf8(bytes) ? findList(bytes, property) : null;
  if (at === null) return null;
  const reader = createReader(bytes);
  const packed: Packed = { pieces: [], pieceOf: [], firstOf: [], ids: [], teamIds: [], flaws: new Map() };
  const end = await judgeRows(bytes, at, reader, packed);
  if (end === null || at + bytes.length - end > longestFrame) return null;
  const mark = `packed ${Math.random()}`;
  const text = `${reader.text(0, at)}${JSON.stringify(mark)}${reader.text(end + 1, bytes.length)}`;
  return { rows: createRows(bytes, reader, packed), text, mark };
}

/** What fits in here besides the list takes little room, no matter what it says. */
const longestFrame = 262_144;
