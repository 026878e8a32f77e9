import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../service/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { holdRequest } from '../support/hold-request.ts';
import { createTlsGate } from '../support/tls-gate.ts';
import { ownFolder } from './own-folder.ts';
import { startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

describe('a musterd process that is halted or crashes', () => {
  let stage: Stage;
  const folder = ownFolder();
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
  ] as const)('neither commits nor sends if its lease expires in a halt %s (R5)', async (_, path, nth) => {
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

  it('sends no update after its lease ran out while it waited for a connection (R5)', async () => {
    stage = await createStage({ emulator: { users: 12, tags: 1, fields: 1 } });
    await stage.run();
    const [pushed] = stage.emulator.team.users().filter(({ email }) => email !== null);
    await stage.sql(`update mirror.users set email = 'pushed@example.com' where id = ${pushed?.id}`);
    stage.emulator.clearRequests();

    const authority = createAuthority();
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, authority.certPem);
    const { hostname: host, port } = new URL(stage.emulator.url);
    const gate = await createTlsGate({ host, port: Number(port) }, authority.issue({ host: '127.0.0.1' }));
    try {
      const hold = holdRequest(stage.emulator, '/v1/users/get', { nth: 2 });
      const stalled = startMusterd(['reconcile'], {
        ...environment(),
        MUSTERD_BASE_URL: `https://127.0.0.1:${gate.port}`,
        MUSTERD_CA_FILE: caFile,
        MUSTERD__lease__ttlMs: '4000',
      });
      await hold.reached();
      // The update is written down while nobody lets it in, and finds no connection when it is to leave.
      const written = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const editor = stage.db.transaction(async (tx) => {
        await sql`lock table sync.changes in share mode`.execute(tx);
        locked.resolve();
        await written.promise;
      });
      await locked.promise;
      hold.letGo();
      await eventually('it waits to write the update down', async () => {
        const rows = await stage.sql(
          `select 1 from pg_locks where relation = 'sync.changes'::regclass and not granted`,
        );
        return rows.length > 0;
      });
      gate.shut();
      gate.cut();
      written.resolve();
      await editor;
      await eventually('the update waits for its connection', () => gate.waiting() > 0);
      await halt(stalled);
      await eventually('its lease has run out', async () => {
        const rows = await stage.sql('select 1 from sync.leases where expires_at > clock_timestamp()');
        return rows.length === 0;
      });
      gate.open();
      stalled.process.kill('SIGCONT');
      const { code, stderr } = await stalled.ended;
      expect(stderr).toContain('lost its lease');
      expect(code).toBe(1);
      expect(stage.updates()).toEqual([]);
    } finally {
      await gate.close();
    }
  });

  it('exits 1 at an uncaught error, reports it on stderr and in JSON, and releases its lease (R11)', async () => {
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
