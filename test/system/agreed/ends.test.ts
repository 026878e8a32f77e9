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
    'of the $field lets a run end with 0 that has nothing else',
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

  it.each(['reverted', 'resolved'])(
    'that is %s leaves the halves of a name known that were known',
    async (how) => {
      const [id] = await open();
      await team.bob.edit(id, `first_name = 'Anne Marie', last_name = 'Berg'`);
      await team.run();
      await team.carol.approve(await team.batchOf(id, 'name'));
      await team.run();
      await team.bob.edit(id, `first_name = 'Eva', last_name = 'Berg'`);
      await team.run();
      const resolve = [
        'resolve',
        String(id),
        'name',
        '--take',
        'service',
        '--if',
        'Eva|Berg',
        '--as',
        'Dora',
      ];
      if (how === 'resolved') await team.musterd(...resolve);
      else await team.carol.reject(await team.batchOf(id, 'name'), { revert: true });
      await team.run();
      const halves = 'select first_name, last_name, name_split from mirror.users where id =';
      expect(await team.sql(`${halves} ${id}`)).toEqual([['Anne Marie', 'Berg', 'known']]);
      // Half a name that is known can be edited alone.
      await team.bob.edit(id, `last_name = 'Lind'`);
      await team.run();
      expect(await team.held()).toEqual([[String(id), 'name', 'review']]);
    },
  );
});

describe('the hold of a user who has left ends with the edit', () => {
  const leave = async (id: number) => {
    team.emulator.team.removeUser(id);
    for (const _ of [1, 2]) await team.run();
    expect(await team.sql(`select gone_at is not null from mirror.users where id = ${id}`)).toEqual([
      ['true'],
    ]);
  };
  const settings = { absence: { confirmAfterMs: 0 } } as const;

  it.each([
    [
      'limit',
      async (id: number, other: number) => {
        const { phone } = team.emulator.team.user(other);
        await team.bob.edit(id, `phone = '${phone}'`);
      },
    ],
    [
      'conflict',
      async (id: number) => {
        team.emulator.team.editUser(id, { phone: '15550123' });
        await team.bob.edit(id, `phone = '15550100'`);
      },
    ],
    ['refused', async (id: number) => team.bob.edit(id, `phone = '99'`)],
  ])('that was held as %s', async (reason, edit) => {
    const [id, other] = await open({ push: { approve: 'guarded' }, config: settings });
    const { phone } = team.emulator.team.user(id);
    await edit(id, other);
    await team.run();
    expect(await team.held()).toEqual([[String(id), 'phone', reason]]);
    await leave(id);
    await team.bob.edit(id, `phone = '${phone}'`);
    expect((await team.musterd('reconcile')).code).toBe(0);
    expect(await team.held()).toEqual([]);
  });

  it.each([
    ['nobody has decided', async () => {}],
    ['was rejected', async (batch: string) => void (await team.carol.reject(batch))],
  ])('that was to be seen first, and %s', async (_, decide) => {
    const [id] = await open({ config: settings });
    const { phone } = team.emulator.team.user(id);
    await team.bob.edit(id, `phone = '15550100'`);
    await team.run();
    await decide(await team.batchOf(id, 'phone'));
    await leave(id);
    await team.bob.edit(id, `phone = '${phone}'`);
    await team.run();
    expect(await team.held()).toEqual([]);
  });
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

it('musterd sends an edit over a phone that the service has emptied, after an approver resolved it for the mirror', async () => {
  team = await teams.open({ config: { policy: { phone: 'mirror-wins' } } });
  const [id = 0] = team.ids;
  await team.bob.edit(id, `phone = '15550100'`);
  team.emulator.team.editUser(id, { phone: null });
  await team.run();
  expect(await team.held()).toEqual([[String(id), 'phone', 'review']]);
  const resolve = `select outcome from sync.resolve(41, ${id}, 'phone', 'mirror', reason => 'so')`;
  expect(await team.carol.sql(resolve)).toEqual([['resolved']]);
  await team.run();
  expect([team.updates(), await team.held()]).toEqual([[{ id, phone: '15550100' }], []]);
});

describe('musterd, after the service has made a decision void,', () => {
  it('holds the edit for review in each run, and sends it once it is approved again', async () => {
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
