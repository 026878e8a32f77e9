import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { ServiceUser } from '../model/user.ts';

/** The rows to ask for. `page` and `date` are those of the shared pagination body. */
export interface PageQuery {
  readonly limit: number;
  readonly page?: number;
  readonly date?: string;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** Digest of the answer. */
  readonly digest?: string | undefined;
  /** Length of the answer in bytes. */
  readonly bytes?: number | undefined;
  /** Parses the page. It is present only if the digest of the answer was known, so that it has not been parsed. */
  readonly read?: () => Promise<Page<Row>>;
}

/** Facts about rows before they are decoded. */
export interface RowFacts {
  /** Whether strings may contain a NUL or a lone surrogate. */
  readonly suspicious: boolean;
  /** Set if the rows are a piece of a long list; `undefined` if they are all of it. */
  readonly piece:
    | {
        /** Whether long numbers were kept as they were written. */
        readonly isExact: boolean;
        /** Whether the list takes so much memory that rarely used values are kept as text. */
        readonly isLong: boolean;
        /** How many rows before them were rejected. */
        readonly rejected: number;
      }
    | undefined;
}

export type DecodeRows<Row> = (rows: readonly unknown[], look: RowFacts) => Page<Row>;

/** Hashes the users of a list while they are decoded, and drops those whom nobody needs. */
export interface RowSieve {
  /** @returns those of the next users that are kept */
  keep(users: readonly ServiceUser[]): readonly ServiceUser[];
  /** The hashes of all users so far. */
  packed(): Buffer;
}

/** A property of an answer that is a list, perhaps a long one, and how to read its rows. */
export interface LongList<Row = unknown> {
  /** `null` if the answer itself is the list. */
  readonly property: string | null;
  readonly decode: DecodeRows<Row>;
  /** If absent, all of its rows are kept. */
  readonly sieve?: RowSieve | undefined;
}

/**
 * @param known a page with this digest is parsed only when its `read` is called
 * @throws ServiceError, with status 400 if the service refuses the query
 */
export type FetchPage<Row> = (query: PageQuery, known?: string) => Promise<Page<Row>>;

/** A page, or its refusal with a 400, which may be because of its number or its limit. */
export type Fetched<Row> = { readonly page: Page<Row> } | { readonly refused: ServiceError };

export async function fetchOrRefused<Row>(
  fetchPage: FetchPage<Row>,
  query: PageQuery,
  known?: string,
): Promise<Fetched<Row>> {
  try {
    return { page: await fetchPage(query, known) };
  } catch (error) {
    if (error instanceof ServiceError && error.status === 400) return { refused: error };
    throw error;
  }
}

/** Number of rows of a page, including rejected ones. */
export function countRows<Row>(page: Page<Row>): number {
  return page.rows.length + page.rejected.length;
}

/** The key of a row; for a rejected one without an id, its excerpt. */
export function rowKeys<Row extends { readonly id: Id }>(page: Page<Row>): string[] {
  return [
    ...page.rows.map((row) => String(row.id)),
    ...page.rejected.map((row) => (row.id === null ? `rejected ${row.excerpt}` : String(row.id))),
  ];
}

/** Whether both pages have the same rows in the same order. Otherwise it may be another page that drifted. */
export function samePage<Row extends { readonly id: Id }>(a: Page<Row>, b: Page<Row>): boolean {
  const [left, right] = [rowKeys(a), rowKeys(b)];
  return left.length === right.length && left.every((key, index) => key === right[index]);
}
