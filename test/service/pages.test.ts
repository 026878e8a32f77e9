import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nothingLearned } from '../../src/model/listing.ts';
import { readListing } from '../../src/service/pages.ts';
import { createVariantListing, makeRows, numbered, type VariantListing } from './variant-listing.ts';

const read = (listing: VariantListing, memory = nothingLearned, size?: number) =>
  readListing({ fetchPage: listing.fetchPage, memory, size, maxPages: 500 });
const ids = (rows: readonly { readonly id: bigint }[]) => new Set(rows.map(({ id }) => id));

describe.each(numbered)('readListing, if pages are numbered "%s"', (paging) => {
  test('two reads return all rows, for any number of rows and any page limit (A6)', async () => {
    const listingOf = fc.record({
      n: fc.integer({ min: 0, max: 250 }),
      cap: fc.option(fc.integer({ min: 1, max: 300 }), { nil: Number.MAX_SAFE_INTEGER }),
      largestLimit: fc.option(fc.integer({ min: 10, max: 300 }), { nil: Number.MAX_SAFE_INTEGER }),
      size: fc.option(fc.integer({ min: 10, max: 1_000 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(listingOf, async ({ n, cap, largestLimit, size }) => {
        const listing = createVariantListing({ paging, cap, largestLimit, rows: makeRows(n) });
        const first = await read(listing, nothingLearned, size);
        const second = await read(listing, first.memory, size);
        for (const { status, rows } of [first, second]) {
          expect(status).toBe('complete');
          expect(ids(rows)).toEqual(ids(listing.rows));
        }
      }),
      { numRuns: 300 },
    );
  });

  test.each([10, 37, 100])(
    'reads all rows if the service cuts pages to %i rows but numbers pages by the requested size (A6)',
    async (cap) => {
      for (const n of [1, cap - 1, cap, cap + 1, 2 * cap - 1, 2 * cap, 450]) {
        const listing = createVariantListing({ paging, cap, skipsByLimit: true, rows: makeRows(n) });
        const first = await read(listing);
        expect(first).toMatchObject({ status: 'complete', count: n });
        expect(await read(listing, first.memory)).toMatchObject({ status: 'complete', count: n });
      }
    },
  );

  test('reads all earlier rows if a row is added at the front between any two requests (A4)', async () => {
    for (let at = 1; at < 12; at += 1) {
      const listing = createVariantListing({ paging, rows: makeRows(35) });
      const before = ids(listing.rows);
      listing.before = (request) => {
        if (request === at) listing.rows = [{ id: 1_000n, updated: null }, ...listing.rows];
      };
      const { rows } = await read(listing, nothingLearned, 10);
      expect(before.isSubsetOf(ids(rows))).toBe(true);
    }
  });
});

test.each([
  // Two empty pages; another page 0, which may be asked for twice.
  ['base 0', 2],
  ['base 1, 0 like 1', 3],
  ['base 1, 0 empty', 4],
  ['base 1, 0 refused', 3],
] as const)('readListing, with paging "%s", sends %i requests beside 3 pages', async (paging, besides) => {
  const listing = createVariantListing({ paging, rows: makeRows(45) });
  const { memory } = await read(listing, nothingLearned, 20);
  expect(await read(listing, memory, 20)).toMatchObject({ status: 'complete', requests: 3 + besides });
});

test('readListing returns incomplete after three equal pages if the service ignores `page` (A5)', async () => {
  const listing = createVariantListing({ paging: 'page ignored', cap: 10, rows: makeRows(25) });
  const result = await read(listing, nothingLearned, 10);
  expect(result).toMatchObject({
    status: 'incomplete',
    count: 10,
    requests: 3,
    because: 'pages 0 to 2 are the same: the service ignores `page`',
  });
});

test('readListing sends one request less if the listing has as many rows as in the last read', async () => {
  const listing = createVariantListing({ rows: makeRows(37) });
  const first = await read(listing);
  expect(first).toMatchObject({ requests: 4, memory: { limit: 37 } });
  const second = await read(listing, first.memory);
  expect(second).toMatchObject({ requests: 3, memory: { limit: 37 } });
  listing.rows = makeRows(38);
  const grown = await read(listing, second.memory);
  expect(grown).toMatchObject({ status: 'complete', count: 38, requests: 4, memory: { limit: null } });
});

test('readListing reads 2,500 rows in five requests', async () => {
  const listing = createVariantListing({ rows: makeRows(2_500) });
  expect(await read(listing)).toMatchObject({ status: 'complete', count: 2_500, requests: 5 });
});

test('readListing returns incomplete if a page with rows follows an empty page', async () => {
  const listing = createVariantListing({ rows: makeRows(45) });
  const fetchPage: VariantListing['fetchPage'] = async (query) =>
    query.page === 2 ? { rows: [], rejected: [] } : await listing.fetchPage(query);
  const result = await read({ ...listing, fetchPage }, nothingLearned, 10);
  expect(result).toMatchObject({ status: 'incomplete', because: 'page 2 was empty and page 3 was not' });
});

test('readListing returns the row that was read last if two pages have the same id (A3)', async () => {
  const listing = createVariantListing({ rows: makeRows(12) });
  listing.before = (request) => {
    if (request === 2) listing.rows = listing.rows.map((row) => ({ ...row, updated: 'later' }));
    if (request === 2) listing.rows = [{ id: 99n, updated: 'later' }, ...listing.rows];
  };
  const { rows } = await read(listing, nothingLearned, 10);
  expect(rows.filter((row) => row.id === 3n)).toEqual([{ id: 3n, updated: 'later' }]);
});

test.each(numbered)('readListing reads all rows with a wrong stored page size: "%s" (A7)', async (paging) => {
  for (const [limit, isLargest] of [
    [10, true],
    [50, true],
    [200, false],
  ] as const) {
    const listing = createVariantListing({ paging, cap: 20, rows: makeRows(135) });
    const result = await read(listing, { limit, isLargest });
    expect(result).toMatchObject({ status: 'complete', count: 135, memory: { isLargest: true } });
    expect((await read(listing, result.memory)).requests).toBeLessThanOrEqual(result.requests);
  }
});

test('readListing returns incomplete if there are more than maxPages pages (A5)', async () => {
  const listing = createVariantListing({ rows: makeRows(600) });
  const of = { fetchPage: listing.fetchPage, memory: nothingLearned, size: 10, maxPages: 50 };
  const result = await readListing(of);
  expect(result).toMatchObject({ status: 'incomplete', because: 'there are more than 50 pages', count: 510 });
});

test('readListing returns incomplete if the service repeats its last page twice (A5)', async () => {
  const listing = createVariantListing({ rows: makeRows(25) });
  const fetchPage: VariantListing['fetchPage'] = (query) =>
    listing.fetchPage({ ...query, page: Math.min(query.page ?? 0, 2) });
  expect(await read({ ...listing, fetchPage }, nothingLearned, 10)).toMatchObject({
    status: 'incomplete',
    because: 'page 3 brought nothing new; pages 2 to 4 are the same: the service ignores `page`',
    count: 25,
  });
});

test('readListing returns incomplete with all readable rows if one row is rejected (A9)', async () => {
  const listing = createVariantListing({ rows: makeRows(25) });
  const rejected = [{ resource: 'tags', id: null, reason: 'no id', excerpt: '{}' }];
  const fetchPage: VariantListing['fetchPage'] = async (query) => {
    const page = await listing.fetchPage(query);
    return query.page === 1 ? { ...page, rejected } : page;
  };
  const result = await read({ ...listing, fetchPage }, nothingLearned, 10);
  expect(result).toMatchObject({ status: 'incomplete', because: '1 rows could not be taken', rejected });
  expect(result.rows).toHaveLength(25);
});
