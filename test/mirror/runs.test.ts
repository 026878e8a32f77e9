import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { readLearned } from '../../src/mirror/team/learned.ts';
import { takeLease, takeLeaseFor } from '../../src/mirror/team/lease.ts';
import { beginRun, finishRun } from '../../src/mirror/runs/runs.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { createRecord } from '../../src/runs/sync/run-record.ts';
import { useDatabase } from '../support/use-database.ts';

describe('the record of a run', () => {
  const database = useDatabase();

  const begin = (team: string) =>
    takeLeaseFor(database.db, team, { ttlMs: 60_000 }, (tx) => beginRun(tx, team, 'reconcile', ['users']));

  it('a second beginRun fails while the lease is held, and a second finishRun of a run changes nothing (D15)', async () => {
    const { db } = database;
    const stalled = await takeLease(db, 'default', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() - interval '1 s'`.execute(db.kysely);
    const {
      lease,
      result: { runId },
    } = await begin('default');
    await expect(begin('default')).rejects.toMatchObject({ code: 'lease-held' });
    const result = {
      outcome: 'complete',
      reasons: [],
      counts: {},
      waiting: null,
      requests: 1,
      endpoints: {},
      requestIds: [],
    } as const;
    const finish = () => db.transaction((tx) => finishRun(tx, runId, result));
    expect([(await finish()).isNoted, (await finish()).isNoted]).toEqual([true, false]);
    const runs = await sql`select run_id, outcome, requests from sync.runs`.execute(db.kysely);
    expect(runs.rows).toEqual([{ run_id: runId, outcome: 'complete', requests: 1 }]);
    const due = await sql`select outcome, failures from sync.due`.execute(db.kysely);
    expect(due.rows).toEqual([{ outcome: 'complete', failures: 0 }]);
    await lease.release();
    await stalled.release();
  });

  it('the next run records the outcome "failed" for a run whose process died', async () => {
    const { db } = database;
    const first = await begin('died');
    await first.lease.release();
    const second = await begin('died');
    const { rows } = await sql`
      select run_id, outcome, reasons from sync.runs where team = 'died' order by run_id`.execute(db.kysely);
    expect(rows).toEqual([
      { run_id: first.result.runId, outcome: 'failed', reasons: ['the process ended before the run did'] },
      { run_id: second.result.runId, outcome: 'running', reasons: [] },
    ]);
    await second.lease.release();
  });

  it('the end of a stalled run does not overwrite the facts that a later run has stored', async () => {
    const { db } = database;
    const stalled = await begin('learns');
    await sql`update sync.leases set expires_at = clock_timestamp() where team = 'learns'`.execute(db.kysely);
    const next = await begin('learns');
    for (const [value, { lease, result }] of [
      ['newer', next],
      ['older', stalled],
    ] as const)
      await createRecord({
        config: { team: 'learns' } as Config,
        begun: { lease, ...result },
        groups: ['users'],
        log: createLog({ level: 'silent' }),
        notes: createRunNotes(),
        learned: () => [{ topic: 'seen', value }],
      }).end({ id: 41n, name: null, listSize: null }, false);
    expect((await readLearned(db.kysely, 'learns', 'seen'))?.value).toBe('newer');
  });
});
