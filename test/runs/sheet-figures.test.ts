import { describe, expect, it } from 'vitest';
import { readTable } from '../../src/files/read-table.ts';
import { createIsRead, readColumns, readOnly } from '../../src/runs/files/import/columns.ts';
import { planImport } from '../../src/runs/files/import/plan-import.ts';
import { teamUser } from './team-user.ts';

const firstNames = [
  'Anna',
  'Bärbel',
  'Clément',
  'Dörte',
  'Eva Maria',
  'Günter',
  'Håkan',
  'Inés',
  'Jürgen',
  'Zoë',
];
const lastNames = ['Berg', 'von Stein', 'Müller', 'de la Cruz', 'Groß', 'Ørsted'];
const phoneOf = (n: number) => {
  if (n % 20 === 7) return `4366012${34_000 + n}`;
  return n % 3 === 0 ? `4930${1_230_000 + n}` : `4915${1_234_500_000 + n * 7}`;
};
const people = Array.from({ length: 185 }, (_, n) => ({
  id: String(n + 1),
  first: firstNames[n % firstNames.length] ?? '',
  last: `${lastNames[n % lastNames.length]}-${Math.floor(n / 30) + 1}`,
  email: `person${n}@example.de`,
  phone: phoneOf(n),
}));
type Person = (typeof people)[number];

const users = people.map((person) => teamUser({ ...person, id: BigInt(person.id) }));

/** As people and spreadsheets write a number: international, national, or without its zero. */
function written(phone: string, n: number): string {
  if (!phone.startsWith('49')) return `+${phone}`;
  const rest = phone.slice(2);
  const ways = [
    `+49 ${rest}`,
    `0${rest.slice(0, 3)}/${rest.slice(3)}`,
    rest,
    `0049 ${rest}`,
    phone,
    `${rest}.0`,
  ];
  return ways[n % ways.length] ?? '';
}

/** What 43 people of the 180 have changed; new numbers are national or have a plus sign. */
function changed(person: Person, n: number): Person {
  if (n % 4 !== 1 || n > 170) return person;
  const [kind, at] = [n % 3, n + 1];
  if (kind === 0) return { ...person, last: `Übermann-${at}` };
  if (kind === 1) return { ...person, email: `neu${at}@example.de` };
  return { ...person, phone: `491799${100_000 + at}` };
}

const leavers = 5;
const present = people
  .slice(0, -leavers)
  .map((person, n) => ({ n, before: person, after: changed(person, n) }));
const rows = present.map(({ n, before, after }) => {
  const isNew = before.phone !== after.phone;
  const phone = isNew ? written(after.phone, n % 8 === 1 ? 0 : 1) : written(after.phone, n);
  const odd = n % 40 === 8 ? '4,91512E+12' : n % 40 === 12 ? '#NV' : phone;
  return [after.id, after.first, after.last, after.email, odd, 'Büro'];
});
const newcomers = Array.from({ length: 6 }, (_, n) => [
  '',
  'Neu',
  `Gekommen-${n}`,
  `gekommen${n}@example.de`,
  `0171/55500${n}`,
  'Büro',
]);
const twice = [['9', 'Ganz', 'Anders', 'person8@example.de', '', '']];
const all = [...rows, ...newcomers, ...twice];
const truth = present.flatMap(({ before, after }) => [
  ...(before.last === after.last ? [] : [[after.id, 'name', { first: after.first, last: after.last }]]),
  ...(before.email === after.email ? [] : [[after.id, 'email', after.email]]),
  ...(before.phone === after.phone ? [] : [[after.id, 'phone', after.phone]]),
]);

const sheetOf = (cells: readonly (readonly string[])[]) =>
  [['id', 'Vorname', 'Nachname', 'E-Mail', 'Mobil', 'Abteilung'], ...cells]
    .map((row) => row.join(';'))
    .join('\r\n');
const encodings = {
  'UTF-8 with a byte order mark': (text: string) => Buffer.from(`\ufeff${text}`),
  'Windows-1252': (text: string) => Buffer.from(text, 'latin1'),
};

async function planSheet(bytes: Uint8Array, country: string | null) {
  const table = await readTable(bytes, 'csv', {
    isRead: createIsRead([]),
    signal: new AbortController().signal,
  });
  const columns = readColumns(table, []);
  const wishes = { only: readOnly(undefined), clears: false, country, trustsIds: false };
  const { changes, ...plan } = planImport({ table, columns, ...wishes }, users, []);
  return { ...plan, changes: changes.map(({ userId, field, to }) => [String(userId), field, to]) };
}

describe.each(Object.entries(encodings))('a sheet of 187 rows in %s', (_, encode) => {
  it('planImport finds exactly the 43 true changes, and at most 15 problems', async () => {
    const { rows: count, changes, problems, notInFile, notes } = await planSheet(encode(sheetOf(all)), '49');
    expect([count, truth.length]).toEqual([187, 43]);
    expect(changes).toEqual(truth);
    expect(problems.length).toBeLessThanOrEqual(15);
    const kinds = Map.groupBy(problems, ({ kind }) => kind);
    expect([...kinds].map(([kind, { length }]) => [kind, length])).toEqual([
      ['duplicate', 2],
      ['invalid', 4],
      ['unmatched', 6],
    ]);
    expect(notInFile.map(({ user_id }) => user_id)).toEqual([181n, 182n, 183n, 184n, 185n]);
    expect(notes).toEqual([expect.stringContaining('5 cells with a spreadsheet error')]);
  });

  it('planImport returns only true changes even if no country is given', async () => {
    const { changes, problems } = await planSheet(encode(sheetOf(all)), null);
    const isTrue = new Set(truth.map((one) => JSON.stringify(one)));
    expect(changes.filter((one) => !isTrue.has(JSON.stringify(one)))).toEqual([]);
    expect(problems.length).toBeLessThanOrEqual(25);
  });

  it('planImport returns no false change if all columns except the ids were sorted', async () => {
    const sorted = rows
      .map(([, ...cells]) => cells)
      .toSorted((a, b) => (a[1] ?? '').localeCompare(b[1] ?? ''));
    const moved = sorted.map((cells, n) => [rows[n]?.[0] ?? '', ...cells]);
    const { changes, problems } = await planSheet(encode(sheetOf(moved)), '49');
    const isTrue = new Set(truth.map((one) => JSON.stringify(one)));
    expect(changes.filter((one) => !isTrue.has(JSON.stringify(one)))).toEqual([]);
    expect(problems.filter(({ kind }) => kind === 'contradictory').length).toBeGreaterThan(150);
  });
});
