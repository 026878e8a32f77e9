import { afterEach, describe, expect, it } from 'vitest';
import { alsoAt } from '../support/also-at.ts';
import { createPostgresProxy } from '../support/postgres-proxy.ts';
import { createSmallStage, editBothSides, expectRepaired } from './edit-both-sides.ts';
import { type Running, runMusterd, startMusterd } from './run-musterd.ts';
import type { Stage } from './stage.ts';

/** R1 */
describe('a process that is killed', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const environment = () => ({
    ...stage.emulator.environment,
    DATABASE_URL: stage.url,
    MUSTERD__rate__perMinute: '100000',
    MUSTERD__push__quietPeriodMs: '0',
  });

  /** SIGKILL when the so-manieth request had its effect, before it is answered. */
  const killAt = async (at: number) => {
    let running: Running | undefined;
    const unhook = stage.emulator.after({ at }, async () => {
      running?.process.kill('SIGKILL');
      await running?.ended;
    });
    running = startMusterd(['reconcile'], environment());
    const ended = await running.ended;
    unhook();
    return ended;
  };

  it('leaves what the next run makes whole, whichever request it was', async () => {
    stage = await createSmallStage();
    await editBothSides(stage, 0);
    expect(await runMusterd(['reconcile'], environment())).toMatchObject({ code: 0 });
    const paths = stage.emulator.requests.map(({ path }) => path);
    expect(paths).toContain('/v1/users/update');
    expect(paths.length).toBeGreaterThanOrEqual(8);
    for (const [index, path] of paths.entries()) {
      const update = await editBothSides(stage, index + 1);
      const at = `killed after request ${index + 1}, ${path}`;
      expect(await killAt(index + 1), at).toMatchObject({ code: null, signal: 'SIGKILL' });
      expect(await stage.run(), at).toMatchObject({ outcome: 'complete', waiting: 0 });
      await expectRepaired(stage, update, at);
    }
  });

  /** A run by way of a proxy; SIGKILL once so many messages went between it and Postgres. */
  const killAfter = async (messages?: number) => {
    const url = new URL(stage.url);
    let running: Running | undefined;
    const proxy = await createPostgresProxy({ host: url.hostname, port: Number(url.port) }, messages, () =>
      running?.process.kill('SIGKILL'),
    );
    url.port = String(proxy.port);
    await alsoAt(stage.db, url.href);
    let atUpdate = 0;
    const unhook = stage.emulator.after({ path: '/v1/users/update' }, () => {
      atUpdate = proxy.messages();
    });
    try {
      running = startMusterd(['reconcile'], { ...environment(), DATABASE_URL: url.href });
      return { ...(await running.ended), messages: proxy.messages(), atUpdate };
    } finally {
      unhook();
      await proxy.close();
    }
  };

  it('leaves what the next run makes whole, also between any two statements', async () => {
    stage = await createSmallStage();
    await editBothSides(stage, 0);
    const { code, messages: all, atUpdate } = await killAfter();
    expect(code).toBe(0);
    // Here and there, and around the update: written down, marked as sent, answered, recorded.
    const spread = [0.2, 0.4, 0.8].map((share) => Math.floor(all * share));
    const close = [-40, -8, 4, 24].map((offset) => atUpdate + offset);
    for (const [index, messages] of [...spread, ...close].entries()) {
      const update = await editBothSides(stage, index + 1);
      const at = `killed after message ${messages} of ${all}, the update at ${atUpdate}`;
      expect(await killAfter(messages), at).toMatchObject({ code: null, signal: 'SIGKILL' });
      expect(await stage.run(), at).toMatchObject({ outcome: 'complete', waiting: 0 });
      await expectRepaired(stage, update, at);
    }
  });
});
