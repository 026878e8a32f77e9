/**
 * The rows of a long list: parsed, judged and decoded some at a time, so that neither its text nor what it parses to
 * is held, and others have their turn meanwhile.
 */
import { type NotedRows, packPiece } from '../model/known-rows.ts';
import { createDecoder, eachPiece, findText, frameOf, idsOf, pieceDigest, type Taken } from './list-text.ts';
import { countRows, type Frame, type LongList, type Page } from './page.ts';

/** What stands for the list in the value of an answer. */
export interface DecodedRows {
  readonly page: Page<unknown>;
  readonly length: number;
  readonly noted?: NotedRows;
}

/** More rows than any team can sensibly have. */
export const maxRows = 250_000;

const known = new WeakSet<object>();

export function isDecoded(value: unknown): value is DecodedRows {
  return typeof value === 'object' && value !== null && known.has(value);
}

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
