import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** A team is known by its id: who is on it may change as a whole. */
describe('a team of which more than half was replaced', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const present = async () =>
    (await stage.sql('select id from mirror.users where gone_at is null order by id')).map(([id]) =>
      Number(id),
    );

  it('is reconciled: new members are taken, edits are sent, and who left is gone after two runs', async () => {
    stage = await stages.open({
      emulator: { users: 3, tags: 2, fields: 1 },
      config: { absence: { confirmAfterMs: 0 } },
    });
    const [stays, ...gone] = stage.emulator.team.users();
    if (stays === undefined) throw new Error('nobody');
    const left = gone.map(({ id }) => id);
    for (const id of left) stage.emulator.team.removeUser(id);
    const came = [1, 2].map(
      (n) => stage.emulator.team.addUser({ first: 'New', last: `N${n}`, email: `n${n}@example.com` }).id,
    );
    await stage.sql(`update mirror.users set phone = '15550188' where id = ${stays.id}`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1, adopted: 2 } });
    expect(stage.emulator.team.user(stays.id).phone).toBe('15550188');
    expect(await present()).toEqual([stays.id, ...left, ...came].toSorted((a, b) => a - b));
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await present()).toEqual([stays.id, ...came].toSorted((a, b) => a - b));
  });
});
