/** What is new in the rows of an answer, or of the pages of a listing, whose rows were known. */
import type { Id } from '../model/id.ts';
import { packPiece, type RowsBefore } from '../model/known-rows.ts';
import {
  createDecoder,
  eachPiece,
  findText,
  frameOf,
  type HasId,
  idsOf,
  pieceDigest,
  type Taken,
} from './list-text.ts';
import type { TakeNews } from './page.ts';

export interface RowNews {
  /** `null` if the list cannot be cut into pieces; then nothing is known of the answer. */
  readonly take: TakeNews;
  /** The pieces known before that are in none of the answers. */
  ended(): ReadonlySet<number>;
  /** The ids of all pieces that were not found the same. */
  others(): Iterable<Id>;
}

export function createRowNews({ rows: before, ended, asked }: RowsBefore): RowNews {
  const found = new Set<number>();
  const skipped = new Set<number>();
  const numbers = () => Array.from({ length: before.pieces }, (_, piece) => piece);
  const packedOf = (piece: Buffer | number) => (typeof piece === 'number' ? before.packedOf(piece) : piece);
  return {
    take: async (bytes, { property, decode }) => {
      const list = findText(bytes, property);
      if (list === null) return null;
      const page: Taken = { rows: [], rejected: [] };
      const same: number[] = [];
      const changed: Id[] = [];
      /** A piece that is the same by its number: it is packed already. */
      const pieces: (Buffer | number)[] = [];
      const decodePiece = createDecoder(list, decode, page);
      const foundHere = new Set<number>();
      let isNoted = true;
      const take = (from: number, to: number) => {
        const digest = pieceDigest(bytes, from, to);
        const piece = before.find(digest);
        const isSame = piece !== undefined && !foundHere.has(piece) && !ended.has(piece);
        if (isSame && !asked.has(piece)) return { digest, piece, isSame, decoded: null };
        const decoded = decodePiece(from, to);
        return decoded === null ? null : { digest, piece, isSame, decoded };
      };
      const end = await eachPiece(list, take, ({ digest, piece, isSame, decoded }) => {
        if (piece !== undefined) foundHere.add(piece);
        if (decoded === null) {
          same.push(piece);
          pieces.push(piece);
          return true;
        }
        const ids = idsOf(decoded);
        isNoted &&= ids !== null;
        for (const row of decoded.rows) page.rows.push(row);
        for (const row of decoded.rejected) page.rejected.push(row);
        if (!isSame) for (const row of decoded.rows as readonly HasId[]) changed.push(row.id);
        if (ids !== null) pieces.push(packPiece(digest, ids));
        return true;
      });
      const frame = frameOf(list, end);
      if (frame === null) return null;
      for (const piece of foundHere) found.add(piece);
      for (const piece of same) skipped.add(piece);
      const length = same.reduce((sum, piece) => sum + before.rowsIn(piece), page.rows.length);
      const noted = isNoted ? { noted: { length, packed: () => Buffer.concat(pieces.map(packedOf)) } } : {};
      const sameIds = () => same.flatMap((piece) => before.idsOf(piece));
      return { frame, news: { ...page, same: sameIds, changed, ...noted } };
    },
    ended: () => new Set(numbers().filter((piece) => !found.has(piece))),
    others: function* () {
      for (const piece of numbers()) if (!skipped.has(piece)) yield* before.idsOf(piece);
    },
  };
}

/**
 * For an answer that has all of the rows.
 * @returns `null` also if a row came, went or cannot be taken
 */
export const takeAllNews =
  (before: RowsBefore): TakeNews =>
  async (bytes, list) => {
    const rowNews = createRowNews(before);
    const taken = await rowNews.take(bytes, list);
    const noted = taken?.news.noted;
    if (noted === undefined || !areThese(taken?.news.rows as readonly HasId[], [...rowNews.others()]))
      return null;
    const known = { rows: before.rows, ended: rowNews.ended() };
    return taken === null ? null : { ...taken, news: { ...taken.news, noted: { ...noted, before: known } } };
  };

/** Whether these are the rows with these ids, each once. */
function areThese(rows: readonly HasId[], ids: readonly Id[]): boolean {
  const theirs = new Set(rows.map(({ id }) => id));
  return theirs.size === rows.length && ids.length === rows.length && ids.every((id) => theirs.has(id));
}
