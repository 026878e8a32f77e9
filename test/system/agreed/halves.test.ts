import { afterAll, afterEach, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

let team: Team;
afterEach(() => team.close());

it.each([
  ['every edit is approved', {}],
  ['others approve what is held', { approve: 'guarded' }],
] as const)('no halves of a name leave that an editor alone says are right, where %s', async (_, push) => {
  team = await teams.open({ emulator: { variants: { 'email-update': 'clears-name' } }, push });
  const [probe = 0, id = 0] = team.ids;
  const said = { first: 'Anne', last: 'Marie Berg' };
  team.emulator.team.editUser(id, said);
  /** Whatever waits in a batch is approved, and sent. */
  const pass = async () => {
    await team.run();
    for (const [batch = ''] of await team.sql(
      'select distinct batch from report.held where batch is not null',
    ))
      await team.carol.approve(batch);
    await team.run();
  };
  await team.bob.edit(probe, `email = 'probe@example.com'`);
  for (const _ of [1, 2, 3]) await pass();
  expect(team.emulator.team.user(probe)).toMatchObject({ email: 'probe@example.com' });
  await team.bob.edit(id, `email = 'ada@example.com'`);
  await team.bob.edit(id, `name_split = 'known'`);
  team.emulator.clearRequests();
  await pass();
  for (const _ of [1, 2]) await team.run();
  expect(team.updates()).toEqual([]);
  expect(await team.held()).toEqual([[String(id), 'email', 'unsupported']]);
  expect(await team.sql('select detail from report.held')).toEqual([
    [expect.stringContaining('"Anne Marie Berg" is "Anne Marie" and "Berg": "musterd resolve"')],
  ]);
  const resolve = [
    'resolve',
    String(id),
    'email',
    '--take',
    'mirror',
    '--if',
    'ada@example.com',
    '--as',
    'Dora',
  ];
  expect(await team.musterd(...resolve)).toMatchObject({ code: 0 });
  await team.run();
  expect(team.updates()).toEqual([
    { id, email: 'ada@example.com', first_name: 'Anne Marie', last_name: 'Berg' },
  ]);
  expect(await team.held()).toEqual([]);
  // Halves that were sent once, other than anybody would guess, go along without a word.
  await team.bob.edit(id, `first_name = 'Anne', last_name = 'Marie Berg'`);
  await pass();
  await team.bob.edit(id, `email = 'berg@example.com'`);
  team.emulator.clearRequests();
  await pass();
  expect(team.updates()).toEqual([
    { id, email: 'berg@example.com', first_name: 'Anne', last_name: 'Marie Berg' },
  ]);
});
