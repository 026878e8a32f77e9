import type { Id } from './id.ts';

/**
 * What a field of the interface is, and the type of its column: `text`, `bigint`, `boolean`, or `jsonb` for the three
 * others. A list or an object that an answer leaves out, or that is of another type, keeps what was known.
 * `team` is the id of the team, which is known already: it has no column.
 */
export type ColumnKind = 'text' | 'integer' | 'boolean' | 'texts' | 'ids' | 'object' | 'team';

/**
 * A resource that the interface lists, and that the mirror shows as it is. `docs/adding-a-listing.md` tells how to add one.
 */
export interface ListedResource {
  /** Its table in schema `mirror`, and its name in records, metrics and messages. */
  readonly name: string;
  /** One of its rows, in words for people. */
  readonly noun: string;
  /** The request that lists it. */
  readonly list: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    /** Whether it comes page by page; otherwise one answer has all rows. */
    readonly isPaged: boolean;
  };
  /** The path of one row, with `{id}`; absent if the interface has no such path. */
  readonly row?: string;
  /** The fields besides `id`, by their names in the interface, which the columns have as well. */
  readonly columns: Readonly<Record<string, ColumnKind>>;
  /** Columns that a listing may leave out: they are read row by row, for new and changed rows alone. */
  readonly byRow?: readonly string[];
}

/** A row as the service gave it: by column, `null` if absent, null or of another type. */
export interface ListedRow {
  readonly id: Id;
  readonly raw: Readonly<Record<string, unknown>>;
  readonly [column: string]: unknown;
}

/** The columns of its table besides `id` and `raw`. */
export const columnNamesOf = ({ columns }: ListedResource): readonly string[] =>
  Object.keys(columns).filter((column) => columns[column] !== 'team');

/** Whether a column keeps what was known if an answer does not have it. */
export const isKept = ({ columns, byRow = [] }: ListedResource, column: string): boolean =>
  isJson(columns[column]) || byRow.includes(column);

export const isJson = (kind: ColumnKind | undefined): boolean =>
  kind === 'texts' || kind === 'ids' || kind === 'object';

/** Columns that the service keeps for its own use: the reports do not show them. */
const bookkeeping = new Set(['op', 'rev', 'tid', 'uid']);

/** The columns that the reports show. */
export const shownColumnsOf = (resource: ListedResource): readonly string[] =>
  columnNamesOf(resource).filter((column) => !bookkeeping.has(column));

/** The name that `export` gives it. */
export const exportNameOf = ({ name }: ListedResource): string => name.replaceAll('_', '-');

/** Its rows, in words for people. */
export const inPlural = ({ name }: Pick<ListedResource, 'name'>): string => name.replaceAll('_', ' ');
