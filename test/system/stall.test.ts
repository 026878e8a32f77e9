import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../src/log.ts';
import { withRun } from '../../src/runs/sync/with-run.ts';
import { eventually } from '../support/eventually.ts';
import { holdRequest } from '../support/hold-request.ts';
import { startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

describe('a musterd process that is halted or crashes', () => {
  let stage: Stage;
  const environment = () => ({ ...stage.env, MUSTERD__push__quietPeriodMs: '0' });

  /** Halts it where none of its connections is inside a transaction, which would keep the lease's row locked. */
  const halt = async ({ process }: ReturnType<typeof startMusterd>) =>
    await eventually('it is halted between two transactions', async () => {
      process.kill('SIGSTOP');
      const busy = await stage.sql(`select 1 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`);
      if (busy.length > 0) process.kill('SIGCONT');
      return busy.length === 0;
    });
  const leases = async () => await stage.sql('select lease_id from sync.leases');

  it.each([
    ['before it applies a pull', '/v1/users/get', 1],
    ['between reading back and sending', '/v1/users/get', 2],
  ] as const)('commits and sends nothing if its lease expires while halted %s (R5)', async (_, path, nth) => {
    stage = await createStage({ emulator: { users: 12, tags: 1, fields: 1 } });
    await stage.run();
    const [pulled, pushed] = [stage.userAt(0), stage.userAt(1)];
    stage.emulator.team.editUser(pulled.id, { email: 'pulled@example.com' });
    await stage.sql(`update mirror.users set email = 'pushed@example.com' where id = ${pushed.id}`);
    stage.emulator.clearRequests();

    const hold = holdRequest(stage.emulator, path, { nth });
    const stalled = startMusterd(['reconcile'], environment());
    await hold.reached();
    await halt(stalled);
    // As if it were halted for as long as its lease lasts.
    await stage.sql('update sync.leases set expires_at = clock_timestamp()');
    hold.letGo();
    // Another run does it all meanwhile, and somebody edits again.
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    await stage.sql(`update mirror.users set email = 'newer@example.com' where id = ${pushed.id}`);
    const before = await stage.versions('mirror.users');
    stage.emulator.clearRequests();
    stalled.process.kill('SIGCONT');

    const { code, stderr } = await stalled.ended;
    expect(stderr).toContain('lost its lease');
    expect(code).toBe(1);
    expect(stage.updates()).toEqual([]);
    expect(await stage.versions('mirror.users')).toEqual(before);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
    expect(stage.emulator.team.user(pushed.id).email).toBe('newer@example.com');
  });
  afterEach(() => stage.close());

  it('requireLease throws once the lease has expired by the clock of the process itself (R5)', async () => {
    stage = await createStage({ emulator: { users: 2, tags: 0, fields: 0 } });
    const kind = { config: stage.config, command: 'reconcile', groups: [] } as const;
    await withRun(stage.db, kind, { log: createLog({ level: 'silent' }) }, async ({ mirror }) => {
      mirror.requireLease();
      const clock = vi.spyOn(performance, 'now').mockReturnValue(Number.MAX_SAFE_INTEGER);
      expect(() => mirror.requireLease()).toThrow('lost its lease');
      clock.mockRestore();
    });
  });

  it('exits 1 at an uncaught error, reports the error on stderr and in JSON, and releases its lease (R11)', async () => {
    stage = await createStage({ emulator: { users: 12, tags: 1, fields: 1 } });
    await stage.run();
    const hold = holdRequest(stage.emulator, '/v1/tags');
    const preload = `process.on('SIGUSR2',()=>setImmediate(()=>{throw new Error('nobody caught this')}))`;
    const running = startMusterd(['reconcile', '--json'], {
      ...environment(),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
    });
    await hold.reached();
    expect((await leases()).length).toBe(1);
    running.process.kill('SIGUSR2');
    await eventually('it says so', () => running.output().stderr.includes('nobody caught this'));
    hold.letGo();
    const { code, stdout } = await running.ended;
    const error = { code: 'unexpected', message: 'nobody caught this', hint: null };
    expect([code, JSON.parse(stdout)]).toEqual([1, { error }]);
    expect(await leases()).toEqual([]);
    expect(await stage.sql(`select count(*) from sync.runs where outcome = 'running'`)).toEqual([['0']]);
  });
});
