import { afterAll, expect, it } from 'vitest';
import { createTeams } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

it('musterd refuses the number of an edit for missing rows', async () => {
  const team = await teams.open({ emulator: { tags: 12 } });
  for (const { id } of team.emulator.team.tags().slice(0, 5)) team.emulator.team.removeTag(id);
  await team.bob.edit(team.ids[0] ?? 0, `email = 'ada@example.com'`);
  await team.run();
  const [[batch = ''] = []] = await team.sql('select batch from report.missing');
  await expect(
    team.carol.sql(`select sync.approve('${batch}', only_edits => array(select edit_id from report.held))`),
  ).rejects.toThrow(`is not in batch ${batch}`);
  expect(await team.sql('select distinct batch from sync.absences where verdict is null')).toEqual([[batch]]);
  await team.close();
});
