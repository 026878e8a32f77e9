import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embeddedServer } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

/** A split of three or more words is a guess: what has to be done, by the words of the warning, to have it taken. */
describe('both halves of a guessed name', () => {
  let stage: Stage;
  let id: number;
  beforeAll(async () => {
    stage = await createStage({ server: embeddedServer(), emulator: { users: 3, tags: 0, fields: 0 } });
    await stage.run();
  });
  afterAll(() => stage.close());

  const edit = (...statements: readonly string[]) =>
    stage.sql(statements.map((setting) => `update mirror.users set ${setting} where id = ${id}`).join(';'));
  const split = async () =>
    (await stage.sql(`select name_split from mirror.users where id = ${id}`)).flat()[0];
  const held = async () =>
    await stage.sql(`select field, reason from sync.held_fields where user_id = ${id}`);

  /** A user of three words, mirrored as "Ana Maria" and "Lopez". */
  const meet = async () => {
    ({ id } = stage.emulator.team.addUser({
      first: 'Ana',
      last: 'Maria Lopez',
      email: `a${Math.random()}@example.com`,
      phone: '15550160',
    }));
    await stage.run();
    expect(await split()).toBe('guessed');
  };
  /** The same with an edit of the last name that waits for a person. */
  const meetHeld = async () => {
    await meet();
    await edit(`last_name = 'Garcia'`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(await held()).toEqual([['name', 'unsupported']]);
  };
  const expectSent = async (first: string, last: string) => {
    expect(await split()).toBe('known');
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(stage.emulator.team.user(id)).toMatchObject({ first, last });
    expect(await held()).toEqual([]);
  };

  const readings: readonly (readonly [string, readonly (readonly string[])[]])[] = [
    ['both in one statement, as they are', [[`first_name = 'Ana Maria', last_name = 'Garcia'`]]],
    ['the other to the value that it has', [['first_name = first_name']]],
    ['in two statements of one transaction', [[`last_name = 'Garcia'`, `first_name = 'Ana Maria'`]]],
    ['in two transactions', [[`first_name = 'Ana Maria'`], [`last_name = 'Garcia'`]]],
    ['the split alone', [[`name_split = 'known'`]]],
  ];
  it.each(readings)('both halves of a name become known after a hold: %s', async (_title, transactions) => {
    await meetHeld();
    for (const statements of transactions) await edit(...statements);
    await expectSent('Ana Maria', 'Garcia');
  });

  it('both halves of a name become known after a hold once the first name is edited too', async () => {
    await meetHeld();
    await edit(`first_name = 'Anne'`);
    await expectSent('Anne', 'Garcia');
  });

  it('both halves of a name become known in two statements before any run', async () => {
    await meet();
    await edit(`last_name = 'Garcia'`, 'first_name = first_name');
    await expectSent('Ana Maria', 'Garcia');
  });

  it('a name stays guessed if the waiting half is set again, or by a statement without a name', async () => {
    await meetHeld();
    await edit(`last_name = 'Garcia'`, `phone = '15550161'`);
    expect(await split()).toBe('guessed');
    await edit(`last_name = 'Gomez'`);
    expect(await split()).toBe('guessed');
    await stage.run();
    expect(await held()).toEqual([['name', 'unsupported']]);
  });

  it('a name stays guessed if an earlier statement of the transaction named another user', async () => {
    await meet();
    const other = id;
    await meet();
    await stage.sql(`update mirror.users set first_name = 'Eva', last_name = 'Borg' where id = ${other};
      update mirror.users set last_name = 'Garcia' where id = ${id}`);
    expect(await split()).toBe('guessed');
  });

  it('both halves become known for each user of one statement', async () => {
    await meet();
    const other = id;
    await meet();
    await stage.sql(
      `update mirror.users set first_name = 'Eva', last_name = 'Borg' where id in (${other}, ${id})`,
    );
    expect(
      await stage.sql(`select distinct name_split from mirror.users where id in (${other}, ${id})`),
    ).toEqual([['known']]);
  });

  it('a name stays guessed by a program that writes every column, if no field waits for it', async () => {
    await meet();
    await edit(`first_name = first_name, last_name = last_name, phone = '15550162'`);
    expect(await split()).toBe('guessed');
  });

  it.each([
    'first_name = first_name',
    'last_name = last_name',
    'first_name = first_name, last_name = last_name',
  ])('a name becomes known unchanged by %s, if another field waits for it', async (setting) => {
    await meet();
    await stage.sql(
      `insert into sync.held_fields (team_id, user_id, field, reason) values (41, ${id}, 'phone', 'unsupported')`,
    );
    await edit(`phone = '15550163'`);
    expect(await split()).toBe('guessed');
    await edit(setting);
    expect(await split()).toBe('known');
  });

  it('an empty name becomes known only by both halves', async () => {
    await meet();
    await stage.sql(`update sync.user_base set name = '', first_name = '', last_name = '' where id = ${id}`);
    await edit(`last_name = 'Garcia'`);
    expect(await split()).toBe('guessed');
    await edit(`first_name = 'Anne', last_name = 'Garcia'`);
    expect(await split()).toBe('known');
  });

  it('a name stays guessed if a field waits for another reason', async () => {
    await meet();
    await stage.sql(
      `insert into sync.held_fields (team_id, user_id, field, reason) values (41, ${id}, 'phone', 'conflict')`,
    );
    await edit('first_name = first_name, last_name = last_name');
    expect(await split()).toBe('guessed');
  });
});
