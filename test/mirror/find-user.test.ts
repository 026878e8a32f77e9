import { sql } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { findUsers } from '../../src/mirror/users/find-user.ts';
import { readUserQuery } from '../../src/mirror/users/user-query.ts';
import { roster, type RosterRow } from '../../src/page/read/page-people.ts';
import { readPageFrame } from '../../src/page/read/page-reader.ts';
import { createTestDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';

it('findUsers finds a user by id, or by the email, phone or name that mirror or base has', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.close());
  await runSqlText(
    database.db,
    `begin; set local musterd.writing = 'on';
     insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved)
       values (41, 1, 'Ada  Berg', 'Ada', 'Berg', ' Ada@Example.com', '+1 (555) 01', true);
     insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone)
       values (41, 1, 'Old Name', 'Old', 'Name', 'old@example.com', '1 555 02'); commit`,
  );
  const found = async (typed: string) =>
    (await findUsers(database.db.kysely, 41n, readUserQuery(typed))).map(({ id }) => id);
  for (const typed of [
    '1',
    'ada@example.com',
    'old@example.com',
    '155501',
    '1 555 02',
    'ADA BERG',
    'old NAME',
  ])
    expect([typed, await found(typed)]).toEqual([typed, [1n]]);
  expect(await found('155503')).toEqual([]);
});

describe('users with similar spellings', () => {
  const database = useDatabase();
  beforeAll(async () => {
    const user = (id: number, name: string, email: string, phone: string) =>
      `(41, ${id}, '${name}', '${name.split(' ')[0] ?? ''}', '${name.split(' ')[1] ?? ''}', '${email}', '${phone}', true)`;
    const all = [
      user(11, 'Jörg Müller', 'j@example.com', '4915123450148'),
      user(12, 'Joerg Mueller-Weiß', 'jw@example.com', '+41 44 010 22 08'),
      user(13, 'Zoë Lefèvre'.normalize('NFD'), 'z@example.com', '33140102208'),
      user(14, 'Łukasz Søndergård', 'l@example.com', '4512345678'),
      user(15, 'Samuel Strauß', 's@example.com', '43664123456'),
      user(16, 'Ana [x]', 'ana@example.com', '3906123456'),
      user(17, 'Kim Short', 'k@example.com', '7771234567'),
      user(18, 'Kit Shorter', 'kit@example.com', '497771234567'),
    ];
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on'; 
       insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, resolved) values ${all.join()}; commit`,
    );
  });

  it.each([
    ['jorg muller', [11], []],
    ['JOERG MUELLER', [11], []],
    ['Jörg  Mueller', [11], []],
    ['zoe lefevre', [13], []],
    ['ZOË LEFÈVRE', [13], []],
    ['lukasz sondergard', [14], []],
    ['Łukasz Soendergård', [14], []],
    ['samuel strauss', [15], []],
    ['0151 234 50148', [11], []],
    ['+49 (0)151-23450148', [11], []],
    ['0049 15123450148', [11], []],
    // It may be an id with a digit too few.
    ['15123450148', [], [11]],
    ['151 23450148', [11], []],
    ['044 010 22 08', [12], []],
    // A whole number of another country.
    ['+15123450148', [], [11]],
    ['0015 123450148', [], [11]],
    ['ana [x]', [16], []],
    ['muller', [], [11, 12]],
    ['Mueller Joerg', [], [11, 12]],
    ['weiss', [], [12]],
    ['uel', [], [11, 12, 15]],
    ['el', [], [12, 15]],
    ['jw@EXAMPLE', [], [12]],
    ['50148', [], [11]],
    ['.', [], [11, 12, 13, 14, 15, 16, 17, 18]],
    // Who has it as a whole comes before who has it at the end.
    ['7771234567', [17], []],
    ['Kim Short', [17], []],
    ['%', [], []],
    ['000', [], []],
    ['+0', [], []],
    ['Joerg Nobody', [], []],
  ])('findUsers and page find for "%s" users %j, and partial matches %j', async (typed, whole, part) => {
    const all = await findUsers(database.db.kysely, 41n, readUserQuery(typed));
    const idsOf = (isPart: boolean) =>
      all.filter((user) => user.isPart === isPart).map(({ id }) => Number(id));
    expect([idsOf(false), idsOf(true)]).toEqual([whole, part]);
    const { rows } = await readPageFrame(database.db, null, async ({ reader }) => {
      const found = roster({ ...reader, teamIds: [41n] }, { q: typed, details: true });
      return await sql<RosterRow>`select * from ${found} r`.execute(reader.db);
    });
    expect(rows.map(({ id }) => Number(id))).toEqual(expect.arrayContaining([...whole, ...part]));
    if (part.length > 0) expect(rows).toHaveLength(part.length);
  });
});
