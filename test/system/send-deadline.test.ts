import { afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults.ts';
import { createStage, type Stage } from './stage.ts';

/** An update that leaves late must not overwrite what somebody set in the web app since it was prepared. */
describe('a push that has to wait before it leaves', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  /** Edits a user's email here, and on the service right before the so-manieth read of users. */
  const editBothSides = async (read: number, atPreRead: () => Promise<void>) => {
    await stage.run();
    const id = stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${id}`);
    let reads = 0;
    stage.emulator.before({ path: '/v1/users/get', times: 'always' }, async () => {
      reads += 1;
      if (reads === 2) await atPreRead();
      if (reads === read) stage.emulator.team.editUser(id, { email: 'there@example.com' });
    });
    return id;
  };

  const expectConflict = async (id: number) => {
    expect(stage.emulator.team.user(id).email).toBe('there@example.com');
    expect(
      await stage.sql(
        `select field, reason, mirror_value, service_value from sync.held_fields where user_id = ${id}`,
      ),
    ).toEqual([['email', 'conflict', 'here@example.com', 'there@example.com']]);
    expect(await stage.sql(`select count(*) from sync.changes where state = 'open'`)).toEqual([['0']]);
  };

  it('waits for the next run after a 429, which reads and merges it again', async () => {
    stage = await createStage();
    const id = await editBothSides(3, async () => {
      for (const fault of parseFaults(['too-many-requests,path=/v1/users/update,times=1,retry-after=1']))
        stage.emulator.addFault(fault);
      await Promise.resolve();
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    await expectConflict(id);
  });

  it('waits for the next run if the wait for the shared rate was longer than the deadline', async () => {
    stage = await createStage({
      config: { rate: { perMinute: 600, share: 1 }, push: { quietPeriodMs: 0 } },
    });
    await stage.run();
    const id = stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${id}`);
    let reads = 0;
    const unhook = stage.emulator.before({ path: '/v1/users/get', times: 'always' }, async () => {
      reads += 1;
      if (reads === 2)
        await stage.sql(
          `update sync.learned set learned_at = clock_timestamp() + interval '8 s' where topic = 'pace'`,
        );
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    unhook();
    expect(stage.updates()).toEqual([]);
    expect(
      await stage.sql(`select state, outcome, sent_at is null from sync.changes where kind = 'push'`),
    ).toEqual([['closed', '{"email":"unsent"}', 'true']]);
    stage.emulator.team.editUser(id, { email: 'there@example.com' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    await expectConflict(id);
  });
});

describe('the quiet period of a push without an answer', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  it('counts from when it last left, not from when it was written down', async () => {
    stage = await createStage({ config: { push: { quietPeriodMs: 600_000 } } });
    await stage.run();
    const id = stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${id}`);
    for (const fault of parseFaults(['status,code=502,effect=none,path=/v1/users/update,times=1']))
      stage.emulator.addFault(fault);
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    stage.emulator.clearRequests();
    const earlier = (column: string) =>
      stage.sql(`update sync.changes set ${column} = ${column} - interval '1 hour' where state = 'open'`);
    expect(await stage.sql(`select sent_at >= opened_at from sync.changes where state = 'open'`)).toEqual([
      ['true'],
    ]);
    await earlier('opened_at');
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(stage.updates()).toEqual([]);
    await earlier('sent_at');
    await stage.run();
    expect(stage.updates()).toEqual([{ id, email: 'here@example.com' }]);
  });

  it('is not waited for where nothing ever left: a run that died before that costs no time', async () => {
    stage = await createStage({ config: { push: { quietPeriodMs: 600_000 } } });
    await stage.run();
    const id = stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${id};
      insert into sync.changes (team_id, user_id, run_id, kind, state, new)
      select team_id, id, 1, 'push', 'open', '{"email": "here@example.com"}' from mirror.users where id = ${id}`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', reasons: [], counts: { pushed: 1 } });
    expect(stage.updates()).toEqual([{ id, email: 'here@example.com' }]);
    expect(
      await stage.sql(
        `select state, outcome ->> 'email' from sync.changes where kind = 'push' order by change_id`,
      ),
    ).toEqual([
      ['closed', 'unsent'],
      ['closed', 'confirmed'],
    ]);
  });
});
