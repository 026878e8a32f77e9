import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longestText } from '../../src/model/longest-text.ts';
import { oldestServer } from '../support/servers.ts';
import { createStage, type Stage } from '../system/stage.ts';

const at = '@example.com';
/** Characters of one and of two UTF-16 units. */
const letters = ['x', '😀'] as const;

describe.each([oldestServer()])('the longest accepted text on $name', (server) => {
  let stage: Stage;
  let id: number;
  beforeAll(async () => {
    stage = await createStage({ server, emulator: { users: 2, tags: 0, fields: 0 } });
    await stage.run();
    id = stage.emulator.team.users()[0]?.id ?? 0;
  });
  afterAll(() => stage.close());
  const edit = (setting: string) => stage.sql(`update mirror.users set ${setting} where id = ${id}`);

  it.each(letters)(
    'accepts 320 characters of an email and 300 of a first or last name, and rejects one more: letter "%s" (S8)',
    async (letter) => {
      const email = (more: number) => `email = repeat('${letter}', ${320 - at.length + more}) || '${at}'`;
      await expect(edit(email(1))).rejects.toThrow(`The email of user ${id} is longer than 320 characters`);
      await expect(edit(email(0))).resolves.toEqual([]);
      const half = (column: string, more: number) => `${column} = repeat('${letter}', ${300 + more})`;
      for (const column of ['first_name', 'last_name']) {
        await expect(edit(half(column, 1))).rejects.toThrow(
          `The first or last name of user ${id} is longer than 300 characters`,
        );
        await expect(edit(half(column, 0))).resolves.toEqual([]);
      }
      await expect(edit(`phone = repeat('1', 300000)`)).rejects.toThrow('is not a phone number');
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
      expect(Array.from(stage.emulator.team.user(id).email ?? '')).toHaveLength(320);
    },
  );

  it('stores the longest values of the service, and lets an editor change a first name beside a last name of over 300 characters', async () => {
    const email = `${'x'.repeat(longestText - at.length)}${at}`;
    stage.emulator.team.editUser(id, { email, first: 'A', last: 'x'.repeat(longestText - 2) });
    for (const _ of [1, 2]) expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    await edit(`first_name = 'B', name_split = 'known'`);
    expect(
      await stage.sql(`select length(email), length(last_name) > 300 from mirror.users where id = ${id}`),
    ).toEqual([[String(longestText), 'true']]);
  });
});
