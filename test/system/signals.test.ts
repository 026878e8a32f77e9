import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { MUSTERD } from '../support/built.ts';
import { eventually } from '../support/eventually.ts';
import { holdRequest } from '../support/hold-request.ts';
import { type Running, runMusterd, startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const stoppedInJson = expect.stringMatching(/^\{\s*"error": \{\s*"code": "stopped"/) as string;
let stage: Stage;
afterEach(() => stage.close());

/** R3 */
describe('a second signal', () => {
  /** A run that waits for the answer to an update, which took effect and is answered only after `release`. */
  const startAndHang = async (args: readonly string[]) => {
    const held = holdRequest(stage.emulator, '/v1/users/update', { when: 'after' });
    const running = startMusterd(args, stage.env);
    await held.reached();
    return { running, release: held.letGo };
  };

  it.each([
    { command: ['daemon'], first: 'SIGTERM', second: 'SIGTERM', said: '' },
    { command: ['reconcile', '--json'], first: 'SIGINT', second: 'SIGTERM', said: stoppedInJson },
  ] as const)(
    'ends $command at once ($first, then $second), and the next run confirms the open push without sending it again (R3)',
    async ({ command, first, second, said }) => {
      stage = await createStage();
      await stage.run();
      const { id } = stage.userAt();
      await stage.sql(`update mirror.users set email = 'robin@example.com' where id = ${id}`);
      const { running, release } = await startAndHang(command);
      let ended = false;
      void running.ended.then(() => {
        ended = true;
      });
      running.process.kill(first);
      // Two of one kind that are sent at once can arrive as one. The answer never comes, so that the first
      // alone ends nothing.
      await eventually('it ends', () => {
        if (!ended) running.process.kill(second);
        return ended;
      });
      expect(await running.ended).toMatchObject({ code: 1, signal: null, stdout: said });
      release();
      expect(await stage.sql(`select state, outcome from sync.changes where kind = 'push'`)).toEqual([
        ['open', '{}'],
      ]);
      stage.emulator.clearRequests();
      expect(await runMusterd(['reconcile'], stage.env)).toMatchObject({ code: 0 });
      expect(stage.updates()).toEqual([]);
      expect(await stage.sql(`select state, outcome from sync.changes where kind = 'push'`)).toEqual([
        ['closed', '{"email":"confirmed"}'],
      ]);
      expect(stage.emulator.team.user(id).email).toBe('robin@example.com');
    },
  );
});

describe('SIGTERM while a command waits for a database lock', () => {
  it('ends the command with the code "stopped" once the wait for the lock is over', async () => {
    stage = await createStage();
    await stage.run();
    await stage.db.transaction(async (tx) => {
      await sql`lock table mirror.user_lookups`.execute(tx);
      const running = startMusterd(['verify', '--json'], stage.env);
      const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await eventually('it waits', async () => (await stage.sql(`select pid ${waiting}`)).length === 1);
      running.process.kill('SIGTERM');
      await stage.sql(`select pg_cancel_backend(pid) ${waiting}`);
      const { code, stdout } = await running.ended;
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { error: { code: 'stopped' } }]);
    });
  });
});

/** R13 */
describe('a closed pipe for stdout and stderr', () => {
  const startUnread = async (...args: readonly string[]): Promise<Running> => {
    const running = startMusterd(args, { ...stage.env, MUSTERD__schedule__users: '* * * * * *' });
    for (const stream of [running.process.stdout, running.process.stderr])
      if (stream !== null) await once(stream.destroy(), 'close');
    return running;
  };

  it('does not disturb musterd reconcile, which exits 0, completes its run and releases its lease (R13)', async () => {
    stage = await createStage();
    const running = await startUnread('reconcile', '--json');
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
    expect(await stage.sql('select outcome from sync.runs')).toEqual([['complete']]);
    expect(await stage.sql('select count(*) from sync.leases')).toEqual([['0']]);
  });

  it('does not end a daemon, which continues its runs (R13)', async () => {
    stage = await createStage();
    const { process: child, ended } = await startUnread('daemon');
    await eventually('three runs', async () => (await stage.runs(`outcome = 'complete'`)) >= 3);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, signal: null });
  });
});

/** R13: a device that takes no byte, as a disk without room. */
it.skipIf(!existsSync('/dev/full')).each([
  { output: 'stderr', code: 0 },
  { output: 'stdout', code: 1 },
] as const)(
  'musterd completes a run if $output is on a full disk, and exits with $code (R13)',
  async ({ output, code }) => {
    stage = await createStage();
    const device = openSync('/dev/full', 'w');
    try {
      const child = spawn(process.execPath, [MUSTERD, 'reconcile'], {
        env: { PATH: process.env['PATH'] ?? '', ...stage.env },
        stdio: ['ignore', output === 'stdout' ? device : 'ignore', output === 'stderr' ? device : 'ignore'],
      });
      expect((await once(child, 'close'))[0]).toBe(code);
    } finally {
      closeSync(device);
    }
    expect(await stage.sql('select outcome from sync.runs')).toEqual([['complete']]);
    expect(await stage.sql('select count(*) from sync.leases')).toEqual([['0']]);
  },
);
