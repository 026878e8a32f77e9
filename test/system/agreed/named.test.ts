import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, editsOfEachKind, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

/** The command line decides about what it was told, and about nothing that came in its place. */
describe('on the command line', () => {
  let team: Team;
  afterEach(() => team.close());

  /** A conflict, which dora has seen, with a value that bob has replaced since. */
  const openReplaced = async ({ field, values, later, other }: (typeof editsOfEachKind)[number]) => {
    team = await teams.open({ push: { fourEyes: false } });
    const [id = 0] = team.ids;
    team.emulator.team.editUser(id, other);
    await team.bob.edit(id, values);
    await team.run();
    expect(await team.held()).toEqual([[String(id), field, 'conflict']]);
    await team.bob.edit(id, later[0]);
    await team.run();
    const take = (...args: readonly string[]) =>
      team.musterd('resolve', String(id), field, '--take', 'mirror', '--as', 'dora', ...args);
    return { id, words: later[1], take };
  };

  describe.each(editsOfEachKind)('the $field', (edit) => {
    it('resolve --take mirror refuses without the value that was seen', async () => {
      const { take } = await openReplaced(edit);
      const { code, stderr } = await take();
      await team.run();
      expect(team.updates()).toEqual([]);
      expect([code, stderr]).toEqual([64, expect.stringContaining('--if')]);
    });

    it('resolve --take mirror refuses and names the value if it changed', async () => {
      const { words, take } = await openReplaced(edit);
      const { code, stdout, stderr } = await take('--if', edit.words);
      await team.run();
      expect(team.updates()).toEqual([]);
      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(new RegExp(words.replace('|', '.*')));
    });

    it('resolve --take mirror sends the value that was seen', async () => {
      const { id, words, take } = await openReplaced(edit);
      expect(await take('--if', words)).toMatchObject({ code: 0 });
      await team.run();
      expect(team.updates().map((one) => one['id'])).toEqual([id]);
    });

    it.each(['approve', 'reject'])('is the only field decided if --only names it: %s', async (verb) => {
      team = await teams.open();
      const [a = 0, b = 0] = team.ids;
      await team.bob.sql(`update mirror.users set role_id = 17, first_name = 'Ada', last_name = 'Berg',
        email = 'ada' || id || '@example.com', phone = '1555' || id where id in (${a}, ${b})`);
      await team.run();
      const batch = await team.batchOf(a);
      const only = `${a}.${edit.field}`;
      expect(await team.musterd(verb, batch, '--only', only, '--as', 'dora')).toMatchObject({ code: 0 });
      await team.run();
      const keys = verb === 'approve' ? Object.keys(edit.sent) : [];
      expect(team.updates().map((one) => Object.keys(one))).toEqual(keys.length > 0 ? [['id', ...keys]] : []);
      const waiting = (await team.held()).filter(([, , reason]) => reason === 'review');
      expect(waiting.length).toBe(7);
    });
  });

  it('in SQL, missing rows are not approved by the number of an edit', async () => {
    team = await teams.open({ emulator: { tags: 12 } });
    for (const { id } of team.emulator.team.tags().slice(0, 5)) team.emulator.team.removeTag(id);
    await team.bob.edit(team.ids[0] ?? 0, `email = 'ada@example.com'`);
    await team.run();
    const [[batch = ''] = []] = await team.sql('select batch from report.missing');
    await expect(
      team.carol.sql(`select sync.approve('${batch}', only_edits => array(select edit_id from report.held))`),
    ).rejects.toThrow(`is not in batch ${batch}`);
    expect(await team.sql('select distinct batch from sync.absences where verdict is null')).toEqual([
      [batch],
    ]);
  });
});
