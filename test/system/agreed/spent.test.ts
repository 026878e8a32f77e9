import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, editsOfEachKind, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const update = { path: '/v1/users/update' } as const;

describe('what somebody agreed to is sent once', () => {
  let team: Team;
  afterEach(() => team.close());
  const openApproved = async (field: string, values: string) => {
    team = await teams.open();
    const [id = 0] = team.ids;
    await team.bob.edit(id, values);
    await team.run();
    await team.carol.approve(await team.batchOf(id, field));
    team.emulator.clearRequests();
    return id;
  };
  const resolve = (id: number, field: string, words: string) =>
    team.musterd('resolve', String(id), field, '--take', 'mirror', '--if', words, '--as', 'Dora');

  it.each(editsOfEachKind)(
    '$field, answered to no effect: it is held',
    async ({ field, values, sent, words }) => {
      const id = await openApproved(field, values);
      const ignore = () =>
        team.emulator.addFault({ kind: 'partial-apply', keep: 100, skip: field, ...update });
      ignore();
      expect((await team.musterd('reconcile')).code).toBe(3);
      expect(team.updates()).toEqual([{ id, ...sent }]);
      expect(await team.held()).toEqual([[String(id), field, 'ineffective']]);
      await team.run();
      expect(team.updates()).toHaveLength(1);
      // Agreed to again, it is sent again, and once.
      ignore();
      expect(await resolve(id, field, words)).toMatchObject({ code: 0 });
      for (const _ of [1, 2]) await team.run();
      expect(team.updates()).toHaveLength(2);
      expect(await team.held()).toEqual([[String(id), field, 'ineffective']]);
      await resolve(id, field, words);
      await team.run();
      expect(await team.held()).toEqual([]);
      expect(await team.sql('select from report.pending')).toEqual([]);
    },
  );

  it('also what was in a request that was refused, part by part', async () => {
    team = await teams.open();
    const [a = 0, b = 0, c = 0] = team.ids;
    for (const id of [a, b, c]) await team.bob.edit(id, `email = 'new${id}@example.com'`);
    await team.bob.edit(b, `email = 'a@b@example.com', phone = '15550100'`);
    await team.run();
    const batches = await team.sql('select distinct batch from report.held');
    for (const [batch = ''] of batches) await team.carol.approve(batch);
    team.emulator.clearRequests();
    await team.run();
    expect(await team.held()).toEqual([[String(b), 'email', 'refused']]);
    expect(team.emulator.team.user(a).email).toBe(`new${a}@example.com`);
    expect(team.emulator.team.user(b).phone).toBe('15550100');
    expect(team.emulator.team.user(c).email).toBe(`new${c}@example.com`);
    const sent = team.updates().length;
    await team.run();
    expect(team.updates()).toHaveLength(sent);
    expect(await team.sql(`select decision from sync.held_fields where decision is not null`)).toEqual([]);
  });
});
