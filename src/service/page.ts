import { ServiceError } from '../errors.ts';
import type { RejectedRow } from '../model/rejected-row.ts';

/** The rows to ask for, with the names of the shared pagination body. */
export interface PageQuery {
  readonly limit: number;
  readonly page?: number;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
}

/** Facts about rows before they are decoded. */
export interface RowFacts {
  /** True if strings may contain a NUL or a lone surrogate. */
  readonly suspicious: boolean;
}

export type DecodeRows<Row> = (rows: readonly unknown[], look: RowFacts) => Promise<Page<Row>>;

/** @throws ServiceError, with status 400 if the service refuses the query */
export type FetchPage<Row> = (query: PageQuery) => Promise<Page<Row>>;

/** A page, or its refusal with a 400: the service may have refused the page number or the limit. */
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
