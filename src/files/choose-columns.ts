/** Chooses the columns of a file to keep, because a file can have nearly as many columns as bytes. */
import { plural } from '../model/in-words.ts';

const mostColumns = 200;

/** The parts of a file to read. */
export interface TableWishes {
  /**
   * True if the cells of this column are read. For other columns, only the names are kept.
   * @param sample the column's first cells, as far as they are known
   */
  readonly isRead: (column: string, sample: readonly string[]) => boolean;
  readonly signal: AbortSignal;
}

interface ChosenColumns {
  /** The names of the columns: first the columns that are read, then the other columns. */
  readonly columns: readonly string[];
  /** The positions in the file of the columns that are read. */
  readonly places: readonly number[];
  readonly notes: readonly string[];
}

export function chooseColumns(
  names: readonly string[],
  { isRead }: Pick<TableWishes, 'isRead'>,
  samples: readonly (readonly string[])[] = [],
): ChosenColumns {
  const sampleOf = (place: number) => samples.map((cells) => cells[place] ?? '');
  const { read = [], others = [] } = Object.groupBy(
    names.map((name, place) => ({ name, place })),
    ({ name, place }) => (isRead(name, sampleOf(place)) ? 'read' : 'others'),
  );
  const kept = [...read, ...others].slice(0, mostColumns);
  const left = names.length - kept.length;
  return {
    columns: kept.map(({ name }) => name),
    places: read.slice(0, mostColumns).map(({ place }) => place),
    notes: left === 0 ? [] : [`${plural(left, 'more column')} not read: at most ${mostColumns} are read`],
  };
}
