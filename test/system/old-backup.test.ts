import { beforeEach, describe, expect, it } from 'vitest';
import { backUp } from './agreed/back-up.ts';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();

/** D16: the rows of an old copy, put in place of newer ones. */
describe('a mirror restored from an old backup', () => {
  let stage: Stage;
  let [one, two]: readonly [number, number] = [0, 0];
  beforeEach(async () => {
    stage = await stages.open({ config: { push: { quietPeriodMs: 600_000 } } });
    const [a = 0, b = 0] = stage.emulator.team.users().flatMap(({ id, email }) => (email === null ? [] : id));
    [one, two] = [a, b];
  });
  const edit = (...ids: readonly number[]) =>
    stage.sql(`update mirror.users set email = id || '@example.com' where id in (${ids.join()})`);
  const emailOf = (id: number) => stage.emulator.team.user(id).email;
  const complete = { outcome: 'complete', waiting: 0 };
  /** Restores it, and runs: nobody is changed on the service. */
  const expectNothingSent = async (restore: () => Promise<void>, ...reports: readonly object[]) => {
    await restore();
    stage.emulator.clearRequests();
    const before = stage.emulator.team.users();
    for (const report of reports) expect(await stage.run()).toMatchObject(report);
    expect([stage.updates(), stage.emulator.team.users()]).toEqual([[], before]);
  };

  it('reverts nothing on the service, and pulls the newer values (D16)', async () => {
    const restore = await backUp(stage);
    await edit(one);
    stage.emulator.team.editUser(two, { phone: '15550155' });
    expect(await stage.run()).toMatchObject(complete);
    expect(emailOf(one)).toBe(`${one}@example.com`);
    await expectNothingSent(restore, complete);
    const mirrored = await stage.mirrored();
    expect(mirrored.get(one)).toContain(`${one}@example.com`);
    expect(mirrored.get(two)).toContain('15550155');
  });

  it('never repeats a push that was open in the backup, and records how this push ended (D16)', async () => {
    await edit(one, two);
    // The first update goes alone, the second after it; both are answered with an error and arrive later.
    stage.emulator.addFault({
      kind: 'late',
      answer: '504',
      requests: 1000,
      path: '/v1/users/update',
      times: 2,
    });
    const open = () => stage.sql(`select user_id from sync.changes where state = 'open' order by 1`);
    expect((await stage.run()).outcome).toBe('partial');
    expect(await open()).toEqual([[String(one)], [String(two)]]);
    const restore = await backUp(stage);
    stage.emulator.applyLateWrites();
    expect(await stage.run()).toMatchObject(complete);
    stage.emulator.team.editUser(two, { email: 'later@example.com' });
    expect(await stage.run()).toMatchObject(complete);
    // One is seen; the other may still be under way, for all that the backup knows.
    await expectNothingSent(restore, { outcome: 'partial' });
    expect(await open()).toEqual([[String(two)]]);
    const over = async () =>
      void (await stage.sql(
        `update sync.changes set sent_at = sent_at - interval '1 hour' where state = 'open'`,
      ));
    await expectNothingSent(over, { waiting: 1 });
    expect(
      await stage.sql(`select user_id, outcome ->> 'email' from sync.changes where kind = 'push' order by 1`),
    ).toEqual([
      [String(one), 'confirmed'],
      [String(two), 'changed'],
    ]);
  });
});
