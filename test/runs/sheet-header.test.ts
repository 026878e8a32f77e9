import { describe, expect, it } from 'vitest';
import { readTable } from '../../src/files/read-table.ts';
import { createIsRead, readColumns, requireColumns } from '../../src/runs/files/import/columns.ts';

/** How a sheet is read: its columns, its first cells by meaning, and the notes. */
async function readSheet(text: string) {
  const signal = new AbortController().signal;
  const table = await readTable(Buffer.from(text), 'csv', { isRead: createIsRead([]), signal });
  const columns = readColumns(table, []);
  requireColumns(table, columns);
  const cells = [...columns.places].map(([meaning, place]) => [meaning, table.rows[0]?.cells[place]]);
  const { problems, rows } = table;
  const notes = [...table.notes, ...columns.notes];
  return { first: Object.fromEntries(cells) as object, line: rows[0]?.line, problems, notes };
}

const anne = { first_name: 'Anne', last_name: 'Berg', email: 'anne@x.de' };
const looksLike = (line: number) => `line ${line} looks like the header: the lines above it are not read`;
const byContent = (column: string, meaning: string) =>
  `the column "${column}" is read as ${meaning}, by its content`;

describe('the header of a sheet', () => {
  it.each([
    ['E-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 2, []],
    ['Personal Mai;;\n;;\nE-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 4, [looksLike(3)]],
    ['Personal Mai\nE-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 3, [looksLike(2)]],
    ['Personal, Mai\nE-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 3, [looksLike(2)]],
    ['Telefon\nE-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 3, [looksLike(2)]],
    ['Liste, Name\n"E-Mail",Vorname,Nachname\nanne@x.de,Anne,Berg\n', 3, [looksLike(2)]],
    ['sep=;\nPersonal\nE-Mail;Vorname;Nachname\nanne@x.de;Anne;Berg\n', 4, [looksLike(3)]],
  ])('finds the header below other lines by known column names: %j', async (text, line, notes) => {
    expect(await readSheet(text)).toEqual({ first: anne, line, problems: [], notes });
  });

  it.each([
    ['Vorname;;Nachname\nAnne;anne@x.de;Berg\n', anne, ['']],
    ['Vorname;Nachname;\nAnne;Berg;anne@x.de\nBert;Berg\n', anne, ['']],
    ['Vorname;;Nachname\nAnne;anne@x.de;Berg\nBert;#NV;Berg\n', anne, ['']],
    ['id;Vorname;Nachname;;Telefon\n1;Anne;Berg;anne@x.de;\n', { ...anne, id: '1', phone: '' }, ['']],
  ])('finds a column of emails without a known name by its cells: %j', async (text, first, columns) => {
    const notes = columns.map((column) => byContent(column, 'email'));
    expect(await readSheet(text)).toEqual({ first, line: 2, problems: [], notes });
  });

  it('finds a column of phones by cells with a plus sign', async () => {
    expect(await readSheet(';Vorname\n+49 151 23450148;Anne\n')).toMatchObject({
      first: { phone: '+49 151 23450148' },
      notes: [byContent('', 'phone')],
    });
  });

  it.each([
    ['emails under the name of another thing', 'Vorname;Vorgesetzter\nNeu;bob@x.de\n'],
    ['two columns of emails', 'Vorname;privat;Büro\nAnne;a@x.de;b@x.de\n'],
    ['a column of emails with other cells', 'Vorname;Kontakt\nAnne;anne@x.de\nBert;Bert\n'],
    ['digits without a plus sign', 'Vorname;Nr\nAnne;0012345678\n'],
    ['values in place of a header', 'anne@x.de;Anne\nbert@x.de;Bert\n'],
  ])('refuses a sheet without a clear column of ids, emails or phones: %s', async (_, text) => {
    await expect(readSheet(text)).rejects.toThrow('No column of the file is the id, the email or the phone');
  });

  it('ignores a column of emails under an unknown header if the sheet has a column of ids', async () => {
    const { first, notes } = await readSheet('id;Vorname;Vorgesetzte\n1;Anne;chef@x.de\n');
    expect([first, notes]).toEqual([{ id: '1', first_name: 'Anne' }, []]);
  });

  it('finds a column of emails if the first 20 of its 30 cells are emails', async () => {
    const rows = Array.from({ length: 30 }, (_, n) => `${n < 20 ? `a${n}@x.de` : 'keine'};Anne\n`);
    expect(await readSheet(`;Vorname\n${rows.join('')}`)).toMatchObject({
      first: { email: 'a0@x.de' },
    });
  });
});
