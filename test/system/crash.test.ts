import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { runMusterd, startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

/** A process that dies between sending a push and learning what became of it. */
describe('a run that is killed in the middle', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const environment = (quietPeriodMs: string) => ({
    ...stage.emulator.environment,
    DATABASE_URL: stage.url,
    MUSTERD__rate__perMinute: '100000',
    MUSTERD__push__quietPeriodMs: quietPeriodMs,
  });
  const aUser = () => {
    const user = stage.emulator.team.users().find(({ email, last }) => email !== null && /^\S+$/.test(last));
    if (user === undefined) throw new Error('no such user');
    return user;
  };

  /** Runs `musterd reconcile`, and kills it with SIGKILL while the update is before or after its effect. */
  const killAtUpdate = async (when: 'before' | 'after') => {
    let reached = false;
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const unhook = stage.emulator[when]({ path: '/v1/users/update' }, async () => {
      reached = true;
      await gate;
    });
    const running = startMusterd(['reconcile'], environment('600000'));
    await eventually('the update reaches the service', () => reached);
    running.process.kill('SIGKILL');
    expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
    return { release, unhook };
  };

  it('finds its push applied, and confirms it at once without sending it again', async () => {
    stage = await createStage();
    await stage.run();
    const { id, last } = aUser();
    await stage.sql(
      `update mirror.users set first_name = 'Robin', email = 'robin@example.com' where id = ${id}`,
    );
    const { release, unhook } = await killAtUpdate('after');
    release();
    unhook();
    expect(await stage.sql(`select state, outcome from sync.changes where kind = 'push'`)).toEqual([
      ['open', '{}'],
    ]);
    stage.emulator.clearRequests();
    const next = await runMusterd(['reconcile'], environment('600000'));
    expect(next).toMatchObject({ code: 0 });
    expect(stage.updates()).toEqual([]);
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Robin', last, email: 'robin@example.com' });
    expect(await stage.sql(`select first_name, last_name, email from mirror.users where id = ${id}`)).toEqual(
      [['Robin', last, 'robin@example.com']],
    );
    expect(
      await stage.sql(`select state, outcome ->> 'email' as email from sync.changes where kind = 'push'`),
    ).toEqual([['closed', 'confirmed']]);
    expect(await stage.sql('select outcome, reasons[1] from sync.runs order by run_id')).toEqual([
      ['complete', ''],
      ['failed', 'the process ended before the run did'],
      ['complete', ''],
    ]);
  });

  it('finds its push not applied, waits for the quiet period, and only then sends it again', async () => {
    stage = await createStage();
    await stage.run();
    const { id } = aUser();
    await stage.sql(`update mirror.users set email = 'robin@example.com' where id = ${id}`);
    const { unhook } = await killAtUpdate('before');
    unhook();
    stage.emulator.clearRequests();
    expect(await runMusterd(['reconcile'], environment('600000'))).toMatchObject({ code: 1 });
    expect(stage.updates()).toEqual([]);
    expect(await stage.sql('select state from report.pending')).toEqual([['sent']]);
    expect(await runMusterd(['reconcile'], environment('0'))).toMatchObject({ code: 0 });
    expect(stage.updates()).toEqual([{ id, email: 'robin@example.com' }]);
    expect(stage.emulator.team.user(id).email).toBe('robin@example.com');
    expect(
      await stage.sql(`select outcome from sync.changes where kind = 'push' order by change_id`),
    ).toEqual([['{"email":"unanswered"}'], ['{"email":"confirmed"}']]);
  });
});
