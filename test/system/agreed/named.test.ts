import { afterAll, afterEach, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
let team: Team;
afterEach(() => team.close());
afterAll(() => teams.close());

it('musterd refuses the number of an edit for missing rows', async () => {
  team = await teams.open({ emulator: { tags: 12 } });
  for (const { id } of team.emulator.team.tags().slice(0, 5)) team.emulator.team.removeTag(id);
  await team.bob.edit(team.ids[0] ?? 0, `email = 'ada@example.com'`);
  await team.run();
  const [[batch = ''] = []] = await team.sql('select batch from report.missing');
  await expect(
    team.carol.sql(`select sync.approve('${batch}', only_edits => array(select edit_id from report.held))`),
  ).rejects.toThrow(`is not in batch ${batch}`);
  expect(await team.sql('select distinct batch from sync.absences where verdict is null')).toEqual([[batch]]);
});

it('musterd ends an edit that is taken back past the triggers with the next run', async () => {
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
