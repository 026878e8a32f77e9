/**
 * Cuts a list of objects into pieces of some rows each, without parsing it. No parser of our own looks for the ends of
 * rows: if a piece is JSON between brackets, it is rows and nothing else, and if all pieces are, so is the list.
 */

/** The length of a piece, which is some thirty users. */
const pieceBytes = 8_192;

/** A list counts as one that cannot be cut if no piece up to this length works. */
const longestPiece = 262_144;

export interface Piece<Rows> {
  readonly to: number;
  readonly rows: Rows;
  /** Whether the list ends after it, with its bracket at `to`. */
  readonly isLast: boolean;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const quote = 0x22;
const backslash = 0x5c;

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** The position of the bracket with which the list in this property, or in the answer, begins; `null` if none does. */
export function findList(bytes: Buffer, property: string | null): number | null {
  if (property === null) {
    const first = skipSpace(bytes, 0);
    return bytes[first] === openBracket ? first : null;
  }
  const name = Buffer.from(`"${property}"`);
  const key = bytes.indexOf(name);
  if (key < 0) return null;
  const colon = skipSpace(bytes, key + name.length);
  const at = skipSpace(bytes, colon + 1);
  return bytes[colon] === 0x3a && bytes[at] === openBracket ? at : null;
}

/** The beginning of the row, up to the end of its first key; `null` if it is no object, or has no key. */
function beginningOf(bytes: Buffer, row: number): Buffer | null {
  const key = skipSpace(bytes, row + 1);
  if (bytes[row] !== openBrace || bytes[key] !== quote) return null;
  const end = endOfString(bytes, key);
  return end - row < pieceBytes ? bytes.subarray(row, end + 1) : null;
}

/** The comma in front of the first row that begins at `from` or later. */
function commaFrom(bytes: Buffer, beginning: Buffer, from: number): number | null {
  for (let row = bytes.indexOf(beginning, from); row >= 0; row = bytes.indexOf(beginning, row + 1)) {
    let at = row - 1;
    while (isSpace(bytes[at])) at -= 1;
    if (bytes[at] === comma) return at;
  }
  return null;
}

/** The position at which the list ends that is open at `from`. */
function endOfList(bytes: Buffer, from: number, until: number): number | null {
  let depth = 0;
  for (let at = from; at < until; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    if (depth < 0) return byte === closeBracket ? at : null;
  }
  return null;
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}

/**
 * The pieces of the list whose bracket is at `at`, one after another. If the list cannot be cut, none is the last.
 * @param take reads what is between two places; `null` if that is not rows alone
 */
export function* cutRows<Rows>(
  bytes: Buffer,
  at: number,
  take: (from: number, to: number) => Rows | null,
): Generator<Piece<Rows>> {
  let from = skipSpace(bytes, at + 1);
  const beginning = beginningOf(bytes, from);
  while (beginning !== null) {
    let piece: Piece<Rows> | null = null;
    // A text that looks like the beginning of a row may be within one. Then a longer piece is tried.
    for (let size = pieceBytes; piece === null && size <= longestPiece; size *= 2) {
      const to = commaFrom(bytes, beginning, from + size);
      if (to === null || to - from > longestPiece) break;
      const rows = take(from, to);
      if (rows !== null) piece = { to, rows, isLast: false };
    }
    if (piece === null) {
      const to = endOfList(bytes, from, Math.min(bytes.length, from + longestPiece));
      const rows = to === null ? null : take(from, to);
      if (to === null || rows === null) return;
      piece = { to, rows, isLast: true };
    }
    yield piece;
    if (piece.isLast) return;
    from = skipSpace(bytes, piece.to + 1);
  }
}
