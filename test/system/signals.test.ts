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

let stage: Stage;
afterEach(() => stage.close());

/** R3 */
describe('a second signal', () => {
  /** A run that waits for the answer to an update, which took effect and is answered only after `release`. */
  const startAndHang = async (command: string) => {
    const held = holdRequest(stage.emulator, '/v1/users/update', { when: 'after' });
    const running = startMusterd([command], stage.env);
    await held.reached();
    return { running, release: held.letGo };
  };

  it.each([
    { command: 'daemon', first: 'SIGTERM', second: 'SIGTERM' },
    { command: 'reconcile', first: 'SIGINT', second: 'SIGTERM' },
  ] as const)(
    'ends $command at once ($first, then $second), and the next run confirms the open push without sending it again',
    async ({ command, first, second }) => {
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
      expect(await running.ended).toMatchObject({ code: 1, signal: null });
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

describe('a signal while somebody holds a lock', () => {
  it('ends a command after its current wait for a lock', async () => {
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
describe('a reader of the output that has gone away', () => {
  type Output = 'stdout' | 'stderr';

  const startUnread = async (args: readonly string[], outputs: readonly Output[]): Promise<Running> => {
    const running = startMusterd(args, { ...stage.env, MUSTERD__schedule__users: '* * * * * *' });
    await Promise.all(
      outputs.map(async (output) => {
        const stream = running.process[output];
        stream?.destroy();
        if (stream !== null) await once(stream, 'close');
      }),
    );
    return running;
  };

  it.each([{ args: ['reconcile', '--json'], outputs: ['stdout', 'stderr'] }] as const)(
    'does not keep $args from its work when $outputs is closed',
    async ({ args, outputs }) => {
      stage = await createStage();
      await stage.run();
      const { id } = stage.userAt();
      await stage.sql(`update mirror.users set email = 'robin@example.com' where id = ${id}`);
      const running = await startUnread(args, outputs);
      expect(await running.ended).toMatchObject({ code: 0, signal: null });
      expect(stage.emulator.team.user(id).email).toBe('robin@example.com');
      expect(await stage.sql('select outcome from sync.runs order by run_id')).toEqual([
        ['complete'],
        ['complete'],
      ]);
      expect(await stage.sql('select count(*) from sync.leases')).toEqual([['0']]);
    },
  );

  it('does not end a daemon', async () => {
    stage = await createStage();
    const { process: child, ended } = await startUnread(['daemon'], ['stdout', 'stderr']);
    await eventually('three runs', async () => (await stage.runs(`outcome = 'complete'`)) >= 3);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, signal: null });
  });
});

/** R13: a device that takes no byte, as a disk without room. */
describe.skipIf(!existsSync('/dev/full'))('an output without room', () => {
  /** The exit status of a run whose outputs `full` go there. */
  const runWithout = async (full: readonly ('stdout' | 'stderr')[]) => {
    const device = openSync('/dev/full', 'w');
    const to = (output: 'stdout' | 'stderr') => (full.includes(output) ? device : 'ignore');
    try {
      const child = spawn(process.execPath, [MUSTERD, 'reconcile'], {
        env: { PATH: process.env['PATH'] ?? '', ...stage.env },
        stdio: ['ignore', to('stdout'), to('stderr')],
      });
      const [code]: unknown[] = await once(child, 'close');
      return code;
    } finally {
      closeSync(device);
    }
  };

  it('for the log keeps no run from its work', async () => {
    stage = await createStage();
    expect(await runWithout(['stderr'])).toBe(0);
    expect(await stage.sql('select outcome from sync.runs')).toEqual([['complete']]);
    expect(await stage.sql('select count(*) from sync.leases')).toEqual([['0']]);
  });

  it('for the result is a failure, though the run is complete', async () => {
    stage = await createStage();
    expect(await runWithout(['stdout'])).toBe(1);
    expect(await stage.sql('select outcome from sync.runs')).toEqual([['complete']]);
  });
});
