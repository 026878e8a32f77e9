import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { countStatements } from '../support/sent-statements.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

describe('musterd daemon', () => {
  let stage: Stage;
  const daemons: DaemonHere[] = [];
  const listeners: (() => Promise<void>)[] = [];
  const open = async (options: StageOptions = {}) => {
    stage = await createStage({ emulator: { users: 30, tags: 5, fields: 3 }, ...options });
  };
  afterEach(async () => {
    await Promise.allSettled(daemons.splice(0).map((daemon) => daemon.stop()));
    for (const close of listeners.splice(0)) await close();
    await stage.close();
  });
  const start = (more: Readonly<Record<string, string>> = {}) => {
    const daemon = startDaemon({ ...stage.env, MUSTERD__log__level: 'debug', ...more });
    daemons.push(daemon);
    return daemon;
  };
  const runs = (where?: string) => stage.runs(where);
  const firstRun = () =>
    eventually(
      'the first run is complete',
      async () => (await runs(`groups @> '{users,listings,counts}' and outcome = 'complete'`)) === 1,
    );
  /** How often a daemon asks the database, by way of this url, what is due. */
  const listenIn = async () => {
    const sent = await countStatements(stage.url);
    listeners.push(() => sent.close());
    return {
      url: sent.url,
      looks: async (times: number) => {
        sent.take();
        let looked = 0;
        await eventually(`it has looked ${times} times`, () => {
          looked += sent.take().filter((text) => text.includes('order by min(due_at)')).length;
          return looked >= times;
        });
      },
    };
  };
  const emailOf = (id: number) => stage.emulator.team.user(id).email;

  it('sends the new email of a user, then the old email for another user, although the cached team list has the old email', async () => {
    await open({ emulator: { users: 30, variants: { 'member-extras': 'email-phone' } } });
    start();
    await firstRun();
    const [giver, taker] = [stage.userAt(0), stage.userAt(1)];
    stage.emulator.clearRequests();
    await stage.sql(`update mirror.users set email = case id when ${giver.id} then 'new@example.com' else '${giver.email}' end
      where id in (${giver.id}, ${taker.id})`);
    await eventually('both are sent', () => stage.updates().length === 2);
    expect(stage.updates()).toEqual([
      { id: giver.id, email: 'new@example.com' },
      { id: taker.id, email: giver.email },
    ]);
    expect(await stage.sql('select field from report.held')).toEqual([]);
  });

  it('sends an edit before the next scheduled run, and updates no other user', async () => {
    await open();
    const daemon = start();
    await firstRun();
    const { id } = stage.userAt();
    for (const turn of [1, 2, 3]) {
      // A push may leave at once.
      await stage.sql(
        `update sync.due set started_at = started_at - interval '1 hour' where run_group = 'edits'`,
      );
      stage.emulator.clearRequests();
      await stage.sql(`update mirror.users set email = 'turn${turn}@example.com' where id = ${id}`);
      await eventually('the edit is on the service', () => emailOf(id) === `turn${turn}@example.com`);
      await eventually(
        'the run is recorded',
        async () => (await runs(`groups = '{edits}' and outcome = 'complete'`)) === turn,
      );
      const asked = stage.emulator.requests.map(({ method, path }) => `${method} ${path}`);
      expect(asked.pop()).toBe('POST /v1/users/update');
      // What was read more than a second ago by then is read again.
      expect(new Set(asked)).toEqual(new Set(['GET /v1/users/get']));
      expect(stage.updates().map((user) => user['id'])).toEqual([id]);
    }
    expect(await daemon.stop()).toBe(0);
  });

  it('sends an edit whose notification was lost once its listening connection is back', async () => {
    await open();
    start();
    await firstRun();
    const { id } = stage.userAt();
    await stage.sql(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'musterd listen' and datname = current_database();
       update mirror.users set email = 'unheard@example.com' where id = ${id}`,
    );
    await eventually('the edit is on the service', () => emailOf(id) === 'unheard@example.com');
  });

  it('starts only one run after several scheduled times have passed during a run (R7)', async () => {
    await open();
    const gate = Promise.withResolvers<void>();
    const unhook = stage.emulator.before({ path: '/v1/contacts/count' }, async () => {
      await gate.promise;
    });
    const { url, looks } = await listenIn();
    start({ DATABASE_URL: url, MUSTERD__schedule__users: '* * * * * *' });
    await eventually('the first run has begun', async () => (await runs()) === 1);
    // It looks for what is due whenever a time comes up.
    await looks(2);
    expect(await runs()).toBe(1);
    const next = Promise.withResolvers<void>();
    const unhookNext = stage.emulator.before({ path: '/v1/team' }, async () => {
      await next.promise;
    });
    unhook();
    gate.resolve();
    await eventually('one run follows', async () => (await runs()) === 2);
    await looks(2);
    expect(await runs()).toBe(2);
    unhookNext();
    next.resolve();
  });

  it('stops with exit code 0 even if its listening connection hangs', async () => {
    await open();
    const daemon = start({ MUSTERD__schedule__counts: '* * * * * *' });
    await firstRun();
    const pid = await eventually('it listens', async () => {
      const [[found] = []] = await stage.sql(
        `select pid from pg_stat_activity where application_name = 'musterd listen' and datname = current_database()`,
      );
      return found;
    });
    process.kill(Number(pid), 'SIGSTOP');
    try {
      expect(await daemon.stop()).toBe(0);
      expect(await runs(`outcome <> 'complete'`)).toBeLessThanOrEqual(1);
    } finally {
      process.kill(Number(pid), 'SIGCONT');
    }
  });

  it('fails with a hint at database.migrate if the shared queue is missing and database.migrate is false', async () => {
    await open();
    const daemon = start({ MUSTERD__daemon__queue: 'postgres', MUSTERD__database__migrate: 'false' });
    await expect(daemon.ended).rejects.toMatchObject({
      code: 'mirror',
      hint: expect.stringContaining('Start one daemon with database.migrate') as string,
    });
  });
});
