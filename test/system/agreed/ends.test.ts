import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, editsOfEachKind, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

let team: Team;
afterEach(() => team.close());
const open = async (...given: Parameters<typeof teams.open>) => {
  team = await teams.open(...given);
  return [...team.ids] as [number, number, number];
};

describe('a rejected edit', () => {
  it.each(editsOfEachKind)(
    'exits 0 if only rejected edits of the $field wait',
    async ({ field, values, other }) => {
      const [a, b] = await open();
      for (const id of [a, b]) await team.bob.edit(id, values);
      expect((await team.musterd('reconcile')).code).toBe(3);
      await team.carol.reject(await team.batchOf(a, field));
      expect((await team.musterd('reconcile')).code).toBe(0);
      team.emulator.team.editUser(a, other);
      expect((await team.musterd('reconcile')).code).toBe(0);
      await team.bob.edit(b, `first_name = 'Eva', email = 'last@example.com'`);
      expect((await team.musterd('reconcile')).code).toBe(3);
      expect(team.updates()).toEqual([]);
    },
  );
});

it('an edit that is taken back past the triggers ends with the next run', async () => {
  const [id] = await open();
  const { phone } = team.emulator.team.user(id);
  await team.bob.edit(id, `phone = '15550100', email = 'ada@example.com'`);
  await team.run();
  await team.sql(`begin; set local musterd.writing = 'on';
    update mirror.users set phone = '${phone}' where id = ${id}; commit`);
  await team.run();
  expect(await team.sql(`select field, ended_how from sync.edits order by 1`)).toEqual([
    ['email', ''],
    ['phone', 'withdrawn'],
  ]);
});

describe('musterd, after the service has made a decision void,', () => {
  it('holds the edit in each run until a second approval', async () => {
    team = await teams.open({ push: { approve: 'guarded' } });
    const [id = 0] = team.ids;
    const { email } = team.emulator.team.user(id);
    await team.bob.edit(id, `email = 'ada@example.com'`);
    team.emulator.team.editUser(id, { email: 'eva@example.com' });
    await team.run();
    const resolved = `select outcome from sync.resolve(41, ${id}, 'email', 'mirror', reason => 'so')`;
    expect(await team.carol.sql(resolved)).toEqual([['resolved']]);
    team.emulator.team.editUser(id, { email });
    expect((await team.plan()).users.verdict.reviewed).toEqual(['1 user waits for a person to see it first']);
    for (let run = 0; run < 3; run += 1) {
      await team.run();
      expect([await team.held(), team.updates()]).toEqual([[[String(id), 'email', 'review']], []]);
    }
    expect(await team.carol.approve(await team.batchOf(id, 'email'))).toEqual(['approved']);
    await team.run();
    expect(team.updates()).toEqual([{ id, email: 'ada@example.com' }]);
  });
});
