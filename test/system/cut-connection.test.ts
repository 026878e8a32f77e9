import { afterEach, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { createPostgresProxy } from '../support/postgres-proxy.ts';
import { createSmallStage, editBothSides, expectRepaired } from './edit-both-sides.ts';
import type { Stage } from './stage.ts';

/** D1: no message of the protocol is the last one that a run can bear to send or to receive. */
describe('a connection to Postgres that is cut in the middle of a run', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const silent = createLog({ level: 'silent' });
  const cuts = 48;

  /** One run by way of a proxy. */
  const runThrough = async (cutAfter?: number) => {
    const url = new URL(stage.url);
    const proxy = await createPostgresProxy({ host: url.hostname, port: Number(url.port) }, cutAfter);
    url.port = String(proxy.port);
    const db = createDatabase({ url: url.href, address: stage.db.address, applicationName: 'musterd test' });
    try {
      const outcome = await runReconcile(db, stage.config, 'reconcile', { log: silent }).then(
        (report) => report.outcome,
        (error: unknown) => (error instanceof Error ? error.name : 'unknown'),
      );
      return { outcome, messages: proxy.messages(), cut: proxy.cut() };
    } finally {
      await db.close();
      await proxy.close();
    }
  };

  it('costs that run at most: the next one repairs everything, and sends nothing twice', async () => {
    stage = await createSmallStage();
    await editBothSides(stage, 0);
    const whole = await runThrough();
    expect(whole).toMatchObject({ outcome: 'complete', cut: false });
    expect(whole.messages).toBeGreaterThan(4 * cuts);

    const outcomes: string[] = [];
    for (let cut = 1; cut <= cuts; cut += 1) {
      const cutAfter = Math.ceil((whole.messages * cut) / cuts) - (cut % 3);
      const update = await editBothSides(stage, cut);
      const { outcome, cut: happened } = await runThrough(cutAfter);
      const at = `cut after message ${cutAfter} of ${whole.messages}: ${outcome}`;
      if (happened) outcomes.push(outcome);
      // A process that ended would be known to be gone; this one is still here.
      await stage.sql('delete from sync.leases');
      expect(await stage.run(), at).toMatchObject({ outcome: 'complete', waiting: 0 });
      await expectRepaired(stage, update, at);
    }
    expect(outcomes.length).toBeGreaterThan(0.8 * cuts);
    expect(outcomes.filter((outcome) => outcome !== 'complete').length).toBeGreaterThan(0.7 * cuts);
  });
});
