import type { PageRequest } from './request-schemas.ts';
import { compareMoments, type Moment, parseMoment } from './show-timestamp.ts';
import type { Variants } from '../faults/variants.ts';

/** The rows of one kind, in the form that a listing needs. */
export interface Listed<R> {
  readonly rows: ReadonlyMap<number, R>;
  /** A number that increases whenever a row might have changed. */
  readonly version: number;
  /** The timestamps of a row; `undefined` for kinds without timestamps, which are ordered by id and ignore the date. */
  readonly times: { readonly created: (row: R) => Moment; readonly updated: (row: R) => Moment } | undefined;
  /** The text in which the `filter` of a request is searched, ignoring case; `undefined` if it has no effect. */
  readonly textOf: ((row: R) => string) | undefined;
  /** True if the request sees the row with this id. If absent, the request sees all rows. */
  readonly shown?: (id: number) => boolean;
}

export type PageMode = Variants['pages'];

/** One page, or the reason for a 400. */
type ShownPage<R> = { readonly rows: readonly R[] } | { readonly refused: string };

type Timed = 'created' | 'updated';

/** Reads one page of the listing, as the variants demand. `mode` is the page numbering. */
export function readPage<R extends { readonly id: number }>(
  listed: Listed<R>,
  request: PageRequest,
  mode: PageMode,
  variants: Variants,
): ShownPage<R> {
  const limit = pageLimit(request.limit ?? 0, variants);
  if (limit === undefined) return { refused: 'limit is above the cap' };
  const order = orderBy(request.order ?? '', variants);
  if (order === undefined) return { refused: 'unknown order' };
  const first = firstRow(request.page, limit, mode);
  if (first === undefined) return { refused: 'pages start at 1' };
  const before = mode === 'ignored' || !request.date ? undefined : parseMoment(request.date);
  if (mode !== 'ignored' && request.date && before === undefined) return { refused: 'date is not RFC 3339' };

  const { times, shown, textOf } = listed;
  let rows = sorted(listed, order, ascends(request.ascending, variants));
  if (shown !== undefined) rows = rows.filter((row) => shown(row.id));
  const wanted = request.filter?.toLowerCase();
  if (wanted && textOf !== undefined) rows = rows.filter((row) => textOf(row).toLowerCase().includes(wanted));
  if (before !== undefined && times !== undefined) {
    rows = rows.filter((row) => compareMoments(times.updated(row), before) < 0);
  }
  return { rows: rows.slice(first, first + limit) };
}

function pageLimit(limit: number, variants: Variants): number | undefined {
  const cap = variants['limit-cap'] === 'none' ? Number.POSITIVE_INFINITY : variants['limit-cap'];
  if (limit > cap && variants['over-cap'] === 'refuse') return undefined;
  return Math.min(limit === 0 ? variants['default-limit'] : limit, cap);
}

function orderBy(order: string, variants: Variants): Timed | undefined {
  if (order === 'created_at') return 'created';
  return order === 'updated_at' || order === '' || variants['unknown-order'] === 'ignore'
    ? 'updated'
    : undefined;
}

function ascends(isAscending: boolean | undefined, variants: Variants): boolean {
  return isAscending ?? variants.order === 'oldest-first';
}

/** The index of the page's first row: infinity for an empty page, `undefined` for a 400. */
function firstRow(page: number | undefined, limit: number, mode: PageMode): number | undefined {
  if (page === undefined || mode === 'ignored' || mode === 'date-cursor') return 0;
  if (mode === 'base-0') return page * limit;
  if (page > 0) return (page - 1) * limit;
  if (mode === 'base-1-refused') return undefined;
  return mode === 'base-1-empty' ? Number.POSITIVE_INFINITY : 0;
}

const kept = new WeakMap<
  object,
  Map<string, { readonly version: number; readonly rows: readonly unknown[] }>
>();

/** All rows in order. They are cached until the next change, so that a listing of many pages is sorted once. */
function sorted<R extends { readonly id: number }>(
  listed: Listed<R>,
  order: Timed,
  ascending: boolean,
): readonly R[] {
  const orders = kept.get(listed.rows) ?? new Map<string, { version: number; rows: readonly unknown[] }>();
  kept.set(listed.rows, orders);
  const key = `${order} ${ascending}`;
  const there = orders.get(key);
  if (there !== undefined && there.version === listed.version) return there.rows as readonly R[];
  const at = listed.times?.[order];
  const sign = ascending ? 1 : -1;
  const rows = [...listed.rows.values()].sort(
    (a, b) => sign * ((at === undefined ? 0 : compareMoments(at(a), at(b))) || a.id - b.id),
  );
  orders.set(key, { version: listed.version, rows });
  return rows;
}
