import { describe, expect, it } from 'vitest';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

/** A split of three or more words is a guess: what has to be done, by the words of the warning, to have it taken. */
describe('the guessed split of a name', () => {
  const database = useDatabase({ server: oldestServer() });
  const { rows: sql, force } = database;
  let id = 0;

  const edit = (...statements: readonly string[]) =>
    sql(statements.map((setting) => `update mirror.users set ${setting} where id = ${id}`).join(';'));
  const split = async () => (await sql(`select name_split from mirror.users where id = ${id}`)).flat()[0];
  const wait = (field: string, reason: string) =>
    sql(`insert into sync.held_fields (team_id, user_id, field, reason, edit_id)
      values (41, ${id}, '${field}', '${reason}', sync.find_edit(41, ${id}, '${field}'))`);

  /** A user of three words, mirrored as "Ana Maria" and "Lopez". */
  const meet = async () => {
    id += 1;
    const columns = 'team_id, id, name, first_name, last_name, phone';
    await force(`
      insert into mirror.users (${columns}, resolved) values (41, ${id}, 'Ana Maria Lopez', 'Ana Maria', 'Lopez', '15550160', true);
      insert into sync.user_base (${columns}) select ${columns} from mirror.users where id = ${id}`);
    expect(await split()).toBe('guessed');
  };
  /** The same with an edit of the last name that waits for a person. */
  const meetHeld = async () => {
    await meet();
    await edit(`last_name = 'Garcia'`);
    await wait('name', 'unsupported');
  };

  const readings: readonly (readonly [string, readonly (readonly string[])[]])[] = [
    ['both halves in one statement', [[`first_name = 'Ana Maria', last_name = 'Garcia'`]]],
    ['the first name to its own value', [['first_name = first_name']]],
    ['both halves in one transaction', [[`last_name = 'Garcia'`, `first_name = 'Ana Maria'`]]],
    ['both halves in two transactions', [[`first_name = 'Ana Maria'`], [`last_name = 'Garcia'`]]],
    ['only the column name_split', [[`name_split = 'known'`]]],
  ];
  it.each(readings)('after a hold, setting %s makes the split known (A15)', async (_title, transactions) => {
    await meetHeld();
    for (const statements of transactions) await edit(...statements);
    expect(await split()).toBe('known');
  });

  it.each([
    ['known after a hold of the last name once the first name is edited', meetHeld, [`first_name = 'Anne'`]],
    [
      'known if two statements set both halves before any run',
      meet,
      [`last_name = 'Garcia'`, 'first_name = first_name'],
    ],
    [
      'guessed if a program sets both halves to their own values and the user has no hold',
      meet,
      [`first_name = first_name, last_name = last_name, phone = '15550162'`],
    ],
    [
      'guessed if another field is held for a conflict',
      () => meet().then(() => wait('phone', 'conflict')),
      ['first_name = first_name, last_name = last_name'],
    ],
  ])(
    'setting both halves makes the split known if a half changes or the guess is held: the split is %s',
    async (says, begin, statements) => {
      await begin();
      await edit(...statements);
      expect(await split()).toBe(says.split(' ')[0]);
    },
  );

  it('the split stays guessed if an editor sets only the held half again, or only the phone', async () => {
    await meetHeld();
    await edit(`last_name = 'Garcia'`, `phone = '15550161'`);
    expect(await split()).toBe('guessed');
    await edit(`last_name = 'Gomez'`);
    expect(await split()).toBe('guessed');
  });

  it('the split stays guessed if the transaction sets both halves only for another user', async () => {
    await meet();
    const other = id;
    await meet();
    await sql(`update mirror.users set first_name = 'Eva', last_name = 'Borg' where id = ${other};
      update mirror.users set last_name = 'Garcia' where id = ${id}`);
    expect(await split()).toBe('guessed');
  });

  it('the split becomes known for two users if one statement sets both halves of both names', async () => {
    await meet();
    const other = id;
    await meet();
    await sql(`update mirror.users set first_name = 'Eva', last_name = 'Borg' where id in (${other}, ${id})`);
    expect(await sql(`select distinct name_split from mirror.users where id in (${other}, ${id})`)).toEqual([
      ['known'],
    ]);
  });

  it.each([
    'first_name = first_name',
    'last_name = last_name',
    'first_name = first_name, last_name = last_name',
  ])('the split becomes known by "set %s" if another field is held because of the guess', async (setting) => {
    await meet();
    await wait('phone', 'unsupported');
    await edit(`phone = '15550163'`);
    expect(await split()).toBe('guessed');
    await edit(setting);
    expect(await split()).toBe('known');
  });

  it('the split of an empty name becomes known only once both halves are set', async () => {
    await meet();
    await sql(`update sync.user_base set name = '', first_name = '', last_name = '' where id = ${id}`);
    await edit(`last_name = 'Garcia'`);
    expect(await split()).toBe('guessed');
    await edit(`first_name = 'Anne', last_name = 'Garcia'`);
    expect(await split()).toBe('known');
  });
});
