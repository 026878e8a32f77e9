import { afterAll, afterEach, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
let team: Team;
afterEach(() => team.close());
afterAll(() => teams.close());

it('a run ends an edit as withdrawn if an update that the triggers ignore restored the old value', async () => {
  team = await teams.open();
  const [id = 0] = team.ids;
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
