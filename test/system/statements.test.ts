import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/database.ts';
import { scheduledGroups } from '../../src/model/run-group.ts';
import { runReconcile } from '../../src/runs/reconcile-team.ts';
import { countStatements, type SentStatements } from '../support/sent-statements.ts';
import { createStage, type Stage } from './stage.ts';

const log = createLog({ level: 'silent' });

/** What is sent to Postgres, by kind. A transaction is begun and given its settings in one round trip. */
function tally(sent: readonly string[]) {
  const of = (pattern: RegExp) => sent.filter((text) => pattern.test(text)).length;
  // Places in the pace are taken in blocks, a transaction each: how many depends on how long things take.
  const blocks = of(/rate_limits/);
  return {
    statements: sent.length - 3 * blocks,
    transactions: of(/^begin/) - blocks,
    leaseWrites:
      of(/(?:insert into|update|delete from) "?sync"?\."?leases/) - of(/^with mine as materialized/),
  };
}

describe('what a run asks of Postgres', () => {
  let stage: Stage;
  let sent: SentStatements;
  let db: Database;
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 500, tags: 25, fields: 12 } });
    await stage.run();
    await stage.run();
    sent = await countStatements(stage.url);
    db = createDatabase({ url: sent.url, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await db.close();
    await sent.close();
    await stage.close();
  });

  it('is counted where nothing has changed', async () => {
    stage.emulator.clearRequests();
    sent.take();
    const report = await runReconcile(db, stage.config, 'reconcile', { log, groups: scheduledGroups });
    expect(report).toMatchObject({ outcome: 'complete', counts: { users_read: 500 } });
    const all = sent.take();
    expect({ requests: stage.emulator.requests.length, ...tally(all) }).toEqual({
      requests: 7,
      statements: 26,
      transactions: 6,
      leaseWrites: 2,
    });
  });
});
