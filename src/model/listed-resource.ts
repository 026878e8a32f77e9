import type { Id } from './id.ts';

/**
 * The kind of a field of the interface, which decides the type of its column: `text`, `bigint`, `boolean`, or `jsonb` for
 * `texts`, `ids` and `object`. If an answer leaves out such a list or object, or gives another type, the column keeps its
 * value. `team` is the id of the row's team. It has no column of its own, because every table has a team column already.
 */
export type ColumnKind = 'text' | 'integer' | 'boolean' | 'texts' | 'ids' | 'object' | 'team';

/**
 * A resource that the interface lists, and that the mirror shows unchanged. See `docs/adding-a-listing.md` for adding one.
 */
export interface ListedResource {
  /** The name of the resource's table in schema `mirror`, which is also used in records, metrics and messages. */
  readonly name: string;
  /** The word that people read for one row of the resource. */
  readonly noun: string;
  /** The request that lists the resource. */
  readonly list: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    /** True if the listing comes page by page; otherwise one answer has all rows. */
    readonly isPaged: boolean;
  };
  /** The path of one row, with `{id}`; absent if the interface has no such path. */
  readonly row?: string;
  /** The fields other than `id`, by their names in the interface. The columns have the same names. */
  readonly columns: Readonly<Record<string, ColumnKind>>;
  /** Columns that a listing may leave out. They are read row by row, only for new and changed rows. */
  readonly byRow?: readonly string[];
}

/** A row as the service gave it, by column. A value is `null` if it was absent, null or of another type. */
export interface ListedRow {
  readonly id: Id;
  readonly raw: Readonly<Record<string, unknown>>;
  readonly [column: string]: unknown;
}

/** The columns of the resource's table other than `id` and `raw`. */
export const columnNamesOf = ({ columns }: ListedResource): readonly string[] =>
  Object.keys(columns).filter((column) => columns[column] !== 'team');

/** True if a column keeps its value when an answer does not contain the column. */
export const isKept = ({ columns, byRow = [] }: ListedResource, column: string): boolean =>
  isJson(columns[column]) || byRow.includes(column);

export const isJson = (kind: ColumnKind | undefined): boolean =>
  kind === 'texts' || kind === 'ids' || kind === 'object';

/** Columns that the service keeps for its own use: the reports do not show them. */
const bookkeeping = new Set(['op', 'rev', 'tid', 'uid']);

/** The columns that the reports show. */
export const shownColumnsOf = (resource: ListedResource): readonly string[] =>
  columnNamesOf(resource).filter((column) => !bookkeeping.has(column));

/** The resource's name in the command `export`. */
export const exportNameOf = ({ name }: ListedResource): string => name.replaceAll('_', '-');

/** The words that people read for the resource's rows. */
export const inPlural = ({ name }: Pick<ListedResource, 'name'>): string => name.replaceAll('_', ' ');
