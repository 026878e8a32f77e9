import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLease } from '../../src/mirror/lease.ts';
import { beginRun, finishRun } from '../../src/mirror/runs.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the record of a run', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.close());

  it('is begun by whoever has the lease, and a process that lost it leaves the other run alone', async () => {
    const { db } = database;
    const stalled = await takeLease(db, 'default', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() - interval '1 s'`.execute(db.kysely);
    const lease = await takeLease(db, 'default', { ttlMs: 60_000 });
    const runId = await beginRun(db, lease, 'reconcile', ['users']);
    await expect(beginRun(db, stalled, 'reconcile', ['users'])).rejects.toMatchObject({ code: 'lease-lost' });
    const result = {
      outcome: 'complete',
      reasons: [],
      counts: {},
      waiting: 0,
      requests: 1,
      requestIds: [],
    } as const;
    await finishRun(db, runId, result);
    const runs = await sql`select run_id, outcome, requests from sync.runs`.execute(db.kysely);
    expect(runs.rows).toEqual([{ run_id: runId, outcome: 'complete', requests: 1 }]);
    const due = await sql`select outcome, failures from sync.due`.execute(db.kysely);
    expect(due.rows).toEqual([{ outcome: 'complete', failures: 0 }]);
    await lease.release();
    await stalled.release();
  });

  it('of a process that died is closed by the next run', async () => {
    const { db } = database;
    const lease = await takeLease(db, 'died', { ttlMs: 60_000 });
    const first = await beginRun(db, lease, 'reconcile', ['users']);
    const second = await beginRun(db, lease, 'reconcile', ['users']);
    const { rows } = await sql`
      select run_id, outcome, reasons from sync.runs where team = 'died' order by run_id`.execute(db.kysely);
    expect(rows).toEqual([
      { run_id: first, outcome: 'failed', reasons: ['the process ended before the run did'] },
      { run_id: second, outcome: 'running', reasons: [] },
    ]);
    await lease.release();
  });
});
