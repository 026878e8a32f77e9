import { describe, expect, it } from 'vitest';
import {
  type Cells,
  type KnownRole,
  wantedEmail,
  wantedName,
  wantedPhone,
  wantedRole,
} from '../../src/runs/files/import/read-values.ts';
import { isSamePhone, readNewPhone, readPhone, shapeOf } from '../../src/runs/files/import/read-phone.ts';
import { columnWords } from '../../src/runs/files/import/column-words.ts';
import { readColumns, readMapping, requireColumns } from '../../src/runs/files/import/columns.ts';
import { unusableRows } from '../../src/runs/files/import/unusable-rows.ts';
import { planImport, hashOfImport } from '../../src/runs/files/import/plan-import.ts';
import type { Field } from '../../src/model/fields.ts';
import type { FileTable } from '../../src/model/file-table.ts';
import { teamUser } from './team-user.ts';

const cellsOf =
  (given: Readonly<Record<string, string | undefined>>): Cells =>
  (column) =>
    given[column] ?? '';

describe('a phone number in a file', () => {
  it.each([
    ['+1 (555) 010-0166', '15550100166'],
    ['+1.555.010.0166', '15550100166'],
    ['0049 30 1234567', '49301234567'],
    ['+49\u00a030\u20111234567', '49301234567'],
    ['\u202a+49 30 1234567\u202c', '49301234567'],
    ['15550100166', '15550100166'],
    ['15550100166.0', '15550100166'],
    ['+15550100166.00', '15550100166'],
    ['+41 (0)79 123 45 67', '41791234567'],
    ['0041(0)791234567', '41791234567'],
  ])('readPhone reads a number with a country code as digits: %j as %s', (text, digits) => {
    expect(readPhone(text, null)).toEqual({ digits });
  });
  it.each([
    ['(555) 010-0166', 'begin it with a plus sign, or give --country'],
    ['1.5550100166E+10', 'a spreadsheet has turned it into a number'],
    ['+39 (0)6 1234567', 'write the (0) as 0, or leave it out'],
    ['+41 (0)(0)79 1234567', 'leave out the (0)'],
    ['15550100166.5', 'begin it with a plus sign'],
    ['0301234567', 'begin it with a plus sign, or give --country'],
    ['+0301234567', 'is not a phone number with its country code'],
    ['+1234567890123456', 'is not a phone number with its country code'],
    ['+1 555 0100 ext. 7', 'begin it with a plus sign'],
    ['n/a', 'begin it with a plus sign'],
  ])('readPhone refuses a text without a clear country code and digits, with advice: %j', (text, words) => {
    expect(readPhone(text, null)).toMatchObject({ wrong: expect.stringContaining(words) });
  });
  it.each([
    ['49', '0151-23450148', '4915123450148'],
    ['49', '4915123450148', '4915123450148'],
    ['49', '+43 660 1234567', '436601234567'],
    ['49', '0043 660 1234567', '436601234567'],
    ['49', '15123450148', 'does not begin with 49: begin it with a plus sign'],
    ['49', 'n/a', 'begin it with a plus sign'],
    ['39', '06 1234567', '39061234567'],
    ['36', '06 30 123 4567', '36301234567'],
    ['36', '0 30 123 4567', 'does not begin with 36: begin it with a plus sign'],
    ['45', '032 12 34 56', 'does not begin with 45: begin it with a plus sign'],
    ['34', '0612 345 678', 'does not begin with 34: begin it with a plus sign'],
    ['1', '(555) 010-0166', '15550100166'],
    ['1', '555 0100', 'does not begin with 1: begin it with a plus sign'],
    ['46', '5550100166', 'does not begin with 46: begin it with a plus sign'],
  ])('readPhone uses the country %s to complete or refuse %s: %s', (country, text, result) => {
    expect(Object.values(readPhone(text, country))).toEqual([expect.stringContaining(result)]);
  });
  it.each([
    ['47', '471 23 456', '4791234567', 'may lack its country code'],
    ['49', '0151 23450148', '4930123456', '4915123450148'],
    ['49', '4915123450148', '4915199990000', '4915123450148'],
  ])('readNewPhone uses the country %s to read %s in place of %s: %s', (country, text, now, result) => {
    expect(Object.values(readNewPhone(text, now, { country, shapes: new Set() }))).toEqual([
      expect.stringContaining(result),
    ]);
  });
  it.each([
    ['4915123450148', '4915123450148', true],
    ['4915123450148', '+49 (151) 2345 0148', true],
    ['4915123450148', '0151-23450148', true],
    ['4915123450148', '15123450148', true],
    ['4915123450148', '15123450148.0', true],
    ['4915123450148', '+15123450148', false],
    ['4915123450148', '0015123450148', false],
    ['4915123450148', '0151-23450149', false],
    ['4915123450148', '4915123450', false],
    ['4915123450148', '1.48E+2', false],
    ['4915123450148', '000', false],
    ['5550100166', '(555) 010-0166', true],
  ])('isSamePhone ignores only signs and a missing country code: %s, %s: %s', (phone, text, isSame) => {
    expect(isSamePhone(text, phone)).toBe(isSame);
  });
  it.each([
    ['4915123450148', '15199999999', false],
    ['4915123450148', '491512345014', false],
    ['4915123450148', '4915199999999', true],
    ['4915123450148', '+1 512 345 0149', true],
    ['442079460000', '447700900123', true],
    ['35312345678', '35412345678', false],
    [null, '030/12345678', false],
    ['x', '15199999999', true],
    ['4915123450148', '(0151) 99999999', false],
    [null, '15199999999', false],
    [null, '493012345678', true],
    [null, '+15199999999', true],
  ])('readNewPhone doubts a number without a clear country code: %s to %s, sure %s', (now, text, isTaken) => {
    const shapes = new Set(now === 'x' ? [] : [shapeOf('493012345678')]);
    const read = readNewPhone(text, now === 'x' ? null : now, { country: null, shapes });
    expect('digits' in read && (read.unsure ?? '')).toEqual(
      isTaken ? '' : expect.stringMatching(/may lack its country code|is the country code of/),
    );
  });
  it('wantedPhone clears a phone for an empty cell if clearing is on, and returns no change for an equal number', () => {
    const now = { phone: '5550100166' };
    const habits = { country: null, shapes: new Set<string>() };
    expect(wantedPhone('(555) 010-0166', now, true, habits)).toBeUndefined();
    expect(wantedPhone('', now, false, habits)).toBeUndefined();
    expect(wantedPhone('', now, true, habits)).toEqual({ value: null });
    expect(wantedPhone('', { phone: null }, true, habits)).toBeUndefined();
  });
});

describe('a name in a file', () => {
  const now = { name: { first: 'Anne  Marie', last: 'Berg' }, split: 'known' } as const;
  it.each([
    [{ first_name: 'Anne Marie', last_name: ' Berg ' }, undefined],
    [{ name: 'Anne Marie  Berg' }, undefined],
    [{ first_name: 'Anne', last_name: 'Marie Berg' }, undefined],
    [{ last_name: 'Lind' }, { value: { first: 'Anne  Marie', last: 'Lind' } }],
    [{ first_name: 'Eva', last_name: '' }, { value: { first: 'Eva', last: 'Berg' } }],
    [{ name: 'Eva Maria Lind' }, { value: { first: 'Eva Maria', last: 'Lind' }, isGuess: true }],
    [
      { name: 'Karl Maria von der Berg' },
      { value: { first: 'Karl Maria', last: 'von der Berg' }, isGuess: true },
    ],
    [{ name: 'Jan Van Dam' }, { value: { first: 'Jan', last: 'Van Dam' }, isGuess: true }],
    [{ name: 'Le Thi Anh' }, { value: { first: 'Le Thi', last: 'Anh' }, isGuess: true }],
    [{ name: 'Anna El' }, { value: { first: 'Anna', last: 'El' }, isGuess: true }],
    [{ name: 'Cher' }, { value: { first: 'Cher', last: '' }, isGuess: true }],
  ])('wantedName returns changed halves, guesses a whole name, ignores an equal one: %j', (given, asked) => {
    expect(wantedName(cellsOf(given), now)).toEqual(asked);
  });
  it.each([
    [{ first_name: 'Anna Maria', last_name: 'Berg' }, { value: { first: 'Anna Maria', last: 'Berg' } }],
    [{ first_name: 'Anna', last_name: 'Maria Berg' }, undefined],
    [{ name: 'Anna Maria Berg' }, undefined],
    [{ last_name: 'Lind' }, { wrong: expect.stringContaining('is a guess: give first and last name') }],
  ])('wantedName changes a guessed split if both halves are given, else not: %j', (given, asked) => {
    const guessed = { name: { first: 'Anna', last: 'Maria Berg' }, split: 'guessed' } as const;
    expect(wantedName(cellsOf(given), guessed)).toEqual(asked);
  });
});

const values = { name: { first: 'Ann', last: 'Lee' }, email: null, phone: null, roleId: null };
const email = (more: number) => `${'x'.repeat(308 + more)}@example.com`;
const wrong = (what: string, most: number) => ({ wrong: `${what} is longer than ${most} characters` });
it('wantedEmail and wantedName accept a value at the limit of its length, and refuse a longer one', () => {
  expect(wantedEmail(email(0), values)).toEqual({ value: email(0) });
  expect(wantedEmail(email(1), values)).toEqual(wrong('the email', 320));
  const name = (first: number, last: number) => {
    const given = cellsOf({ first_name: '😀'.repeat(first), last_name: 'b'.repeat(last) });
    return wantedName(given, { name: values.name, split: 'known' });
  };
  expect(name(300, 300)).toHaveProperty('value');
  expect(name(301, 300)).toEqual(wrong('the first name', 300));
  expect(name(300, 301)).toEqual(wrong('the last name', 300));
  const whole = cellsOf({ name: `A ${'b'.repeat(301)}` });
  expect(wantedName(whole, { name: values.name, split: 'known' })).toEqual(wrong('the last name', 300));
  const long = { first: 'Ann', last: 'l'.repeat(400) };
  const half = cellsOf({ first_name: 'Anna' });
  expect(wantedName(half, { name: long, split: 'known' })).toEqual({ value: { ...long, first: 'Anna' } });
});

describe('a value that is the present value with lost letters', () => {
  const name = { first: 'Łukasz', last: 'Zoë Žižková' };
  const now = { name, split: 'known', email: 'łukasz@exämple.com', phone: null, roleId: 1n } as const;
  const lost = {
    wrong: expect.stringContaining('the file has lost letters; save it as CSV UTF-8'),
    isLost: true,
  };
  it.each([
    [{ first_name: '?ukasz', last_name: 'Zoë Žižková' }, lost],
    [{ last_name: 'Zoë ?i?ková' }, lost],
    [{ last_name: 'Zoe? Z?iz?kova?' }, lost],
    [{ last_name: 'Zoë \ufffdi\ufffdkov\ufffd' }, lost],
    [{ name: '?ukasz Zoë ?i?ková' }, lost],
    [{ first_name: '?ucas' }, { value: { first: '?ucas', last: name.last } }],
    [{ first_name: 'Łuka?z' }, { value: { first: 'Łuka?z', last: name.last } }],
    [{ first_name: 'Lukasz' }, { value: { first: 'Lukasz', last: name.last } }],
    [{ first_name: 'Łukasz?' }, { value: { first: 'Łukasz?', last: name.last } }],
  ])('wantedName refuses the present name with lost letters, and no other: %j', (given, asked) => {
    expect(wantedName(cellsOf(given), now)).toEqual(asked);
  });
  it.each([
    // Saved on a Czech or Polish, a Russian, Greek, Turkish or Baltic machine, on a Mac, or in UTF-8.
    ['Šimić', 'Šimiæ', true],
    ['Łukasz', '£ukasz', true],
    ['Łukasz Иван', '£ukasz ????', true],
    ['Иван', 'Èâàí', true],
    ['Άννα', '¢ííá', true],
    ['Yağmur Şen', 'Yaðmur Þen', true],
    ['Jūratė', 'Jûratë', true],
    ['Zoë', 'Zo‘', true],
    ['Šimić', 'Å imiÄ‡', true],
    ['Řehoř à', 'Å˜ehoÅ™ Ã', true],
    ['Simic\u0301', 'Simiæ', true],
    ['Māra', 'MÄ\ufffdra', true],
    ['Māra', 'MÄ?ra', true],
    // What was mangled before may be set right, and a name may change.
    ['Å imiÄ‡', 'Šimić', false],
    ['Šimiæ', 'Šimić', false],
    ['Šimić', 'Šimič', false],
    ['Zoë', 'Zoé', false],
    ['Anna', 'Änna', false],
  ])('wantedName refuses a name if only its code page is wrong: %s as %s: %s', (old, given, isRefused) => {
    const was = { name: { first: old, last: 'Berg' }, split: 'known' } as const;
    const asked = wantedName(cellsOf({ first_name: given }), was);
    expect(asked).toEqual(isRefused ? lost : { value: { first: given, last: 'Berg' } });
  });
  it('wantedEmail refuses the present email, and wantedRole a known role name, if the file has lost letters', () => {
    expect(wantedEmail('?UKASZ@ex?mple.com', now)).toEqual(lost);
    expect(wantedEmail('?ukas@ex?mple.com', now)).toEqual({ value: '?ukas@ex?mple.com' });
    const roles = [{ id: 2n, name: 'Führung Île' }];
    for (const role of ['F?hrung Île', 'F?HRUNG île', 'FÃ¼hrung ÃŽle', 'FŸhrung ële'])
      expect(wantedRole(cellsOf({ role }), { roleId: 1n, role: 'x' }, roles)).toEqual(lost);
  });
});

describe('a role in a file', () => {
  const roles: readonly KnownRole[] = [
    { id: 1n, name: 'Admin' },
    { id: 2n, name: 'Agent' },
    { id: 3n, name: 'Twice' },
    { id: 4n, name: 'twice' },
    { id: 5n, name: '1' },
  ];
  const now = { roleId: 2n, role: 'Agent' };
  it.each([
    [{}, undefined],
    [{ role: 'agent' }, undefined],
    [{ role: ' ADMIN ' }, { value: 1n }],
    [{ role_id: '1', role: 'Agent' }, { value: 1n }],
    [{ role_id: '1.0' }, { value: 1n }],
    [{ role: '1' }, { value: 5n }],
    [{ role: 'Admin', role_id: '2' }, { value: 1n }],
    [{ role: 'Admin', role_id: '3' }, { wrong: 'role "Admin" and role_id 3 are not the same role' }],
    [{ role: 'Twice' }, { wrong: expect.stringContaining('several roles are called "Twice"') }],
    [{ role: 'Boss' }, { wrong: expect.stringContaining('Admin (1), Agent (2)') }],
    [{ role_id: '99' }, { wrong: expect.stringContaining('no user has the role 99') }],
  ])('wantedRole accepts a known id or a unique name, and refuses other roles: %j', (given, asked) => {
    const cells = cellsOf(given);
    expect(wantedRole((column) => cells(column).trim(), now, roles)).toEqual(asked);
  });
  it('wantedRole returns no change for an exported row that has the old role and the edited role_id', () => {
    const edited = { roleId: 1n, role: 'Agent' };
    expect(wantedRole(cellsOf({ role: 'Agent', role_id: '1' }), edited, roles)).toBeUndefined();
    expect(wantedRole(cellsOf({ role: 'Agent' }), edited, roles)).toEqual({ value: 2n });
    expect(wantedRole(cellsOf({ role: 'Lost' }), { roleId: 9n, role: 'Lost' }, roles)).toBeUndefined();
  });
});

const tableOf = (columns: readonly string[], ...rows: readonly (readonly string[])[]): FileTable => ({
  columns,
  rows: rows.map((cells, at) => ({ line: at + 2, cells })),
  problems: [],
  notes: [],
});

describe('the columns of a file', () => {
  it.each([
    ['ID', 'id'],
    ['User Id', 'id'],
    ['Given Name', 'first_name'],
    ['SURNAME', 'last_name'],
    ['E-Mail Address', 'email'],
    ['Mobile_Phone', 'phone'],
    ['Role-ID', 'role_id'],
    ['Role name', 'role'],
    ['E-Mail-Adresse', 'email'],
    ['PRENOM', 'first_name'],
    ['Příjmení', 'last_name'],
    ['Номер телефона', 'phone'],
    ['メールアドレス', 'email'],
  ])('readColumns recognizes a header in any language and case: %s as %s', (column, meaning) => {
    expect([...readColumns(tableOf([column]), []).places]).toEqual([[meaning, 0]]);
  });
  it('readColumns reads a column as its mapping states, even if its header means another column', () => {
    const table = tableOf(['Phone', 'a=b', 'Email']);
    const { places, ignored } = readColumns(table, [readMapping('a=b=phone'), readMapping('phone=email')]);
    expect([...places]).toEqual([
      ['phone', 1],
      ['email', 0],
    ]);
    expect(ignored).toEqual(['Email']);
  });
  it('readColumns ignores a whole name beside both halves, and refuses a whole name without halves', () => {
    const { places, ignored } = readColumns(tableOf(['name', 'first_name', 'last_name']), []);
    expect([[...places.keys()], ignored]).toEqual([['first_name', 'last_name'], ['name']]);
    for (const column of ['Name', 'Nom', '氏名'])
      expect(() => readColumns(tableOf([column]), [])).toThrow('holds whole names');
  });
  it.each([
    ['Vorname', 'Name'],
    ['Prénom', 'Nom'],
    ['Nome', 'Cognome'],
    ['Имя', 'Фамилия'],
  ])('readColumns reads %s and %s as the two halves of a name, in any order', (first, last) => {
    for (const columns of [
      [first, last],
      [last, first],
    ]) {
      const { places } = readColumns(tableOf(columns), []);
      expect([places.get('first_name'), places.get('last_name')]).toEqual(
        [first, last].map((column) => columns.indexOf(column)),
      );
    }
  });
  it('readColumns ignores Name beside "First name", because English uses Name for a whole name', () => {
    const { places, ignored } = readColumns(tableOf(['First name', 'Name', 'Prénom?']), [
      readMapping('Prénom?=email'),
    ]);
    expect([[...places.keys()], ignored]).toEqual([['email', 'first_name'], ['Name']]);
  });
  it('columnWords gives no word two meanings in different languages', () => {
    const seen = new Map<string, string>();
    for (const words of Object.values(columnWords))
      for (const [meaning, all] of Object.entries(words))
        for (const word of all.split(', ')) {
          const [only] = readColumns(tableOf([word]), [readMapping(`${word}=id`)]).places.keys();
          expect(only).toBe('id');
          const kind = meaning === 'half' ? 'name' : meaning;
          const key = word
            .normalize('NFKD')
            .toLowerCase()
            .replace(/[^\p{L}\p{N}]/gu, '');
          expect([word, seen.get(key) ?? kind]).toEqual([word, kind]);
          seen.set(key, kind);
        }
  });
  it.each([
    [['Kennung', 'Postfach'], 'No column of the file is the id, the email or the phone'],
    [['id', 'Postfach'], 'No column of the file is a value to change'],
  ])('requireColumns refuses a file without key or value column, lists its headers: %j', (columns, words) => {
    const table = tableOf(columns, columns, columns);
    expect(() => requireColumns(table, readColumns(table, []))).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(new RegExp(`^${words}.*\\. Its columns: "${columns.join('", "')}"$`)),
        hint: expect.stringContaining('--map "'),
      }),
    );
    const mapped = readColumns(table, [readMapping(`${columns[0]}=id`), readMapping('Postfach=email')]);
    expect(() => requireColumns(table, mapped)).not.toThrow();
  });
});

describe('planImport', () => {
  const user = (id: bigint, email: string | null, phone: string | null) =>
    teamUser({ id, first: 'A', last: `B${id}`, email, phone });
  const users = [
    user(1n, 'a@x.com', '15550101'),
    user(2n, 'A@x.com', '15550102'),
    user(3n, 'c@x.com', '15550102'),
  ];
  const every: ReadonlySet<Field> = new Set<Field>(['name', 'email', 'phone', 'roleId']);
  const plan = (table: FileTable, { clears = false, trustsIds = false } = {}) =>
    planImport(
      { table, columns: readColumns(table, []), only: every, clears, country: null, trustsIds },
      users,
      [],
    );

  it('refuses a row whose email or phone belongs to several users', () => {
    const { problems, changes } = plan(
      tableOf(
        ['id', 'email', 'phone'],
        ['', 'a@X.com', ''],
        ['', '', '+1 555 0102'],
        ['', 'no@x.com', '+15550101'],
      ),
    );
    expect(problems).toEqual([
      { line: 2, kind: 'ambiguous', reason: 'the email a@X.com belongs to users 1, 2: give the id' },
      { line: 3, kind: 'ambiguous', reason: 'the phone +1 555 0102 belongs to users 2, 3: give the id' },
    ]);
    expect(changes).toMatchObject([{ userId: 1n, field: 'email', to: 'no@x.com' }]);
  });
  it('matches a row with a user by the id, else by the email, and never by the name alone', () => {
    const { problems, changes } = plan(
      tableOf(
        ['id', 'email', 'phone', 'first_name', 'last_name'],
        ['1', 'no@x.com', '', '', ''],
        ['', 'c@x.com', '+15550103', '', ''],
        ['', '', '', 'a', 'b2'],
        ['77', 'c@x.com', '', '', ''],
        ['', 'no@x.com', '', '', ''],
      ),
    );
    expect(changes.map(({ userId, to }) => [userId, to])).toEqual([
      [1n, 'no@x.com'],
      [3n, '15550103'],
    ]);
    expect(problems).toEqual([
      {
        line: 4,
        kind: 'unmatched',
        reason: 'it has no id, email or phone; user 2 has this name',
        user_id: 2n,
      },
      { line: 5, kind: 'unmatched', reason: 'nobody in the team has the id 77' },
      { line: 6, kind: 'unmatched', reason: 'nobody in the team has the email no@x.com' },
    ]);
  });
  it.each([
    [['1', 'c@x.com', '', '', ''], 'it is of user 1, but the email c@x.com belongs to user 3'],
    [['3', '', '15550101', '', ''], 'it is of user 3, but the phone 15550101 belongs to user 1'],
    [['3', '', '0555-0101', '', ''], 'it is of user 3, but the phone 0555-0101 belongs to user 1'],
    [['1', '', '+1 555 0102', '', ''], 'it is of user 1, but the phone +1 555 0102 belongs to users 2, 3'],
    [['1', '', '', 'A', 'B2'], 'it is of user 1, but the name A B2 belongs to user 2'],
    [['', 'c@x.com', '', 'A', 'B2'], 'it is of user 3, but the name A B2 belongs to user 2'],
    [['2', 'a@x.com', '15550102', 'A', 'B2'], undefined],
    [['1', '', '', 'A', ''], undefined],
    [['1', 'new@x.com', '+15550109', 'A', 'B9'], undefined],
  ])('reports a row that mixes two present users as contradictory: %j: %s', (cells, reason) => {
    const table = tableOf(['id', 'email', 'phone', 'first_name', 'last_name'], cells);
    const said = plan(table);
    if (reason === undefined) expect(said.problems).toEqual([]);
    else {
      const advice = ': correct it, or give --trust-ids';
      expect(said).toMatchObject({ changes: [], matched: 0 });
      expect(said.problems).toEqual([{ line: 2, kind: 'contradictory', reason: `${reason}${advice}` }]);
    }
    const trusted = plan(table, { trustsIds: true }).problems.map(({ kind }) => kind);
    expect(trusted).not.toContain('contradictory');
  });
  it.each([
    ['accepts the email of its user', ['1', 'A@x.com', '', 'A', 'B3'], ['3', '', '', 'A', 'B3'], true],
    ['accepts the phone of its user', ['1', '', '15550101', 'A', 'B3'], ['2', '', '', 'A', ''], true],
    ['refuses a new email', ['1', 'new@x.com', '', 'A', 'B3'], ['2', '', '', 'A', ''], false],
    ['refuses the email without an id', ['', 'c@x.com', '', 'A', 'B2'], ['2', '', '', 'A', ''], false],
    [
      'refuses two rows with each other’s names',
      ['1', 'a@x.com', '', 'A', 'B3'],
      ['3', 'c@x.com', '', 'A', 'B1'],
      false,
    ],
    [
      'refuses the email if the other user gets a third name',
      ['1', 'a@x.com', '', 'A', 'B3'],
      ['3', 'c@x.com', '', 'A', 'B9'],
      false,
    ],
  ])('accepts another user’s name in a row if email or phone agree: %s', (_, renamed, other, isTaken) => {
    const { problems, changes } = plan(
      tableOf(['id', 'email', 'phone', 'first_name', 'last_name'], renamed, other),
    );
    expect(problems.some(({ line, kind }) => line === 2 && kind === 'contradictory')).toBe(!isTaken);
    expect(changes.some(({ line, field }) => line === 2 && field === 'name')).toBe(isTaken);
  });
  it('changes only a field that has a column in the file, even if empty cells clear fields', () => {
    expect(plan(tableOf(['id'], ['1']), { clears: true }).changes).toEqual([]);
    expect(plan(tableOf(['id', 'phone'], ['1', '']), { clears: true }).changes).toMatchObject([
      { field: 'phone', to: null },
    ]);
  });
  it.each([
    ['#N/A', true],
    ['#NV', true],
    ['#BEZUG!', true],
    ['#DIV/0!', true],
    ['#¿NOMBRE?', true],
    ['#Н/Д', true],
    ['#NENÍ_K_DISPOZICI', true],
    ['########', true],
    ['Err:502', true],
    ['undefined', true],
    ['NaN', true],
    ['[object Object]', true],
    ['#', false],
    ['#12', false],
    ['Nan', false],
    ['Null', false],
  ])('ignores a cell with a spreadsheet error, and notes it: %s: %s', (cell, isNone) => {
    const table = tableOf(['id', 'first_name', 'phone'], ['1', cell, isNone ? cell : '15550101']);
    const { problems, changes, notes } = plan(table, { clears: true });
    expect([problems, changes.map(({ field }) => field)]).toEqual([[], isNone ? [] : ['name']]);
    expect(notes).toEqual(
      isNone
        ? [`2 cells with a spreadsheet error, which change nothing: line 2: ${cell}, line 2: ${cell}`]
        : [],
    );
  });
  it.each(['NULL', 'null'])('accepts %s as a name, and ignores it as an email, a phone or an id', (cell) => {
    const table = tableOf(
      ['id', 'first_name', 'email', 'phone'],
      ['1', cell, cell, cell],
      [cell, '', 'c@x.com', cell],
    );
    const { problems, changes, notes } = plan(table, { clears: true });
    expect([problems, changes]).toMatchObject([[], [{ field: 'name', to: { first: cell } }]]);
    expect(notes).toEqual([expect.stringMatching(/^4 cells with a spreadsheet error/)]);
  });
  it.each(['#N/A', 'undefined'])('matches no user if the id is %s, even if the email is known', (cell) => {
    const said = plan(tableOf(['id', 'first_name', 'email'], [cell, 'Neu', 'c@x.com']));
    expect(said).toMatchObject({ changes: [], notes: [] });
    expect(said.problems).toEqual([{ line: 2, kind: 'unmatched', reason: `"${cell}" is not an id` }]);
  });
  it.each([
    ['Ren?e', false],
    ['Renée', false],
    ['Renee', true],
  ])('accepts a name from a file with lost letters if it has no ? or accent: %s: %s', (name, isTaken) => {
    const fourth = user(4n, null, null);
    const lukasz = { ...fourth, mirror: { ...fourth.mirror, name: { first: 'Łukasz', last: 'B4' } } };
    const all = [...users, lukasz];
    const rows = [
      ['1', name, ''],
      ['4', '?ukasz', ''],
    ];
    const wishes = { only: every, clears: false, country: null, trustsIds: false };
    const read = (given: readonly (readonly string[])[]) => {
      const table = tableOf(['id', 'first_name', 'last_name'], ...given);
      const { changes, problems } = planImport(
        { table, columns: readColumns(table, []), ...wishes },
        all,
        [],
      );
      return [changes.map(({ userId }) => userId), problems.map(({ line }) => line)];
    };
    expect(read(rows)).toEqual(isTaken ? [[1n], [3]] : [[], [2, 3]]);
    expect(read(rows.slice(0, 1))).toEqual([[1n], []]);
  });
  it('matches no user by the phone if the team has neither name nor email of the row', () => {
    const table = tableOf(
      ['first_name', 'last_name', 'email', 'phone'],
      ['Neu', 'Person', 'neu@x.com', '15550101'],
    );
    const { problems, changes } = plan(table);
    expect([changes, problems]).toMatchObject([
      [],
      [{ kind: 'unmatched', reason: expect.stringContaining('belongs to user ') }],
    ]);
  });
  it('reports users who have no row, and unusableRows lists the unusable rows with their reasons', () => {
    const table = tableOf(
      ['first_name', 'last_name', 'email', 'phone'],
      ['a', 'B1', 'new@x.com', ''],
      ['A', 'B9', 'new@x.com', ''],
      ['A', 'C', 'c@x.com', '15550109'],
      ['A', 'C', 'c@x.com', '1'],
    );
    const withShort = {
      ...table,
      problems: [{ line: 9, cells: ['A', 'B3'], reason: 'no', text: 'A;B3;c@x.com' }],
    };
    const { problems, notInFile } = plan(withShort);
    expect(notInFile).toEqual([{ user_id: 2n, name: 'A B2' }]);
    const unusable = unusableRows(withShort, readColumns(table, []), problems);
    expect(unusable.columns).toEqual([
      'id',
      'first_name',
      'last_name',
      'email',
      'phone',
      'line',
      'reason',
      'row',
    ]);
    expect(unusable.rows).toMatchObject([
      { id: 1n, first_name: 'a', email: 'new@x.com', line: 2, reason: expect.stringContaining('user 1 has') },
      { id: undefined, last_name: 'B9', line: 3 },
      { line: 4, phone: '15550109', reason: 'it is of user 3, like line 5' },
      { line: 5, reason: 'it is of user 3, like line 4, but has other values' },
      { line: 9, first_name: 'A', reason: 'no', row: 'A;B3;c@x.com' },
    ]);
    const withIds = tableOf(['Benutzer-ID', 'first_name', 'last_name'], ['77', 'A', 'B1']);
    const given = unusableRows(withIds, readColumns(withIds, []), plan(withIds).problems);
    expect(given).toMatchObject({
      columns: ['Benutzer-ID', 'first_name', 'last_name', 'line', 'reason'],
      rows: [
        {
          'Benutzer-ID': '77',
          reason: expect.stringContaining('nobody in the team has the id 77') as string,
        },
      ],
    });
  });
  it.each([
    [{ cells: ['3', 'A'], text: '3;A' }],
    [{ cells: ['x', 'C@x.com'], text: 'x;y;C@x.com' }],
    [{ cells: [], text: '{"email":"c@x.com",' }],
  ])('does not report a user as missing if the unreadable row %j may be theirs', (row) => {
    const table = tableOf(['id', 'first_name'], ['1', ''], ['2', '']);
    const { notInFile } = plan({ ...table, problems: [{ line: 9, reason: 'no', ...row }] });
    expect(notInFile).toEqual([]);
  });
  it('unusableRows uses the meaning of a column as its header if the column has no header', () => {
    const table = tableOf(
      ['', 'Vorname', ''],
      ['no@x.com', 'A', '+49 1555 0199'],
      ['a@x.com', 'A', '+4915550101'],
    );
    const columns = readColumns(table, []);
    expect(unusableRows(table, columns, plan(table).problems)).toMatchObject({
      columns: ['id', 'email', 'Vorname', 'phone', 'line', 'reason'],
      rows: [{ email: 'no@x.com', phone: '+49 1555 0199' }, { email: 'a@x.com' }],
    });
  });
  it('merges equal rows into one change, refuses contradicting rows of a user, and counts every row', () => {
    const table = tableOf(
      ['id', 'phone'],
      ['1.0', '+1 555 0199'],
      ['1', '15550199'],
      ['2', '15550198'],
      ['2', '15550197'],
      ['3', 'x'],
      ['3', 'x'],
      ['9', ''],
    );
    const { rows, matched, problems, changes } = plan(table);
    expect({ rows, matched, lines: problems.map(({ line }) => line) }).toEqual({
      rows: 7,
      matched: 2,
      lines: [4, 5, 6, 7, 8],
    });
    expect(changes).toMatchObject([{ userId: 1n, to: '15550199' }]);
  });
  it('finds a user by a phone without a country code if only one phone ends with it', () => {
    const table = tableOf(['phone', 'email'], ['0555 0101-', 'n@x.com'], ['05550102', ''], ['550101', '']);
    const { problems, changes } = plan(table);
    expect(changes).toMatchObject([{ userId: 1n, field: 'email', to: 'n@x.com' }]);
    expect(problems).toMatchObject([
      { line: 3, kind: 'ambiguous' },
      { line: 4, kind: 'unmatched' },
    ]);
  });
  it('hashOfImport returns another hash for another user, field or value, and the same hash for another line', () => {
    const table = tableOf(['id', 'email', 'phone'], ['1', 'n@x.com', '15550109']);
    const { changes } = plan(table);
    const text = hashOfImport(changes);
    const others = [
      changes.slice(1),
      changes.map((one) => ({ ...one, userId: 2n })),
      changes.map((one) => ({ ...one, field: 'name' as const })),
      changes.map((one) => ({ ...one, to: 'x' })),
      changes.map((one) => ({ ...one, from: 'x' })),
      changes.map((one) => ({ ...one, base: 'x' })),
      changes.map((one) => ({ ...one, unsure: 'x' })),
    ].map(hashOfImport);
    expect(new Set([text, ...others]).size).toBe(8);
    expect(hashOfImport(changes.map((one) => ({ ...one, line: 9 })))).toBe(text);
  });
});
