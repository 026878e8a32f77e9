/** Rows of a long answer that are known again by their bytes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openKnownRows, packPiece, type RowsBefore, rowsToKeep } from '../../src/model/known-rows.ts';
import { createCollector } from '../../src/service/collector.ts';
import { decodeLongList } from '../../src/service/decoded-rows.ts';
import { createNewsReader } from '../../src/service/listing-news.ts';
import type { AnswerNews } from '../../src/service/page.ts';
import { takeAllNews } from '../../src/service/row-news.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { decodeUsers } from '../../src/service/wire-user.ts';

const list = { property: 'memberships', decode: decodeUsers, isNoted: true };

interface Person {
  readonly id: number;
  readonly name: string;
}

const people = (count: number): readonly Person[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, name: `Person ${at}` }));
const bytesOf = (rows: readonly unknown[], indent?: number) =>
  Buffer.from(JSON.stringify({ memberships: rows }, null, indent));

async function note(rows: readonly object[], indent?: number): Promise<RowsBefore> {
  const decoded = await decodeLongList(bytesOf(rows, indent), list);
  const packed = decoded?.rows.noted?.packed();
  if (packed === undefined) throw new Error('not noted');
  return { rows: openKnownRows(packed), ended: new Set(), asked: new Set() };
}

async function readNews(
  rows: readonly unknown[],
  before: RowsBefore,
  indent?: number,
): Promise<AnswerNews | null> {
  return (await takeAllNews(before)(bytesOf(rows, indent), list))?.news ?? null;
}

const idsOf = (news: AnswerNews | null) => ((news?.rows ?? []) as readonly ServiceUser[]).map(({ id }) => id);
const without = (rows: readonly Person[], id: number) => rows.filter((row) => row.id !== id);
const changed = (rows: readonly Person[], ...ids: readonly number[]) =>
  rows.map((row) => (ids.includes(row.id) ? { ...row, name: `${row.name} anew` } : row));

describe('An answer whose rows are known', () => {
  it('is cut into pieces of about eight rows, by what the rows say and not by where they stand', async () => {
    const { rows } = await note(people(8_000));
    expect(rows.rows).toBe(8_000);
    expect(rows.pieces).toBeGreaterThan(600);
    expect(rows.pieces).toBeLessThan(1_600);
    const longer = people(8_000).map((row) => (row.id === 5 ? { ...row, name: 'x'.repeat(1_000) } : row));
    const news = await readNews(longer, await note(people(8_000)));
    expect(news?.rows.length).toBeLessThan(100);
    expect(news?.changed).toContain(5n);
  });

  it('has nothing new where it is the same', async () => {
    const before = await note(people(100));
    const news = await readNews(people(100), before);
    expect(news).toMatchObject({ rows: [], changed: [], noted: { length: 100 } });
    expect(news?.noted?.before?.ended).toEqual(new Set());
    expect(news?.noted?.packed()).toEqual(before.rows.packed);
  });

  it('is decoded where a piece is asked for, which is not changed for that', async () => {
    const before = await note(people(100));
    const asked = before.rows.holding(new Set([40n])) ?? new Set();
    expect(asked.size).toBe(1);
    const news = await readNews(people(100), { ...before, asked });
    expect(idsOf(news)).toContain(40n);
    expect(news?.rows.length).toBeLessThan(50);
    expect(news?.changed).toEqual([]);
  });

  it('has a piece as it was before last time for changed', async () => {
    const before = await note(people(100));
    const ended = before.rows.holding(new Set([40n])) ?? new Set();
    const news = await readNews(people(100), { ...before, ended });
    expect(news?.changed).toContain(40n);
    expect(news?.noted?.before?.ended).toEqual(new Set());
  });

  it('tells of the pieces that have ended', async () => {
    const before = await note(people(100));
    const news = await readNews(changed(people(100), 40), before);
    expect(news?.noted?.before?.ended).toEqual(before.rows.holding(new Set([40n])));
    const after = openKnownRows(news?.noted?.packed() ?? Buffer.alloc(0));
    expect(await readNews(changed(people(100), 40), { ...before, rows: after })).toMatchObject({ rows: [] });
  });

  it('knows no piece of somebody who is in none', async () => {
    const { rows } = await note(people(100));
    expect(rows.holding(new Set([40n, 101n]))).toBeNull();
    expect(rows.holding(new Set())).toEqual(new Set());
  });

  it.each<readonly [string, (rows: readonly Person[]) => readonly unknown[]]>([
    ['one is gone', (rows) => without(rows, 50)],
    ['one is new', (rows) => [...rows, { id: 101, name: 'New' }]],
    [
      'one took the place of another',
      (rows) => rows.map((row) => (row.id === 50 ? { id: 500, name: 'x' } : row)),
    ],
    ['one is there twice', (rows) => [...rows, { id: 50, name: 'Again' }]],
    ['one is there twice, as it was', (rows) => [...rows, ...rows.filter(({ id }) => id === 50)]],
    ['one has no id', (rows) => rows.map((row) => (row.id === 50 ? { name: 'x' } : row))],
    [
      'one cannot be stored',
      (rows) => rows.map((row) => (row.id === 50 ? { ...row, name: 'a\u0000' } : row)),
    ],
    ['it is empty', () => []],
    ['a row is none', (rows) => [...rows, 3]],
  ])('is to be read as a whole where %s', async (_, change) => {
    expect(await readNews(change(people(100)), await note(people(100)))).toBeNull();
  });

  it('is to be read as a whole where a piece is there twice', async () => {
    const before = await note(people(100));
    const last = before.rows.idsOf(3).at(-1) ?? 0n;
    const piece = people(100).filter(({ id }) => before.rows.idsOf(3).includes(BigInt(id)));
    const twice = people(100).flatMap((row) => (BigInt(row.id) === last ? [row, ...piece] : [row]));
    expect(twice.length).toBeGreaterThan(100);
    expect(await readNews(twice, before)).toBeNull();
  });

  it('keeps ids of any size', async () => {
    const rows = (name: string) =>
      Array.from(
        { length: 40 },
        (_, at) => `{"id":9223372036854775${700 + at},"name":"${at === 7 ? name : at}"}`,
      );
    const bytes = (name: string) => Buffer.from(`{"memberships":[${rows(name).join(',')}]}`);
    const noted = (await decodeLongList(bytes('A'), list))?.rows.noted;
    const before = {
      rows: openKnownRows(noted?.packed() ?? Buffer.alloc(0)),
      ended: new Set<number>(),
      asked: new Set<number>(),
    };
    expect(before.rows.holding(new Set([9223372036854775707n]))?.size).toBe(1);
    const news = (await takeAllNews(before)(bytes('B'), list))?.news ?? null;
    expect(news?.changed).toContain(9223372036854775707n);
    expect(idsOf(news)).toContain(9223372036854775707n);
  });

  it('cannot be cut where one row takes too much room', async () => {
    const rows = (bytes: number) =>
      people(100).map((row) => (row.id === 50 ? { ...row, name: 'x'.repeat(bytes) } : row));
    expect(await decodeLongList(bytesOf(rows(200_000)), list)).not.toBeNull();
    expect(await decodeLongList(bytesOf(rows(300_000)), list)).toBeNull();
  });

  it('is not noted where a row cannot be taken', async () => {
    const decoded = await decodeLongList(bytesOf([...people(50), { id: 51, name: 'a\u0000' }]), list);
    expect(decoded?.rows).toMatchObject({ length: 51 });
    expect(decoded?.rows.noted).toBeUndefined();
  });

  it.each([
    ['broken within a row', (text: string) => text.replace('"id":50,', '"id":50')],
    ['broken between two rows', (text: string) => text.replace('},{"id":50,', '}{"id":50,')],
    ['cut short', (text: string) => text.slice(0, -2)],
  ])('that is %s is not taken for one with the same rows', async (_, spoil) => {
    const before = await note(people(100));
    const bytes = Buffer.from(spoil(bytesOf(people(100)).toString()));
    expect(await takeAllNews(before)(bytes, list)).toBeNull();
  });

  const odd = fc.constantFrom<object>(
    {},
    { of: [{ id: 1 }, { id: 2 }] },
    { name: '},{"id":7,"name":"' },
    { name: 'Änne' },
    { big: 12_345_678_901_234_567_890n.toString() },
  );

  it('says with what was known what a whole reading says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(odd, { minLength: 1, maxLength: 60 }),
        fc.array(fc.tuple(fc.nat(59), odd)),
        fc.option(fc.tuple(fc.nat(59), fc.nat(59))),
        fc.constantFrom(undefined, 1),
        async (some, edits, moved, indent) => {
          const rows: object[] = some.map((more, at) => ({ id: at + 1, name: `Person ${at}`, ...more }));
          const before = await note(rows, indent);
          const known = new Map(
            decodeUsers(rows, { suspicious: true }).rows.map((user) => [user.id, user] as const),
          );
          const now = [...rows];
          for (const [at, more] of edits)
            if (now[at] !== undefined) now[at] = { ...now[at], edited: 1, ...more };
          if (moved !== null) now.push(...now.splice(moved[0] % now.length, 1));
          const news = await readNews(now, before, indent);
          const wanted = new Map(
            decodeUsers(now, { suspicious: true }).rows.map((user) => [user.id, user] as const),
          );
          const plain = (users: ReadonlyMap<bigint, ServiceUser>) =>
            new Map(
              [...users]
                .toSorted(([a], [b]) => (a < b ? -1 : 1))
                .map(([id, { name, raw }]) => [id, { name, raw }]),
            );
          expect(news).not.toBeNull();
          for (const user of (news?.rows ?? []) as readonly ServiceUser[]) known.set(user.id, user);
          expect(plain(known)).toEqual(plain(wanted));
          for (const [id, user] of wanted)
            if (
              JSON.stringify(rows[Number(id) - 1]) !==
              JSON.stringify(now.find((row) => (row as Person).id === Number(id)))
            )
              expect([news?.changed.includes(id), user.id]).toEqual([true, id]);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('Rows that are kept', () => {
  it('are refused where they are cut short', () => {
    const packed = packPiece('0123456789abcdef', [1n, 2n]);
    expect(openKnownRows(Buffer.concat([packed, packed])).idsOf(1)).toEqual([1n, 2n]);
    expect(() => openKnownRows(packed.subarray(0, -1))).toThrow(RangeError);
    expect(() => openKnownRows(packed.subarray(0, 10))).toThrow(RangeError);
    expect(openKnownRows(Buffer.alloc(0))).toMatchObject({ pieces: 0, rows: 0 });
  });

  it('are written anew once more than an eighth of their pieces have ended', () => {
    const rows = openKnownRows(
      Buffer.concat(
        Array.from({ length: 16 }, (_, at) => packPiece(`${at}`.padStart(16, '0'), [BigInt(at + 1)])),
      ),
    );
    const keep = (...ended: readonly number[]) =>
      rowsToKeep({ length: 16, packed: () => Buffer.from('new'), before: { rows, ended: new Set(ended) } });
    expect(keep(3, 7)).toMatchObject({ ended: [3, 7], packed: null });
    expect(keep(3, 7, 9)).toMatchObject({ ended: [], packed: Buffer.from('new') });
    expect(keep(3, 7).digest).not.toBe(keep(3, 7, 9).digest);
  });
});

describe('A listing of which only the news is read', () => {
  it('says which of the rows that were known it no longer has', async () => {
    const before = await note(people(100));
    const reader = createNewsReader({ digests: [], before: () => Promise.resolve(before.rows) });
    const collector = createCollector({ clear: () => {}, add: () => {}, replace: () => {} }, true);
    const taken = await reader.take(bytesOf(without(people(100), 40)), list);
    const rows = (taken?.news.rows ?? []) as readonly ServiceUser[];
    collector.add({ rows, rejected: [], same: taken?.news.same() });
    const walk = { kind: 'walked', collector, filled: 1, isRagged: false, flaws: [], known: {} } as const;
    expect(await reader.conclude(walk)).toEqual({ news: { same: 99 - rows.length, absent: [40n] } });
    expect(rows.length).toBeLessThan(50);
  });
});
