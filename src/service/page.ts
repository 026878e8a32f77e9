import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/rejected-row.ts';

/** The rows to ask for. `page` and `date` are those of the shared pagination body. */
export interface PageQuery {
  readonly limit: number;
  readonly page?: number;
  readonly date?: string;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
}

/** Facts about rows before they are decoded. */
export interface RowFacts {
  /** Whether strings may contain a NUL or a lone surrogate. */
  readonly suspicious: boolean;
}

export type DecodeRows<Row> = (rows: readonly unknown[], look: RowFacts) => Promise<Page<Row>>;

/** @throws ServiceError, with status 400 if the service refuses the query */
export type FetchPage<Row> = (query: PageQuery) => Promise<Page<Row>>;

/** A page, or its refusal with a 400, which may be because of its number or its limit. */
export type Fetched<Row> = { readonly page: Page<Row> } | { readonly refused: ServiceError };

export async function fetchOrRefused<Row>(
  fetchPage: FetchPage<Row>,
  query: PageQuery,
): Promise<Fetched<Row>> {
  try {
    return { page: await fetchPage(query) };
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
