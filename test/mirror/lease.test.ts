import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/database.ts';
import { fenced, takeLease, underLease } from '../../src/mirror/lease.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('the lease on $name', (server) => {
  let database: TestDatabase<unknown>;
  let other: Database<unknown>;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
    other = createDatabase<unknown>({ url: database.url, applicationName: 'musterd test' });
  });
  afterAll(async () => {
    await other.close();
    await database.close();
  });

  /** How many statements on `sync.leases` wait for a lock. */
  const waiting = async () => {
    const { rows } = await sql<{ count: bigint }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%sync.leases%'
        and pid <> pg_backend_pid()`.execute(other.kysely);
    return Number(rows[0]?.count ?? 0n);
  };
  const expiry = async (team: string) => {
    const { rows } = await sql<{ left_ms: number }>`
      select (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left_ms
      from sync.leases where team = ${team}`.execute(other.kysely);
    return rows[0]?.left_ms ?? Number.NaN;
  };

  it('is not lost by a transaction of its own that takes longer than it lasts', async () => {
    const ttlMs = 400;
    const lease = await takeLease(database.db, 'long', { ttlMs });
    let thief: Promise<unknown> = Promise.resolve();
    await fenced(database.db, lease, async (tx) => {
      await sql`select 1`.execute(tx);
      await eventually('it has run out for all others', async () => (await expiry('long')) < 0);
      // Someone else finds it expired, and waits for the row.
      thief = takeLease(other, 'long', { ttlMs }).catch((error: unknown) => error);
      await eventually('the other run waits', async () => (await waiting()) > 0);
    });
    await lease.check();
    expect(await thief).toMatchObject({ code: 'lease-held' });
    await fenced(database.db, lease, () => Promise.resolve());
    await lease.release();
  });

  it('is known to last for as long as it was renewed, or extended by a transaction, without asking', async () => {
    const ttlMs = 1_000;
    const startMs = performance.now();
    const lease = await takeLease(database.db, 'known', { ttlMs });
    await eventually('it was renewed', () => {
      lease.require();
      return performance.now() > startMs + 2 * ttlMs;
    });
    const isOver = () => {
      try {
        lease.require();
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: 'lease-lost' });
        return true;
      }
    };
    await fenced(database.db, lease, async (tx) => {
      await sql`select 1`.execute(tx);
      const begunMs = performance.now();
      await eventually(
        'for all that is known it has run out',
        () => isOver() && performance.now() > begunMs + ttlMs,
      );
    });
    lease.require();
    await other.transaction(async (tx) => {
      await sql`update sync.leases set lease_id = gen_random_uuid() where team = 'known'`.execute(tx);
    });
    await eventually('it is renewed no more', isOver);
    await lease.release();
  });

  it('is extended by each transaction', async () => {
    const lease = await takeLease(database.db, 'extended', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() + interval '5 s' where team = 'extended'`.execute(
      other.kysely,
    );
    await fenced(database.db, lease, () => Promise.resolve());
    expect(await expiry('extended')).toBeGreaterThan(50_000);
    await lease.release();
  });

  it('is not taken over when its holder renewed it after it was found expired', async () => {
    const first = await takeLease(database.db, 'renewed', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() - interval '1 s' where team = 'renewed'`.execute(
      other.kysely,
    );
    let thief: Promise<unknown> = Promise.resolve();
    await database.db.transaction(async (tx) => {
      await sql`
        update sync.leases set expires_at = clock_timestamp() + interval '1 min' where team = 'renewed'`.execute(
        tx,
      );
      thief = takeLease(other, 'renewed', { ttlMs: 60_000 }).catch((error: unknown) => error);
      await eventually('the other run waits', async () => (await waiting()) > 0);
    });
    expect(await thief).toMatchObject({ code: 'lease-held' });
    await first.check();
    await first.release();
  });

  it('is taken from a holder whose lease ran out, and that one can commit nothing any more', async () => {
    const first = await takeLease(database.db, 'expired', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() - interval '1 s' where team = 'expired'`.execute(
      other.kysely,
    );
    const second = await takeLease(other, 'expired', { ttlMs: 60_000 });
    await expect(first.check()).rejects.toMatchObject({ code: 'lease-lost' });
    await expect(fenced(database.db, first, () => Promise.resolve())).rejects.toMatchObject({
      code: 'lease-lost',
    });
    await first.release();
    await second.check();
    await second.release();
  });

  it('is taken at once from a process of this host that no longer runs', async () => {
    const first = await takeLease(database.db, 'dead', { ttlMs: 60_000 });
    await sql`update sync.leases set process = '1', pid = 4194304 where team = 'dead'`.execute(other.kysely);
    const second = await takeLease(other, 'dead', { ttlMs: 60_000 });
    await expect(first.check()).rejects.toMatchObject({ code: 'lease-lost' });
    await second.release();
  });

  it('is not waited for any longer by whoever was asked to stop, and nothing is written under it then', async () => {
    const first = await takeLease(database.db, 'stopped', { ttlMs: 60_000 });
    const stop = new AbortController();
    const told: string[] = [];
    const work = () => Promise.reject(new Error('worked'));
    const of = (signal: AbortSignal) => ({
      team: 'stopped',
      lease: { ttlMs: 60_000, waitMs: 600_000, signal, onWait: (who: string) => told.push(who) },
    });
    const waiting = underLease(other, of(stop.signal), work).catch((error: unknown) => error);
    await eventually('it waits', () => told.length > 0);
    stop.abort();
    // Freed at the same moment: it is not taken all the same.
    await first.release();
    expect(await waiting).toMatchObject({ code: 'stopped' });
    expect(told).toEqual([
      expect.stringContaining(`another run of team "stopped": process ${process.pid}, since`),
    ]);
    await expect(underLease(other, of(stop.signal), work)).rejects.toMatchObject({ code: 'stopped' });
    expect(Number.isNaN(await expiry('stopped'))).toBe(true);
    await expect(underLease(other, of(new AbortController().signal), work)).rejects.toThrow('worked');
  });
});
