import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/errors.ts';
import { type ListingMemory, nothingLearned } from '../../src/model/listing.ts';
import { readListing } from '../../src/service/pages.ts';
import {
  badRequest,
  createVariantListing,
  makeRows,
  numbered,
  type Row,
  type VariantListing,
} from './variant-listing.ts';

const k = 10;
const sizes = [0, 1, k - 1, k, k + 1, 2 * k];

async function read(listing: VariantListing, memory: ListingMemory = nothingLearned, size = k) {
  return await readListing<Row>({
    fetchPage: listing.fetchPage,
    memory,
    size,
    parallel: 4,
    maxPages: 50,
    updatedOf: (row) => row.updated,
  });
}

const ids = (rows: readonly Row[]) => rows.map((row) => row.id).toSorted((a, b) => (a < b ? -1 : 1));

describe.each(numbered)('pages: %s', (paging) => {
  test.each(sizes)('n = %i is read whole, first without and then with what was learned', async (n) => {
    const listing = createVariantListing({ paging, rows: makeRows(n) });
    const first = await read(listing);
    expect(first.status).toBe('complete');
    expect(ids(first.rows)).toEqual(ids(listing.rows));
    expect(first.memory.firstPage).toBe(n === 0 ? null : paging === 'base 0' ? 0 : 1);
    const second = await read(listing, first.memory);
    expect(second.status).toBe('complete');
    expect(ids(second.rows)).toEqual(ids(listing.rows));
    expect(second.memory).toEqual(first.memory);
    if (n > 0) expect(second.requests).toBe(Math.ceil(n / k) + 1);
  });

  test.each([
    [1, 3],
    [2, 5],
    [7, 20],
  ])('a silent cap of %i rows proves nothing about the end (n = %i)', async (cap, n) => {
    const listing = createVariantListing({ paging, cap, rows: makeRows(n) });
    const first = await read(listing);
    const second = await read(listing, first.memory);
    for (const result of [first, second]) {
      expect(result.status).toBe('complete');
      expect(ids(result.rows)).toEqual(ids(listing.rows));
    }
    expect(second.requests).toBe(Math.ceil(n / cap) + 1);
  });

  test('a refused limit is halved, and remembered', async () => {
    const listing = createVariantListing({ paging, largestLimit: 30, rows: makeRows(60) });
    const first = await read(listing, nothingLearned, 100);
    expect(first.status).toBe('complete');
    expect(first.memory.limit).toBe(25);
    const second = await read(listing, first.memory, 100);
    expect(second.status).toBe('complete');
    expect(second.requests).toBe(Math.ceil(60 / 25) + 1);
  });

  test('with a remembered page count all pages leave at once, as many as may be in flight', async () => {
    const listing = createVariantListing({ paging, rows: makeRows(35) });
    const { memory } = await read(listing);
    let inFlight = 0;
    let most = 0;
    const slow: VariantListing['fetchPage'] = async (query) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      const page = await listing.fetchPage(query);
      await new Promise(setImmediate);
      inFlight -= 1;
      return page;
    };
    const result = await read({ ...listing, fetchPage: slow }, memory);
    expect(result.status).toBe('complete');
    expect(most).toBe(4);
  });

  test.each([
    ['grown by two pages', 25, 45, 6],
    ['shrunk by two pages', 45, 25, 6],
    ['emptied', 25, 0, 4],
  ])('a listing that has %s is read whole', async (_name, before, after, requests) => {
    const listing = createVariantListing({ paging, rows: makeRows(before) });
    const { memory } = await read(listing);
    listing.rows = makeRows(after);
    const result = await read(listing, memory);
    expect(result.status).toBe('complete');
    expect(ids(result.rows)).toEqual(ids(listing.rows));
    expect(result.requests).toBe(requests);
    expect(result.memory.pages).toBe(Math.ceil(after / k));
  });
});

/** Where no size is set. */
describe.each(numbered)('pages as large as the service gives them: %s', (paging) => {
  const readAll = async (listing: VariantListing, memory: ListingMemory = nothingLearned) => {
    const { fetchPage } = listing;
    const result = await readListing<Row>({ fetchPage, memory, parallel: 4, maxPages: 1_000 });
    expect(result.status).toBe('complete');
    expect(ids(result.rows)).toEqual(ids(listing.rows));
    return result;
  };
  /** The requests of the first run and of the next three. */
  const requestsOf = async (listing: VariantListing) => {
    const requests: number[] = [];
    let memory: ListingMemory = nothingLearned;
    for (let run = 1; run <= 4; run += 1) {
      const result = await readAll(listing, memory);
      requests.push(result.requests);
      ({ memory } = result);
    }
    return { requests, memory };
  };
  /** To learn the numbering of the pages. */
  const learning = paging === 'base 0' || paging === 'base 1, 0 refused' ? 2 : 3;

  test.each([
    // rows, what the service does, requests of a run once that is known, the limit, those to find it out
    [5_000, {}, 6, 1_000, 1],
    [5_001, {}, 7, 1_000, 1],
    [12_000, {}, 13, 1_000, 1],
    [300, {}, 2, 300, 1],
    [100, {}, 2, 100, 1],
    [99, {}, 2, 100, 0],
    [5_000, { cap: 250 }, 21, 250, 1],
    [5_000, { cap: 100 }, 51, 100, 1],
    [5_000, { cap: 30 }, 168, 100, 0],
    [5_000, { largestLimit: 500 }, 11, 500, 2],
    [5_000, { largestLimit: 700, cap: 400 }, 14, 400, 2],
    [5_000, { largestLimit: 100 }, 51, 100, 4],
    [5_000, { largestLimit: 100, skipsByLimit: true }, 51, 100, 4],
    [5_000, { cap: 100, skipsByLimit: true }, 51, 100, 1],
    [5_000, { cap: 250, skipsByLimit: true }, 21, 250, 1],
  ] as const)('%i rows, %o: %i requests', async (n, deployment, steady, limit, tries) => {
    const { requests, memory } = await requestsOf(
      createVariantListing({ paging, rows: makeRows(n), ...deployment }),
    );
    expect(memory.limit).toBe(limit);
    expect(requests.slice(1)).toEqual([steady, steady, steady]);
    // Three pages past the end at most.
    expect(requests[0]).toBeLessThanOrEqual(steady + learning + tries + 3);
  });

  test('a listing that grows past its page costs nothing more', async () => {
    const listing = createVariantListing({ paging, rows: makeRows(300) });
    const { memory } = await requestsOf(listing);
    listing.rows = makeRows(340);
    const grown = await readAll(listing, memory);
    expect(grown).toMatchObject({ requests: 3, memory: { limit: 300, pages: 2 } });
    const next = await readAll(listing, grown.memory);
    expect(next).toMatchObject({ requests: 3, memory: { limit: 340, pages: 1 } });
    expect((await readAll(listing, next.memory)).requests).toBe(2);
  });

  test.each([100, 250, 999])('a cap of %i that comes later is not taken for the end', async (cap) => {
    for (const skipsByLimit of [false, true]) {
      const listing = createVariantListing({ paging, rows: makeRows(5_000), skipsByLimit });
      const { memory } = await requestsOf(listing);
      expect(memory.limit).toBe(1_000);
      listing.cap = cap;
      const next = await readAll(listing, memory);
      expect(next.memory.limit).toBe(Math.max(cap, 100));
      expect((await readAll(listing, next.memory)).requests).toBe(Math.ceil(5_000 / cap) + 1);
    }
  });

  test('a larger limit that is refused later falls back at once', async () => {
    const listing = createVariantListing({ paging, rows: makeRows(5_000) });
    const { memory } = await requestsOf(listing);
    listing.largestLimit = 100;
    const next = await readAll(listing, memory);
    expect(next.memory).toMatchObject({ limit: 100, isLargest: true });
    expect((await readAll(listing, next.memory)).requests).toBe(51);
  });

  test('an answer that is too large is no reason to fail', async () => {
    const listing = createVariantListing({ paging, rows: makeRows(5_000) });
    const tooLarge = () =>
      new ServiceError('the answer is too large', { operation: 'tags', phase: 'sent', status: 200 });
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      if (query.limit >= 500) throw tooLarge();
      return await listing.fetchPage(query);
    };
    const first = await readAll({ ...listing, fetchPage });
    expect(first.memory).toMatchObject({ limit: 250, isLargest: true });
    const later: VariantListing['fetchPage'] = async (query) => {
      if (query.limit >= 250 && query.page === 3) throw tooLarge();
      return await listing.fetchPage(query);
    };
    expect((await readAll({ ...listing, fetchPage: later }, first.memory)).memory.limit).toBe(100);
  });

  test('a set size is the largest', async () => {
    const listing = createVariantListing({ paging, rows: makeRows(500) });
    const { memory } = await requestsOf(listing);
    expect(memory.limit).toBe(500);
    expect((await read(listing, memory, 50)).memory.limit).toBe(50);
    expect(Math.max(...listing.queries.slice(-8).map(({ limit }) => limit))).toBe(50);
  });
});

describe('pages: the first load', () => {
  test('asks for more and more pages at once, and for few past the end', async () => {
    const listing = createVariantListing({ rows: makeRows(20_000), cap: 100 });
    let inFlight = 0;
    const widths: number[] = [];
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      inFlight += 1;
      widths.push(inFlight);
      const page = await listing.fetchPage(query);
      await new Promise(setImmediate);
      inFlight -= 1;
      return page;
    };
    const all = { fetchPage, parallel: 8, maxPages: 1_000 };
    const first = await readListing<Row>({ ...all, memory: nothingLearned });
    expect(first).toMatchObject({ status: 'complete', memory: { pages: 200 } });
    expect(first.rows).toHaveLength(20_000);
    expect(Math.max(...widths)).toBe(8);
    expect(first.requests).toBeLessThanOrEqual(2 + 1 + 199 + 8);
    const second = await readListing<Row>({ ...all, memory: first.memory });
    expect(second.requests).toBe(201);
  });

  test('a page past the end that is refused costs nothing', async () => {
    const listing = createVariantListing({ rows: makeRows(700), cap: 100 });
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      if ((query.page ?? 0) > 7) throw badRequest();
      return await listing.fetchPage(query);
    };
    const result = await readListing<Row>({ fetchPage, memory: nothingLearned, parallel: 8, maxPages: 50 });
    expect(result).toMatchObject({ status: 'complete', memory: { pages: 7 } });
  });

  test('a filled page behind an empty one is seen there as well', async () => {
    const listing = createVariantListing({ rows: makeRows(1_500), cap: 100 });
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      const page = await listing.fetchPage(query);
      return query.page === 6 ? { rows: [], rejected: [] } : page;
    };
    const result = await readListing<Row>({ fetchPage, memory: nothingLearned, parallel: 8, maxPages: 50 });
    expect(result).toMatchObject({ status: 'incomplete', memory: { pages: null } });
  });
});

describe('pages: drift', () => {
  test.each(numbered)(
    '%s: rows added at the front between any two requests cost no other row',
    async (paging) => {
      for (const at of [1, 2, 3, 4]) {
        for (const added of [1, 3, k]) {
          const old = makeRows(25);
          const listing = createVariantListing({ paging, rows: old });
          listing.before = (request) => {
            if (request !== at) return;
            const fresh = Array.from({ length: added }, (_, i) => ({ id: BigInt(1000 + i), updated: null }));
            listing.rows = [...fresh, ...old];
          };
          const result = await read(listing);
          const got = new Set(ids(result.rows));
          expect(got.size).toBe(result.rows.length);
          // A whole page's worth of new rows can make two pages look alike: told of, not remembered.
          if (result.status === 'incomplete') {
            expect(added).toBe(k);
            expect(result.memory).toMatchObject({ pages: null, cursor: 'page' });
          } else expect(old.filter((row) => !got.has(row.id))).toEqual([]);
        }
      }
    },
  );

  test('rows added while learning lead to base 0 for a base of 1, which the next run puts right', async () => {
    const listing = createVariantListing({ paging: 'base 1, 0 like 1', rows: makeRows(25) });
    listing.before = (request) => {
      if (request === 2) listing.rows = [{ id: 1000n, updated: null }, ...listing.rows];
    };
    const first = await read(listing);
    expect(first.memory.firstPage).toBe(0);
    expect(first.rows).toHaveLength(26);
    const second = await read(listing, first.memory);
    expect(second.status).toBe('complete');
    expect(second.memory.firstPage).toBe(1);
    expect(second.rows).toHaveLength(26);
  });

  test('a page that is empty by mistake makes the listing incomplete, not shorter', async () => {
    const listing = createVariantListing({ rows: makeRows(35) });
    const { memory } = await read(listing);
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      const page = await listing.fetchPage(query);
      return query.page === 2 ? { rows: [], rejected: [] } : page;
    };
    const result = await read({ ...listing, fetchPage }, memory);
    expect(result).toMatchObject({ status: 'incomplete', because: 'page 2 was empty and page 3 was not' });
    expect(result.rows).toHaveLength(25);
  });

  test('a page 0 that is empty by mistake while learning is not taken as proof of base 1', async () => {
    const listing = createVariantListing({ rows: makeRows(35) });
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      const page = await listing.fetchPage(query);
      return listing.queries.length === 1 ? { rows: [], rejected: [] } : page;
    };
    const result = await read({ ...listing, fetchPage });
    expect(result).toMatchObject({ status: 'incomplete', because: 'page 0 was empty at first' });
    expect(result.memory.firstPage).toBeNull();
  });

  test('a later row of the same id takes the place of an earlier one', async () => {
    const listing = createVariantListing({ rows: makeRows(12) });
    listing.before = (request) => {
      if (request === 2) listing.rows = listing.rows.map((row) => ({ ...row, updated: 'later' }));
      if (request === 2) listing.rows = [{ id: 99n, updated: 'later' }, ...listing.rows];
    };
    const result = await read(listing);
    expect(result.rows.filter((row) => row.id === 3n)).toEqual([{ id: 3n, updated: 'later' }]);
  });
});

describe('pages: what was remembered is wrong', () => {
  test.each(numbered)('the service changed to %s', async (paging) => {
    for (const firstPage of [0, 1] as const) {
      for (const pages of [null, 0, 1, 3, 5]) {
        const listing = createVariantListing({ paging, rows: makeRows(35) });
        const result = await read(listing, { firstPage, limit: k, pages, cursor: 'page' });
        // Pages that start at 0 and are remembered as starting at 1 show no contradiction.
        if (paging === 'base 0' && firstPage === 1) continue;
        // One empty page is all that was asked for, and all that was ever there.
        if (paging === 'base 1, 0 empty' && firstPage === 0 && (pages ?? 0) === 0) continue;
        expect(result.status).toBe('complete');
        expect(ids(result.rows)).toEqual(ids(listing.rows));
        expect(result.memory.firstPage).toBe(paging === 'base 0' ? 0 : 1);
      }
    }
  });

  test('it is learned again once, and not over and over', async () => {
    const listing = createVariantListing({ paging: 'page ignored', rows: makeRows(35) });
    const result = await read(listing, { firstPage: 0, limit: k, pages: 4, cursor: 'page' });
    expect(result.status).toBe('incomplete');
    expect(listing.queries.length).toBeLessThan(15);
  });

  test('a size that was never refused is asked for, whatever limit was used before', async () => {
    const listing = createVariantListing({ rows: makeRows(35) });
    const { memory } = await read(listing, nothingLearned, 20);
    expect((await read(listing, memory, 30)).memory.limit).toBe(30);
    expect((await read(listing, memory, 10)).memory.limit).toBe(10);
    expect((await read(listing, memory, 40)).memory.limit).toBe(20);
  });
});

describe('pages: incomplete', () => {
  test.each(sizes.filter((n) => n > 0))(
    '`page` ignored and no dates: n = %i is never complete',
    async (n) => {
      const listing = createVariantListing({ paging: 'page ignored', rows: makeRows(n) });
      const { fetchPage } = listing;
      const base = { fetchPage, memory: nothingLearned, size: k, parallel: 4, maxPages: 50 };
      const result = await readListing<Row>(base);
      expect(result).toMatchObject({
        status: 'incomplete',
        because: 'the service ignores `page`, and these rows have no date to go by',
      });
      expect(result.rows).toHaveLength(Math.min(n, k));
      expect(result.requests).toBe(3);
    },
  );

  test('`page` ignored and nothing listed is complete', async () => {
    const listing = createVariantListing({ paging: 'page ignored' });
    expect(await read(listing)).toMatchObject({ status: 'complete', rows: [] });
  });

  test('more pages than the cap', async () => {
    const listing = createVariantListing({ rows: makeRows(600) });
    const result = await read(listing);
    expect(result).toMatchObject({ status: 'incomplete', because: 'there are more than 50 pages' });
    expect(result.requests).toBe(50);
    expect(result.rows).toHaveLength(500);
  });

  test('a service that repeats its last page forever is left after two repeats', async () => {
    const listing = createVariantListing({ rows: makeRows(25) });
    const fetchPage: VariantListing['fetchPage'] = (query) =>
      listing.fetchPage({ ...query, page: Math.min(query.page ?? 0, 2) });
    const result = await read({ ...listing, fetchPage });
    expect(result).toMatchObject({
      status: 'incomplete',
      because: 'page 3 brought nothing new; page 4 brought nothing new',
    });
    expect(result.requests).toBe(5);
  });

  test('one rejected row costs completeness and nothing else', async () => {
    const listing = createVariantListing({ rows: makeRows(25) });
    const rejected = [{ resource: 'tags', id: null, reason: 'no id', excerpt: '{}' }];
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      const page = await listing.fetchPage(query);
      return query.page === 1 ? { ...page, rejected } : page;
    };
    const result = await read({ ...listing, fetchPage });
    expect(result).toMatchObject({ status: 'incomplete', because: '1 rows could not be taken', rejected });
    expect(result.rows).toHaveLength(25);
  });

  test('pages of nothing but rejected rows are not empty pages', async () => {
    const listing = createVariantListing({ rows: makeRows(35) });
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      const page = await listing.fetchPage(query);
      if (query.page !== 1) return page;
      const rejected = page.rows.map((row) => ({ resource: 'tags', id: row.id, reason: 'NUL', excerpt: '' }));
      return { rows: [], rejected };
    };
    const result = await read({ ...listing, fetchPage });
    expect(result).toMatchObject({ status: 'incomplete', because: '10 rows could not be taken' });
    expect(result.rows).toHaveLength(25);
    expect(result.rejected).toHaveLength(10);
  });

  test('a page in the middle that is refused', async () => {
    const listing = createVariantListing({ rows: makeRows(35), largestLimit: k });
    const fetchPage: VariantListing['fetchPage'] = (query) =>
      listing.fetchPage(query.page === 2 ? { ...query, limit: k + 1 } : query);
    const result = await read({ ...listing, fetchPage });
    expect(result).toMatchObject({ status: 'incomplete', because: 'page 2 was refused (400)' });
  });

  test('every limit down to 10 is refused: the refusal is the result', async () => {
    const listing = createVariantListing({ rows: makeRows(35), largestLimit: 5 });
    await expect(read(listing, nothingLearned, 100)).rejects.toMatchObject({ status: 400 });
    expect(listing.queries.map((query) => query.limit)).toEqual([100, 100, 50, 50, 25, 25, 12, 12, 10, 10]);
  });

  test('after a page that cannot be had, no further one is asked for', async () => {
    const listing = createVariantListing({ rows: makeRows(400) });
    const { memory } = await read(listing);
    let asked = 0;
    const fetchPage: VariantListing['fetchPage'] = async (query) => {
      asked += 1;
      if (query.page === 3) throw new Error('the connection broke');
      return await listing.fetchPage(query);
    };
    await expect(read({ ...listing, fetchPage }, memory)).rejects.toThrow('the connection broke');
    expect(asked).toBeLessThan(12);
  });
});

describe('pages: the date cursor', () => {
  test.each(sizes)('n = %i, every row with a date of its own', async (n) => {
    const listing = createVariantListing({ paging: 'date', rows: makeRows(n) });
    const result = await read(listing);
    expect(result.status).toBe('complete');
    expect(ids(result.rows)).toEqual(ids(listing.rows));
    if (n === 0) return;
    expect(result.memory.cursor).toBe('date');
    const again = await read(listing, result.memory);
    expect(again.status).toBe('complete');
    expect(ids(again.rows)).toEqual(ids(listing.rows));
  });

  test.each([2, 3, 4, 7, 9])(
    'rows that share a date, %i at a time, are not lost at the edges',
    async (same) => {
      for (let n = 11; n <= 45; n += 1) {
        const listing = createVariantListing({ paging: 'date', rows: makeRows(n, same) });
        const result = await read(listing);
        expect(ids(result.rows)).toEqual(ids(listing.rows));
        expect(result.status).toBe('complete');
      }
    },
  );

  test.each([10, 15, 20, 45, 400])(
    '%i rows of one date, more than a page: larger pages are asked for',
    async (same) => {
      const listing = createVariantListing({ paging: 'date', rows: makeRows(2 * same + 5, same) });
      const result = await read(listing);
      expect(result).toMatchObject({ status: 'complete', memory: { cursor: 'date', limit: k } });
      expect(ids(result.rows)).toEqual(ids(listing.rows));
    },
  );

  test.each([
    ['gives no more', { cap: k }],
    ['refuses more', { largestLimit: k }],
  ])(
    'rows of one date fill a page, and the service %s: incomplete, never silently short',
    async (_name, how) => {
      const rows = [...makeRows(60).slice(0, 30), ...makeRows(30, 15)];
      const listing = createVariantListing({ paging: 'date', rows, ...how });
      const result = await read(listing);
      expect(result).toMatchObject({
        status: 'incomplete',
        because: 'a whole page shares one `updated`; rows that share it as well may be missing',
      });
      expect(result.rows.length).toBeGreaterThanOrEqual(30 + 2 * k);
    },
  );

  test('the cursor is the date as the service wrote it', async () => {
    const rows = makeRows(25).map((row) => ({
      ...row,
      updated: (row.updated ?? '').replace('Z', '123456Z'),
    }));
    const listing = createVariantListing({ paging: 'date', rows });
    expect((await read(listing)).status).toBe('complete');
    const written = new Set(rows.map((row) => row.updated));
    for (const { date } of listing.queries) if (date !== undefined) expect(written.has(date)).toBe(true);
  });

  test.each([3, k - 1, k, 2 * k, 24])(
    'a row without a date, at place %i: the others are read, incomplete',
    async (place) => {
      const rows = makeRows(25).map((row, i) => (i === place ? { ...row, updated: null } : row));
      const listing = createVariantListing({ paging: 'date', rows });
      const result = await read(listing);
      // Beyond the first page nobody hears of a row without a date: its absence is nothing to be seen.
      if (place < k) {
        expect(result).toMatchObject({
          status: 'incomplete',
          because: 'some rows have no `updated`; others without one may be missing',
        });
      }
      const got = new Set(ids(result.rows));
      expect(rows.filter((row) => row.updated !== null && !got.has(row.id))).toEqual([]);
    },
  );

  test('rows in another order than the cursor needs', async () => {
    const rows = makeRows(25).toSorted((a, b) => Number((a.id * 7n) % 25n) - Number((b.id * 7n) % 25n));
    const listing = createVariantListing({ paging: 'date', rows });
    expect(await read(listing)).toMatchObject({
      status: 'incomplete',
      because: 'the rows are not sorted by `updated`',
    });
  });

  test('a service that ignores `date` as well', async () => {
    const listing = createVariantListing({ paging: 'page ignored', rows: makeRows(25) });
    expect(await read(listing)).toMatchObject({
      status: 'incomplete',
      because: 'the `date` cursor does not go on',
    });
  });
});
