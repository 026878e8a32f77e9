/** A listing as different deployments page it, as a function from query to page. */
import { ServiceError } from '../../src/errors.ts';
import type { FetchPage, Page, PageQuery } from '../../src/service/page.ts';

export const numbered = ['base 0', 'base 1, 0 like 1', 'base 1, 0 empty', 'base 1, 0 refused'] as const;

export type Paging = (typeof numbered)[number] | 'page ignored';

export interface Row {
  readonly id: bigint;
  readonly updated: string | null;
}

export interface VariantListing {
  /** Newest first. May be replaced between requests. */
  rows: readonly Row[];
  paging: Paging;
  /** The service gives at most so many rows, whatever `limit` says. */
  cap: number;
  /** It skips those before a page by the `limit` that was asked for, not by what it gives. */
  skipsByLimit: boolean;
  /** A larger `limit` is answered 400. */
  largestLimit: number;
  /** Called before each answer with how many requests there were, this one included. */
  before: (request: number, query: PageQuery) => void;
  readonly queries: PageQuery[];
  readonly fetchPage: FetchPage<Row>;
}

export const makeRows = (n: number): Row[] =>
  Array.from({ length: n }, (_, i) => ({
    id: BigInt(n - i),
    updated: new Date((n - i) * 1000).toISOString(),
  }));

function badRequest(): ServiceError {
  return new ServiceError('refused', { operation: 'test', phase: 'answered', status: 400, label: 'error' });
}

function select(listing: VariantListing, query: PageQuery): readonly Row[] {
  const { rows, paging, cap } = listing;
  const size = Math.min(query.limit, cap);
  const step = listing.skipsByLimit ? query.limit : size;
  const from = (index: number) => rows.slice(index * step, index * step + size);
  const page = query.page ?? 0;
  switch (paging) {
    case 'base 0':
      return from(page);
    case 'base 1, 0 like 1':
      return from(Math.max(page, 1) - 1);
    case 'base 1, 0 empty':
      return page === 0 ? [] : from(page - 1);
    case 'base 1, 0 refused':
      if (page === 0) throw badRequest();
      return from(page - 1);
    case 'page ignored':
      return from(0);
    default:
      return paging satisfies never;
  }
}

export function createVariantListing(options: Partial<VariantListing>): VariantListing {
  const listing: VariantListing = {
    rows: [],
    paging: 'base 0',
    cap: Number.MAX_SAFE_INTEGER,
    skipsByLimit: false,
    largestLimit: Number.MAX_SAFE_INTEGER,
    before: () => undefined,
    queries: [],
    fetchPage: async (query): Promise<Page<Row>> => {
      listing.queries.push(query);
      listing.before(listing.queries.length, query);
      if (query.limit > listing.largestLimit) throw badRequest();
      return await Promise.resolve({ rows: select(listing, query), rejected: [] });
    },
    ...options,
  };
  return listing;
}
