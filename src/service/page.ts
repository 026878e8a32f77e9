import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/listing.ts';

/** Which rows to ask for. `page` and `date` are those of the shared pagination body. */
export interface PageQuery {
  readonly limit: number;
  readonly page?: number;
  readonly date?: string;
}

/** What the service answered to one query. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** Stands for the answer, and for how it is read. */
  readonly digest?: string | undefined;
  /** How long the answer is. */
  readonly bytes?: number | undefined;
  /** Of an answer that was known by its digest: nothing of it has been read, and this does. */
  readonly read?: () => Promise<Page<Row>>;
}

/**
 * @param known the digest of a page that was read before: one with it is not read, but by its `read`
 * @throws ServiceError, among them with status 400 where the service refuses the query
 */
export type FetchPage<Row> = (query: PageQuery, known?: string) => Promise<Page<Row>>;

/** A page as it came, or that it was refused with a 400, which may be about its number or its limit. */
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

/** How many rows a page had, rejected ones among them: only a page without any is empty. */
export function countRows<Row>(page: Page<Row>): number {
  return page.rows.length + page.rejected.length;
}

/** What a row is known by; a rejected one without an id by how it looked. */
export function rowKeys<Row extends { readonly id: Id }>(page: Page<Row>): string[] {
  return [
    ...page.rows.map((row) => String(row.id)),
    ...page.rejected.map((row) => (row.id === null ? `rejected ${row.excerpt}` : String(row.id))),
  ];
}

/** The same rows in the same order. Anything less may be another page that drifted. */
export function samePage<Row extends { readonly id: Id }>(a: Page<Row>, b: Page<Row>): boolean {
  const left = rowKeys(a);
  const right = rowKeys(b);
  return left.length === right.length && left.every((key, index) => key === right[index]);
}
