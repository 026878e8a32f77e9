/** Listings whose pages are known by their digests, and what is in hand while others are read. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Listing, type ListingMemory, nothingLearned } from '../../src/model/listing.ts';
import { createCollector } from '../../src/service/collector.ts';
import { createIdSet } from '../../src/service/id-set.ts';
import type { FetchPage, Page } from '../../src/service/page.ts';
import { readListing } from '../../src/service/pages.ts';
import { createVariantListing, makeRows, type Row, type VariantListing } from './variant-listing.ts';

const size = 10;

/** Pages that have a digest, and are not read where it is known; counts those that are read. */
function withDigests(listing: VariantListing, bytes = 1) {
  const counted = { read: 0, fetchPage: {} as FetchPage<Row> };
  counted.fetchPage = async (query, known) => {
    const page = await listing.fetchPage(query);
    const digest = JSON.stringify(page.rows.map(({ id, updated }) => [String(id), updated]));
    const whole: Page<Row> = { ...page, digest, bytes };
    const read = async () => {
      counted.read += 1;
      return await Promise.resolve(whole);
    };
    return digest === known ? { rows: [], rejected: [], digest, bytes, read } : await read();
  };
  return counted;
}

async function readBefore(listing: VariantListing, bytes?: number) {
  const fetchPage = withDigests(listing, bytes).fetchPage;
  const before = { fetchPage, size, parallel: 4, maxPages: 50, memory: nothingLearned };
  const first = await readListing<Row>(before);
  return { memory: first.memory, known: first.status === 'complete' ? first.digests : undefined };
}

type Before = { readonly memory: ListingMemory; readonly known: readonly string[] | undefined };

async function readAgain(listing: VariantListing, before: Before) {
  const counted = withDigests(listing);
  const { fetchPage } = counted;
  const again = await readListing<Row>({ fetchPage, size, parallel: 4, maxPages: 50, ...before });
  return { again, read: counted.read };
}

const asKnown = (listing: Listing<Row>) => listing.status === 'complete' && listing.isAsKnown === true;
const sorted = (rows: readonly Row[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));

describe('a listing that was read before', () => {
  it.each([1, 9, 10, 35, 40])('is not read where every page is as it was: %i rows', async (n) => {
    const listing = createVariantListing({ rows: makeRows(n) });
    const before = await readBefore(listing);
    expect(before.known).toHaveLength(Math.ceil(n / size) + 1);
    const { again, read } = await readAgain(listing, before);
    expect({ read, isAsKnown: asKnown(again), requests: again.requests, memory: again.memory }).toEqual({
      read: 0,
      isAsKnown: true,
      requests: Math.ceil(n / size) + 1,
      memory: before.memory,
    });
  });

  it.each([0, 1, 2, 3, 4, 5])('is read as a whole where page %i is another', async (page) => {
    const listing = createVariantListing({ rows: makeRows(45) });
    const before = await readBefore(listing);
    listing.rows = listing.rows.map((row, at) => (at === page * size ? { ...row, updated: null } : row));
    if (page === 5)
      listing.rows = [...listing.rows, ...makeRows(6).map(({ id }) => ({ id: 100n + id, updated: null }))];
    const { again, read } = await readAgain(listing, before);
    expect(asKnown(again)).toBe(false);
    expect(again.status).toBe('complete');
    expect(read).toBe(again.requests);
    expect(sorted(again.rows)).toEqual(sorted(listing.rows));
    expect(again).toMatchObject({ count: listing.rows.length });
  });

  it('is read as a whole where it is shorter, though each page that is left is known', async () => {
    const listing = createVariantListing({ rows: makeRows(40) });
    const before = await readBefore(listing);
    listing.rows = listing.rows.slice(0, 30);
    const { again } = await readAgain(listing, before);
    expect(asKnown(again)).toBe(false);
    expect(again).toMatchObject({ status: 'complete', count: 30 });
  });

  it.each<readonly [string, (before: Before) => Before]>([
    ['fewer pages are expected', (before) => ({ ...before, memory: { ...before.memory, pages: 2 } })],
    ['more are', (before) => ({ ...before, memory: { ...before.memory, pages: 7 } })],
    ['the numbers of the pages are not known', (before) => ({ ...before, memory: nothingLearned })],
    ['one page more is known', (before) => ({ ...before, known: [...(before.known ?? []), '[]'] })],
    ['the last is not known', (before) => ({ ...before, known: before.known?.slice(0, -1) })],
  ])('is read as a whole where %s', async (_, change) => {
    const listing = createVariantListing({ rows: makeRows(45) });
    const { again } = await readAgain(listing, change(await readBefore(listing)));
    expect(asKnown(again)).toBe(false);
    expect(sorted(again.rows)).toEqual(sorted(listing.rows));
  });

  it('has no digests where its pages are too long to be held, or it is not complete', async () => {
    const long = createVariantListing({ rows: makeRows(35) });
    expect((await readBefore(long, 6_710_887)).known).toBeUndefined();
    expect((await readBefore(long, 6_710_886)).known).toHaveLength(5);
    const hole = createVariantListing({ rows: makeRows(600) });
    expect((await readBefore(hole)).known).toBeUndefined();
  });
});

describe('the rows of a listing', () => {
  it('are in hand no longer than their page, and few pages are asked for ahead', async () => {
    const listing = createVariantListing({ rows: makeRows(400) });
    const { memory } = await readListing<Row>({
      ...listing,
      memory: nothingLearned,
      size,
      parallel: 4,
      maxPages: 50,
    });
    let asked = 0;
    let added = 0;
    let ahead = 0;
    const fetchPage: FetchPage<Row> = async (query) => {
      asked += 1;
      ahead = Math.max(ahead, asked - added);
      // The first is the slowest.
      for (let turn = 0; turn < (query.page === 0 ? 20 : 1); turn += 1) await new Promise(setImmediate);
      return await listing.fetchPage(query);
    };
    const sink = {
      clear: () => undefined,
      replace: () => undefined,
      add: () => {
        added += 1;
      },
    };
    const result = await readListing<Row>({ fetchPage, memory, size, parallel: 4, maxPages: 50, sink });
    expect(result).toMatchObject({ status: 'complete', count: 400, rows: [] });
    expect({ asked, added, ahead }).toEqual({ asked: 41, added: 40, ahead: 5 });
  });

  it('begin anew where what was remembered of the pages is not right', async () => {
    const listing = createVariantListing({ paging: 'base 1, 0 like 1', rows: makeRows(35) });
    const memory: ListingMemory = { firstPage: 0, limit: size, pages: 3, cursor: 'page' };
    const { again } = await readAgain(listing, { memory, known: undefined });
    expect(again).toMatchObject({ status: 'complete', count: 35 });
    expect(sorted(again.rows)).toEqual(sorted(listing.rows));
  });

  const ids = fc.array(fc.bigInt({ min: 1n, max: 12n }), { maxLength: 8 });
  it('are each there once, as the later page has them, whatever comes twice', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, ids), { maxLength: 6 }), (pages) => {
        const expected = new Map<bigint, string>();
        const seen = new Set<bigint>();
        const rows = new Map<bigint, { readonly id: bigint; readonly name: string }>([
          [99n, { id: 99n, name: '' }],
        ]);
        const collector = createCollector<{ readonly id: bigint; readonly name: string }>({
          clear: () => rows.clear(),
          add: (some) => {
            for (const row of some) {
              expect(rows.has(row.id)).toBe(false);
              rows.set(row.id, row);
            }
          },
          replace: (row) => {
            expect(rows.has(row.id)).toBe(true);
            rows.set(row.id, row);
          },
        });
        for (const [page, [taken, rejected]] of pages.entries()) {
          const fresh = new Set([...taken, ...rejected]).difference(seen).size;
          const added = collector.add({
            rows: taken.map((id, at) => ({ id, name: `${page} ${at}` })),
            rejected: rejected.map((id) => ({ resource: 'tags', id, reason: '', excerpt: '' })),
          });
          expect(added).toBe(fresh);
          for (const id of [...taken, ...rejected]) seen.add(id);
          for (const [at, id] of taken.entries()) expected.set(id, `${page} ${at}`);
        }
        expect(new Map([...rows].map(([id, { name }]) => [id, name]))).toEqual(expected);
        expect(collector.count).toBe(expected.size);
      }),
    );
  });

  it('are known by their ids, of which a set takes few bytes each', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 1n, max: 3_000n })), {
          maxLength: 3_000,
          size: 'max',
        }),
        (some) => {
          const [mine, usual] = [createIdSet(), new Set<bigint>()];
          for (const id of some) {
            expect(mine.add(id)).toBe(!usual.has(id));
            usual.add(id);
          }
          expect(mine.size).toBe(usual.size);
          expect([...usual].every((id) => mine.has(id))).toBe(true);
          expect(mine.has(3_001n)).toBe(usual.has(3_001n));
        },
      ),
      { numRuns: 20 },
    );
    const before = process.memoryUsage().arrayBuffers;
    const many = createIdSet();
    for (let id = 1n; id <= 200_000n; id += 1n) many.add(id * 1_000n);
    expect(many.size).toBe(200_000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000 * 48);
  });
});
