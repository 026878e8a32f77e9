import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const update = { path: '/v1/users/update' } as const;

describe('a batch', () => {
  let team: Team;
  afterEach(() => team.close());
  const open = async (...given: Parameters<typeof teams.open>) => {
    team = await teams.open(...given);
    return team.ids;
  };
  const sentTo = (id: number) => team.updates().filter((update) => update['id'] === id);

  /** Four approved phones in one request, of which the service refuses the last one. */
  const openRefused = async () => {
    const [first = 0, ...others] = await open();
    const { bob, carol } = team;
    // The first update without a name goes alone.
    await bob.edit(first, `phone = '15550199'`);
    await team.run();
    await carol.approve(await team.batchOf(first, 'phone'));
    await team.run();
    const ids = others.slice(0, 4);
    await bob.sql(`update mirror.users set phone = case id when ${ids[3]} then '99' else '1555' || id end
      where id in (${ids.join(', ')})`);
    await team.run();
    const batch = await team.batchOf(ids[0] ?? 0, 'phone');
    await carol.approve(batch);
    team.emulator.clearRequests();
    return [ids[2] ?? 0, batch, ids] as const;
  };

  it.each([
    ['rejected', async (id: number, batch: string) => void (await team.carol.reject(batch, { only: [id] }))],
    [
      'reverted',
      async (id: number, batch: string) =>
        void (await team.carol.reject(batch, { only: [id], revert: true })),
    ],
    ['withdrawn', async (id: number) => team.bob.edit(id, `phone = '${team.emulator.team.user(id).phone}'`)],
    ['edited again', async (id: number) => team.bob.edit(id, `phone = '15550177'`)],
  ])('skips edits that were %s while the service refused the batch', async (_, act) => {
    const [late, batch, ids] = await openRefused();
    const before = team.emulator.team.user(late).phone;
    // The first part of the request that was refused as a whole.
    team.emulator.before({ ...update, at: 2 }, () => act(late, batch));
    await team.run();
    const all = team.updates().slice(0, 4);
    expect(all.map(({ id }) => id)).toEqual(ids);
    expect(team.emulator.team.user(late).phone).toBe(before);
    expect(sentTo(late).length).toBe(1);
  });

  const openApproved = async (values: string, field: string) => {
    const [a = 0] = await open();
    await team.bob.edit(a, values);
    await team.run();
    const batch = await team.batchOf(a, field);
    await team.carol.approve(batch);
    return [a, batch] as const;
  };

  it.each([false, true])(
    'whose answer was lost says that it is on its way when it is rejected (revert: %s)',
    async (revert) => {
      const [a, batch] = await openApproved(`email = 'ada@example.com'`, 'email');
      team.emulator.addFault({ kind: 'late', answer: '504', requests: 1000, ...update });
      await team.run();
      expect(await team.carol.reject(batch, { revert })).toEqual(['on its way']);
      team.emulator.applyLateWrites();
      await team.run();
      const sides = [
        [team.emulator.team.user(a).email],
        ...(await team.sql(`select email from mirror.users where id = ${a}`)),
      ];
      expect(sides).toEqual([['ada@example.com'], ['ada@example.com']]);
      expect([sentTo(a).length, await team.held()]).toEqual([1, []]);
    },
  );

  it.each([
    ['phone', `phone = '99'`],
    ['role_id', 'role_id = 99'],
    ['email', `email = 'a@b@example.com'`],
  ])(
    'with the %s that the service refuses is not sent again if it was approved during the run',
    async (field, values) => {
      const [a = 0] = await open();
      await team.bob.edit(a, values);
      await team.run();
      const batch = await team.batchOf(a, field);
      team.emulator.before({ path: '/v1/team' }, async () => void (await team.carol.approve(batch)));
      for (const _ of [1, 2, 3]) await team.run();
      expect(sentTo(a).length).toBe(1);
      expect(await team.held()).toEqual([[String(a), field, 'refused']]);
    },
  );

  it('refuses decisions in a repeatable read transaction', async () => {
    const [, batch] = await openApproved(`email = 'ada@example.com'`, 'email');
    for (const call of [`reject('${batch}')`, `approve('${batch}')`]) {
      const decide = team.mallory.sql(`begin isolation level repeatable read; select sync.${call}`);
      await expect(decide, call).rejects.toThrow('does not see what is sent meanwhile');
      await team.mallory.sql('rollback');
    }
  });
});
