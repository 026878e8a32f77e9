/** Rows of a long answer that are known again by the hashes of their values. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RowsBefore } from '../../src/model/service-request.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { decodeLongList } from '../../src/service/decoded-rows.ts';
import { createRowSieve } from '../../src/service/row-sieve.ts';
import { decodeUsers, textOfUser } from '../../src/service/wire-user.ts';

interface Person {
  readonly id: number | bigint;
  readonly name?: unknown;
}

const people = (count: number): readonly Person[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, name: `Person ${at}` }));
const anew = (row: Person): Person => ({ ...row, name: `${String(row.name)} anew` });
const changed = (rows: readonly Person[], ...ids: readonly number[]) =>
  rows.map((row) => (ids.includes(Number(row.id)) ? anew(row) : row));

/** As the service writes it: ids of any size. */
const textOf = (rows: readonly unknown[], indent?: number) =>
  JSON.stringify(
    { memberships: rows },
    (_, value: unknown) => (typeof value === 'bigint' ? `#${value}#` : value),
    indent,
  )
    .replaceAll('"#', '')
    .replaceAll('#"', '');

async function read(rows: readonly unknown[], before?: RowsBefore, indent?: number) {
  const sieve = createRowSieve(before);
  const list = { property: 'memberships', decode: decodeUsers, sieve };
  const decoded = await decodeLongList(Buffer.from(textOf(rows, indent)), list);
  if (decoded === null) throw new Error('not cut');
  const { page, length } = decoded.rows;
  return {
    rows: page.rows as readonly ServiceUser[],
    length,
    packed: sieve.packed(),
    changed: sieve.changed(),
  };
}

async function recorded(rows: readonly unknown[], besides: readonly bigint[] = []): Promise<RowsBefore> {
  return { hashes: (await read(rows)).packed, besides: new Set(besides) };
}

describe('The rows of an answer', () => {
  it('are all kept if nothing is known of them, and have a hash each', async () => {
    const { rows, packed, changed: news } = await read(people(100));
    expect([rows.length, packed.length, news]).toEqual([100, 1_600, null]);
  });

  it('are let go if they are the same, but for those who are wanted', async () => {
    const {
      rows,
      changed: news,
      packed,
      length,
    } = await read(people(100), await recorded(people(100), [40n, 500n]));
    expect(rows.map(({ id }) => id)).toEqual([40n]);
    expect([news, packed.length, length]).toEqual([new Set(), 1_600, 100]);
  });

  it('are kept if their values are others, with the hashes of now', async () => {
    const now = changed(people(100), 7, 80);
    const { rows, changed: news, packed } = await read(now, await recorded(people(100)));
    expect(rows.map(({ id }) => id)).toEqual([7n, 80n]);
    expect(news).toEqual(new Set([7n, 80n]));
    expect(packed).toEqual((await read(now)).packed);
  });

  it('are not hashed if the answer is the same: those who are wanted are kept', async () => {
    const {
      rows,
      changed: news,
      packed,
    } = await read(people(100), { hashes: null, besides: new Set([40n]) });
    expect([rows.map(({ id }) => id), news, packed.length]).toEqual([[40n], new Set(), 0]);
  });

  it.each<readonly [string, (rows: readonly Person[]) => readonly unknown[]]>([
    ['one is gone', (rows) => rows.filter(({ id }) => id !== 50)],
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
  ])('are not those of before where %s', async (_, change) => {
    expect((await read(change(people(100)), await recorded(people(100)))).changed).toBeNull();
  });

  it('keep ids of any size', async () => {
    const rows = (name: string) =>
      Array.from({ length: 40 }, (_, at) => ({
        id: 9_223_372_036_854_775_700n + BigInt(at),
        name: at === 7 ? name : at,
      }));
    const { changed: news } = await read(rows('B'), await recorded(rows('A')));
    expect(news).toEqual(new Set([9_223_372_036_854_775_707n]));
  });

  const odd = fc.constantFrom<object>(
    {},
    { of: [{ id: 1 }, { id: 2 }] },
    { name: '},{"id":7,"name":"' },
    { name: 'Änne' },
    { name: null },
    { name: 5 },
    { email: '' },
    { email: null },
    { role_id: 5 },
    { role_id: 'x' },
    { team_id: 5 },
    { big: 12_345_678_901_234_567_890n },
  );

  it('make with those of before what a whole reading makes', async () => {
    const plain = (users: Iterable<ServiceUser>) =>
      new Map(
        [...users]
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .map((user) => [user.id, { ...user, packed: '', raw: user.raw }]),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(odd, { minLength: 1, maxLength: 60 }),
        fc.array(fc.tuple(fc.nat(59), odd)),
        fc.option(fc.tuple(fc.nat(59), fc.nat(59))),
        fc.constantFrom(undefined, 1),
        async (some, edits, moved, indent) => {
          const rows: object[] = some.map((more, at) => ({ id: at + 1, name: `Person ${at}`, ...more }));
          const now = [...rows];
          for (const [at, more] of edits) if (now[at] !== undefined) now[at] = { ...now[at], ...more };
          if (moved !== null) now.push(...now.splice(moved[0] % now.length, 1));
          const before = (await read(rows)).rows;
          const whole = (await read(now, undefined, indent)).rows;
          const news = await read(now, await recorded(rows), indent);
          const known = new Map([...before, ...news.rows].map((user) => [user.id, user]));
          expect(plain(known.values())).toEqual(plain(whole));
          expect(new Set(news.rows.map(({ id }) => id))).toEqual(news.changed);
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** A value of each property, so that a new one has to be named here. */
const whole: Required<ServiceUser> = {
  id: 1n,
  name: 'a',
  email: 'b',
  phone: 'c',
  roleId: 2n,
  teamId: 3n,
  createdAt: 'd',
  updatedAt: 'e',
  userCreatedAt: 'f',
  userUpdatedAt: 'g',
  raw: { h: 1 },
};
const { id: _, ...values } = whole;

describe('The text that is hashed', () => {
  it.each(Object.keys(values) as readonly (keyof typeof values)[])('is of %s', (property) => {
    const { [property]: now, ...others } = whole;
    const rows = [whole, { ...whole, [property]: typeof now === 'bigint' ? now + 1n : 'other' }];
    if (property !== 'raw')
      rows.push(
        { ...whole, [property]: null },
        { ...whole, [property]: '' },
        { ...whole, [property]: { unreadable: 'x' } },
        others as ServiceUser as typeof whole,
      );
    expect(new Set(rows.map(textOfUser)).size).toBe(rows.length);
  });

  it('is of each value in its place, and not of the id', () => {
    const texts = Object.keys(values).map((property) =>
      textOfUser({ id: 1n, raw: {}, [property]: property === 'raw' ? { name: 'x' } : 'x' }),
    );
    expect(new Set(texts).size).toBe(texts.length);
    expect(textOfUser({ ...whole, id: 9n })).toBe(textOfUser(whole));
  });

  it('is kept as the first 8 bytes of its SHA-256, behind the id', async () => {
    const { rows, packed } = await read(people(3));
    const words = rows.map((user) => {
      const id = Buffer.alloc(8);
      id.writeBigInt64LE(user.id);
      return Buffer.concat([id, createHash('sha256').update(textOfUser(user)).digest().subarray(0, 8)]);
    });
    expect(packed).toEqual(Buffer.concat(words));
  });
});
