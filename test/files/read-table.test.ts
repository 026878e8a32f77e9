import fc from 'fast-check';
import type { MusterdError } from '../../src/errors.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TableWishes } from '../../src/files/choose-columns.ts';
import { type Format, formats } from '../../src/files/format.ts';
import { readTable } from '../../src/files/read-table.ts';
import { createRowWriter } from '../../src/files/write-rows.ts';
import { turnsAtEachLook } from '../support/turns.ts';

afterEach(() => vi.restoreAllMocks());

const bytes = (text: string) => Buffer.from(text);
const wishes: TableWishes = { isRead: () => true, signal: new AbortController().signal };
const plain = (format: Format, text: string) => readTable(bytes(text), format, wishes);
const csv = (text: string) => plain('csv', text);

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...`'"=+-@\t\r\n,;\ufeff\u2028\u0085~#:`.split('')),
    fc.constantFrom('null', 'true', '0123', '1e5', '- a', '{', '[', '&a', '*a', '!!', '|', '>'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).filter((char) => !char.includes('\0')),
  ),
});

describe('readTable of a file that musterd has written', () => {
  it.each(formats)('returns random texts from a %s file exactly as written', async (format) => {
    const columns = ['id', 'first_name', 'last_name'];
    const row = fc.record({
      id: fc.bigInt(1n, 2n ** 63n - 1n),
      first_name: hostile,
      last_name: fc.option(hostile),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
        const writer = createRowWriter(format, columns);
        const pages = rows.map((one) => writer.rows([one]));
        const text = writer.begin + pages.join('') + writer.end();
        const { columns: read, rows: found, problems, notes } = await plain(format, text);
        expect({ read, problems, notes }).toEqual({ read: columns, problems: [], notes: [] });
        expect(found.map(({ cells }) => cells)).toEqual(
          rows.map(({ id, first_name, last_name }) => [String(id), first_name, last_name ?? '']),
        );
      }),
    );
  });
});

describe('readTable of CSV', () => {
  it.each([
    ['commas', 'id,name\n1,Anne\n'],
    ['semicolons', 'id;name\n1;Anne\n'],
    ['tabs', 'id\tname\n1\tAnne\n'],
    ['a byte order mark', '\ufeffid,name\n1,Anne\n'],
    ['its delimiter in a first line', 'sep=;\r\nid;name\r\n1;Anne\r\n'],
    ['other delimiters in quotes', '"id";"name"\n1;"Anne"\n'],
    ['empty lines and rows', '\n\nid,name\n\n1,Anne\n,\n'],
    ['empty cells beyond the header', 'id,name,\n1,Anne,,\n'],
    ['no line feed at its end', 'id,name\n1,Anne'],
    ['line breaks of old machines', 'id,name\r1,Anne\r'],
  ])('reads the same table from CSV with %s', async (_, text) => {
    const { columns, rows, problems } = await csv(text);
    expect({ columns, cells: rows.map(({ cells }) => cells), problems }).toEqual({
      columns: ['id', 'name'],
      cells: [['1', 'Anne']],
      problems: [],
    });
  });

  it.each(['\n', '\r\n', '\r'])('returns the line number of each row if lines end in %j', async (end) => {
    const text = ['id,name', '', '1,"a', 'b"', '', '', '2,b', '3,c'].join(end);
    expect((await csv(text)).rows.map(({ line, cells }) => [line, cells[0]])).toEqual([
      [3, '1'],
      [7, '2'],
      [8, '3'],
    ]);
    expect((await csv(`sep=,\n${text}`)).rows.map(({ line }) => line)).toEqual([4, 8, 9]);
  });

  it('reads UTF-8, Windows-1252 and UTF-16, and notes an encoding other than UTF-8', async () => {
    const text = 'id,name\n1,Zoë €\n';
    const old = Buffer.from(text.replace('€', '\x80'), 'latin1');
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    for (const [given, notes] of [
      [bytes(text), []],
      [old, ['read as Windows-1252: it is not UTF-8']],
      [wide, ['read as UTF-16: it is not UTF-8']],
      [
        Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(wide.subarray(2)).swap16()]),
        ['read as UTF-16: it is not UTF-8'],
      ],
    ] as const) {
      const table = await readTable(given, 'csv', wishes);
      expect([table.rows[0]?.cells, table.notes]).toEqual([['1', 'Zoë €'], notes]);
    }
  });

  it('reports each row that has more or fewer cells than the header', async () => {
    const { rows, problems } = await csv('id,name\n1\n2,b\n3,c,d\n');
    expect(rows.map(({ cells }) => cells[0])).toEqual(['2']);
    expect(problems).toEqual([
      { line: 2, cells: ['1', ''], text: '1', reason: 'it has 1 cells, and the header has 2' },
      { line: 4, cells: ['3', 'c'], text: '3,c,d', reason: 'it has 3 cells, and the header has 2' },
    ]);
  });

  it('reads a cell like ="0041" as the text 0041', async () => {
    const { rows } = await csv('id,name\n="1",="+41 79"\n2,"=""0041"""\n3,"a,=""5"","\n4,"=""a""b"\n');
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['1', '+41 79'],
      ['2', '0041'],
      ['3', 'a,="5",'],
      ['4', '="a"b'],
    ]);
  });

  it.each([
    ['id,name\n1,a\n2,"b\n3,c\n', 'Line'],
    ['id,name\n1,a"b"\n', 'Line 2: the quotes of this CSV do not match'],
  ])('refuses CSV with an unclosed or a misplaced quote: %j', async (text, words) => {
    await expect(csv(text)).rejects.toThrow(words);
  });
});

describe('readTable of a hostile file', () => {
  const isRead = (column: string) => column === 'id';
  const keysOf = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);
  const rowsOf = (count: number) => keysOf(count).map((key) => ({ [key]: 1, id: 7 }));

  it.each([
    ['csv', `${keysOf(999).join(',')},id\n${','.repeat(999)}7\n`],
    ['json', JSON.stringify(rowsOf(999))],
    [
      'ndjson',
      rowsOf(999)
        .map((row) => JSON.stringify(row))
        .join('\n'),
    ],
    [
      'yaml',
      keysOf(999)
        .map((key) => `- {${key}: 1, id: 7}\n`)
        .join(''),
    ],
  ] as const)(
    'reads 200 of 1,000 columns of %s, needed columns first, and notes how many columns it omits',
    async (format, text) => {
      const { columns, rows, notes } = await readTable(bytes(text), format, { ...wishes, isRead });
      expect([columns.length, columns[0], columns[1]]).toEqual([200, 'id', 'k0']);
      expect(new Set(rows.map(({ cells }) => cells.join()))).toEqual(new Set(['7']));
      expect(notes).toEqual(['800 more columns not read: at most 200 are read']);
      const all = await plain(format, text);
      expect(Math.max(...all.rows.map(({ cells }) => cells.length))).toBe(200);
    },
  );

  it('makes fewer than 50,000 comparisons for two YAML rows of 2,000 keys', async () => {
    let looks = 0;
    const { some } = Array.prototype;
    vi.spyOn(Array.prototype, 'some').mockImplementation(function (this: unknown[], check) {
      return some.call(this, (...one) => {
        looks += 1;
        return check(...one);
      });
    });
    const keys = keysOf(2_000).map((key) => `${key}: 1`);
    await plain('yaml', `- ${keys.join('\n  ')}\n- {${keys.join(', ')}}\n`);
    expect(looks).toBeLessThan(50_000);
  });

  it.each([
    ['csv', `id,name\n${'1,a\n'.repeat(40_000)}`],
    ['json', `[${'{"id":1},'.repeat(40_000)}{}]`],
    ['ndjson', '{"id":1}\n'.repeat(40_000)],
    ['yaml', '- id: 1\n'.repeat(10_000)],
  ] as const)('yields to the event loop in a long %s file, and stops if aborted', async (format, text) => {
    expect(await turnsAtEachLook(() => plain(format, text))).toBeGreaterThan(2);
    const controller = new AbortController();
    setImmediate(() => controller.abort(new Error('told to stop')));
    await turnsAtEachLook(() =>
      expect(readTable(bytes(text), format, { ...wishes, signal: controller.signal })).rejects.toThrow(
        'told to stop',
      ),
    );
  });

  it('makes no stack trace for an error in YAML, and refuses YAML of 2 MiB', async () => {
    const { stackTraceLimit } = Error;
    const error: unknown = await plain('yaml', `- [${','.repeat(2_000)}]`).catch((one: unknown) => one);
    const { cause } = error as MusterdError;
    expect((cause as Error).stack).not.toMatch(/\n\s+at /);
    expect([Error.stackTraceLimit, (error as MusterdError).message]).toEqual([
      stackTraceLimit,
      expect.stringContaining('Line 1: this is not YAML'),
    ]);
    await expect(plain('yaml', `- id: ${'1'.repeat(2 * 1024 * 1024)}`)).rejects.toThrow(
      'This YAML is too long',
    );
  });

  it('refuses a file of more than a million rows', async () => {
    await expect(plain('csv', `id\n${'1\n'.repeat(1_000_001)}`)).rejects.toThrow('more than 1000000 rows');
  });

  it.each([
    ['json', `[{"id": "${'1'.repeat(1024 * 1024)}"}]`],
    ['ndjson', `{"id": "${'1'.repeat(1024 * 1024)}"}`],
  ] as const)('reports a %s row of more than 1 MiB as too long', async (format, text) => {
    expect((await plain(format, text)).problems).toMatchObject([
      { line: 1, reason: 'it is longer than 1 MiB' },
    ]);
  });
});

describe('readTable of other formats', () => {
  it('refuses a file that is not text', async () => {
    for (const format of ['json', 'ndjson', 'yaml'] as const)
      await expect(readTable(Buffer.from([0x5b, 0xe9, 0x5d]), format, wishes)).rejects.toThrow(
        'The file is not text',
      );
    await expect(csv('PK\0\0')).rejects.toThrow('The file is not text');
  });

  it.each([
    [
      'json',
      '[\n{"id": 12345678901234567890,\n "a": "x, [{\\" y"}, {"id": true, "b": null}\n,\n{"id":"3"}]',
      [2, 3, 5],
    ],
    [
      'ndjson',
      '{"id": 12345678901234567890, "a": "x, [{\\" y"}\n\n{"id": true, "b": null}\r\n{"id":"3"}',
      [1, 3, 4],
    ],
    [
      'yaml',
      '# people\n- id: 12345678901234567890\n  a: "x, [{\\" y"\n- id: true\n  b: ~\n- {id: "3"}\n',
      [2, 4, 6],
    ],
  ] as const)('reads the values of %s as written, and each row’s line', async (format, text, lines) => {
    const { columns, rows } = await plain(format, text);
    expect(columns).toEqual(['id', 'a', 'b']);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['12345678901234567890', 'x, [{" y', ''],
      ['true', '', ''],
      ['3', '', ''],
    ]);
    expect(rows.map(({ line }) => line)).toEqual(lines);
  });

  it.each([
    ['json', '{"id": 1}', 'This JSON is not a list of objects'],
    ['json', '[{"id": 1]', 'this is not JSON'],
    ['json', '[\n{"id": 1]}', 'Line 2: this is not JSON'],
    ['json', '[1}', 'this is not JSON'],
    ['json', '[[1}]', 'this is not JSON'],
    ['json', '[{},]', 'this is not JSON'],
    ['json', '[,{}]', 'this is not JSON'],
    ['json', '[,]', 'this is not JSON'],
    ['json', '[{}\n{}]', 'this is not JSON'],
    ['json', '[{}]\n\n[]', 'this is not JSON: it continues after its list'],
    ['json', `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`, 'this is not JSON'],
    ['yaml', `- ${'['.repeat(100_000)}`, 'this is not YAML'],
    ['yaml', '- id: 1\n---\n- id: 2\n', 'This is not YAML: it is several documents'],
    ['yaml', 'id: 1\n', 'This YAML is not a list of rows'],
    ['yaml', '- id: 1\n  id: 2\n', 'Line 2: this is not YAML'],
    ['yaml', '- "a\n', 'this is not YAML'],
  ] as const)('refuses a file with invalid %s: %.20j', async (format, text, words) => {
    await expect(plain(format, text)).rejects.toThrow(words);
  });

  it.each([
    [
      'json',
      '[1,\n{"id": 7, "a": [1]}]',
      [
        [1, '', '1'],
        [2, '7', '{"id": 7, "a": [1]}'],
      ],
    ],
    [
      'ndjson',
      '1\n{"id": 7, "a": [1]}\n{',
      [
        [1, '', '1'],
        [2, '7', '{"id": 7, "a": [1]}'],
        [3, '', '{'],
      ],
    ],
    [
      'yaml',
      '- 1\n- id: 7\n  a: [1]\n- [2]\n',
      [
        [1, '', '1'],
        [2, '7', 'id: 7\n  a: [1]'],
        [4, '', '[2]'],
      ],
    ],
  ] as const)('reports each unreadable row of %s with line and text', async (format, text, found) => {
    const { rows, problems } = await plain(format, text);
    expect(rows).toEqual([]);
    expect(problems.map((row) => [row.line, row.cells.join(''), row.text.trim()])).toEqual(found);
  });
});
