import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Format, formats } from '../../src/files/format.ts';
import { readTable } from '../../src/files/read-table.ts';
import { createRowWriter } from '../../src/files/write-rows.ts';

const bytes = (text: string) => Buffer.from(text);
const csv = (text: string) => readTable(bytes(text), 'csv');
const plain = (format: Format, text: string) => readTable(bytes(text), format);

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "'",
      '"',
      '=',
      '+',
      '-',
      '@',
      '\t',
      '\r',
      '\n',
      ',',
      ';',
      '\ufeff',
      '\u2028',
      '\u0085',
      '~',
      '#',
      ':',
    ),
    fc.constantFrom('null', 'true', '0123', '1e5', '- a', '{', '[', '&a', '*a', '!!', '|', '>'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).filter((char) => !char.includes('\0')),
  ),
});

describe('what was written is read as it was', () => {
  it.each(formats)('in %s, whatever the texts are', (format) => {
    const columns = ['id', 'first_name', 'last_name'];
    const row = fc.record({
      id: fc.bigInt(1n, 2n ** 63n - 1n),
      first_name: hostile,
      last_name: fc.option(hostile),
    });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const writer = createRowWriter(format, columns);
        const text = writer.begin + writer.rows(rows) + writer.end();
        const { columns: read, rows: found, problems, notes } = plain(format, text);
        expect({ read, problems, notes }).toEqual({ read: columns, problems: [], notes: [] });
        expect(found.map(({ cells }) => cells)).toEqual(
          rows.map(({ id, first_name, last_name }) => [String(id), first_name, last_name ?? '']),
        );
      }),
    );
  });
});

describe('CSV', () => {
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
  ])('is read with %s', (_, text) => {
    const { columns, rows, problems } = csv(text);
    expect({ columns, cells: rows.map(({ cells }) => cells), problems }).toEqual({
      columns: ['id', 'name'],
      cells: [['1', 'Anne']],
      problems: [],
    });
  });

  it.each(['\n', '\r\n', '\r'])('counts lines that end in %j', (end) => {
    const text = ['id,name', '', '1,"a', 'b"', '', '', '2,b', '3,c'].join(end);
    expect(csv(text).rows.map(({ line, cells }) => [line, cells[0]])).toEqual([
      [3, '1'],
      [7, '2'],
      [8, '3'],
    ]);
    expect(csv(`sep=,\n${text}`).rows.map(({ line }) => line)).toEqual([4, 8, 9]);
  });

  it('is read in the encodings of spreadsheets', () => {
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
      const table = readTable(given, 'csv');
      expect([table.rows[0]?.cells, table.notes]).toEqual([['1', 'Zoë €'], notes]);
    }
  });

  it('names each row that has another number of cells', () => {
    const { rows, problems } = csv('id,name\n1\n2,b\n3,c,d\n');
    expect(rows.map(({ cells }) => cells[0])).toEqual(['2']);
    expect(problems).toEqual([
      { line: 2, kind: 'unreadable', reason: 'it has 1 cells, and the header has 2' },
      { line: 4, kind: 'unreadable', reason: 'it has 3 cells, and the header has 2' },
    ]);
  });

  it('takes away the quote before what would be a formula, and no other', () => {
    expect(csv(`id,name\n1,'+15550100\n2,'quoted'\n3,''=1\n`).rows.map(({ cells }) => cells[1])).toEqual([
      '+15550100',
      "'quoted'",
      "'=1",
    ]);
  });

  it.each([
    ['id,name\n1,a\n2,"b\n3,c\n', 'Line'],
    ['id,name\n1,a"b"\n', 'Line 2: the quotes of this CSV are not in order'],
  ])('%j is refused', (text, words) => {
    expect(() => csv(text)).toThrow(words);
  });
});

describe('other formats', () => {
  it('are not guessed at where they are not UTF-8', () => {
    for (const format of ['json', 'ndjson', 'yaml'] as const)
      expect(() => readTable(Buffer.from([0x5b, 0xe9, 0x5d]), format)).toThrow('The file is not text');
    expect(() => readTable(Buffer.from('PK\0\0'), 'csv')).toThrow('The file is not text');
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
  ] as const)('%s keeps what is written, with its lines', (format, text, lines) => {
    const { columns, rows } = plain(format, text);
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
    ['yaml', 'id: 1\n', 'This YAML is not a list of rows'],
    ['yaml', '- id: 1\n  id: 2\n', 'line 2: this is not YAML'],
    ['yaml', '- "a\n', 'this is not YAML'],
    ['yaml', `- id: ${'1'.repeat(4 * 1024 * 1024)}\n`, 'too long'],
  ] as const)('%s: %.20j is refused', (format, text, words) => {
    expect(() => plain(format, text)).toThrow(words);
  });

  it.each([
    ['json', '[1,\n{"id": [1]}]', [1, 2]],
    ['ndjson', '1\n{"id": [1]}\n{', [1, 2, 3]],
    ['yaml', '- 1\n- id: [1]\n- *a\n'.replace('*a', '[2]'), [1, 2, 3]],
  ] as const)('%s names rows that are none', (format, text, lines) => {
    const { rows, problems } = plain(format, text);
    expect(rows).toEqual([]);
    expect(problems.map(({ line, kind }) => [line, kind])).toEqual(lines.map((line) => [line, 'unreadable']));
  });
});
