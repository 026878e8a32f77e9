import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/database.ts';
import { fenced, type Lease, takeLease, underLease } from '../../src/mirror/lease.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('the lease on $name', (server) => {
  let database: TestDatabase;
  let other: Database;
  /** Another one, whose statements are counted. */
  let counted: Database;
  let statements = 0;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
    const options = { url: database.url, applicationName: 'musterd test' };
    other = createDatabase(options);
    const onQuery = () => {
      statements += 1;
    };
    counted = createDatabase({ ...options, onQuery });
  });
  afterAll(async () => {
    await other.close();
    await counted.close();
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
    await fenced(database.db, lease, async (tx) => {
      await sql`select 1`.execute(tx);
      await eventually('it has run out for all others', async () => (await expiry('long')) < 0);
      // Someone else finds it expired, and the row locked; nobody waits for the lock, not even a renewal.
      const thief = takeLease(other, 'long', { ttlMs }).catch((error: unknown) => error);
      expect(await thief).toMatchObject({
        code: 'lease-held',
        message: expect.stringContaining(`process ${process.pid}, since`) as string,
        hint: expect.stringContaining('pg_locks') as string,
      });
      expect(await waiting()).toBe(0);
    });
    await lease.check();
    await fenced(database.db, lease, () => Promise.resolve());
    await lease.release();
  });

  it('is held by two transactions of its run at once, and by nobody else as long as one of them lasts', async () => {
    const ttlMs = 400;
    const lease = await takeLease(database.db, 'beside', { ttlMs });
    const thief = () => takeLease(other, 'beside', { ttlMs }).catch((error: unknown) => error);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hold = (end: Promise<void>) => {
      const begun = Promise.withResolvers<void>();
      const ended = fenced(database.db, lease, async (tx) => {
        await sql`select 1`.execute(tx);
        begun.resolve();
        await end;
      });
      return { begun: Promise.race([begun.promise, ended]), ended };
    };
    const [one, two] = [hold(first.promise), hold(second.promise)];
    await Promise.all([one.begun, two.begun]);
    await eventually('it has run out for all others', async () => (await expiry('beside')) < 0);
    expect(await thief()).toMatchObject({ code: 'lease-held' });
    first.resolve();
    await one.ended;
    expect(await expiry('beside')).toBeGreaterThan(0);
    await eventually('it has run out once more', async () => (await expiry('beside')) < 0);
    expect(await thief()).toMatchObject({ code: 'lease-held' });
    second.resolve();
    await two.ended;
    await lease.check();
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

  it('is extended by a transaction once half of it is over, and not written before', async () => {
    const lease = await takeLease(database.db, 'extended', { ttlMs: 60_000 });
    const expireIn = (seconds: number) =>
      sql`
        update sync.leases set expires_at = clock_timestamp() + ${seconds} * interval '1 s' where team = 'extended'`.execute(
        other.kysely,
      );
    await expireIn(40);
    await fenced(database.db, lease, () => Promise.resolve());
    expect(await expiry('extended')).toBeLessThan(40_001);
    await expireIn(25);
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
      statements = 0;
      thief = takeLease(counted, 'renewed', { ttlMs: 60_000 }).catch((error: unknown) => error);
      // It has waited for the row, in vain, and gives up its transaction.
      await eventually('the other run has asked for it', () => statements >= 2);
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

  it('is not taken from a process of another host, another boot or another container, whatever runs here', async () => {
    const first = await takeLease(database.db, 'remote', { ttlMs: 60_000 });
    await sql`
      update sync.leases set host = host || ' of another', process = '1', pid = 4194304, lease_id = gen_random_uuid()
      where team = 'remote'`.execute(other.kysely);
    await expect(takeLease(other, 'remote', { ttlMs: 60_000 })).rejects.toMatchObject({
      code: 'lease-held',
      message: expect.stringMatching(/process 4194304 on .+ of another, since/) as string,
    });
    expect(await expiry('remote')).toBeGreaterThan(30_000);
    await first.release();
  });

  it('is not asked for again and again by somebody who does not wait, while a transaction holds its row', async () => {
    const first = await takeLease(database.db, 'locked', { ttlMs: 60_000 });
    await other.transaction(async (tx) => {
      await sql`update sync.leases set expires_at = clock_timestamp() - interval '1 s' where team = 'locked'`.execute(
        tx,
      );
    });
    await other.transaction(async (tx) => {
      await sql`select from sync.leases where team = 'locked' for update`.execute(tx);
      const startMs = performance.now();
      await expect(takeLease(database.db, 'locked', { ttlMs: 60_000 })).rejects.toMatchObject({
        code: 'lease-held',
        message: expect.stringContaining(`process ${process.pid}, since`) as string,
      });
      expect(performance.now() - startMs).toBeGreaterThan(1_000);
      // Whoever waits hears of a stop, and gets it once it is free.
      const stop = new AbortController();
      const told: string[] = [];
      const wait = { ttlMs: 60_000, waitMs: 600_000, onWait: (who: string) => told.push(who) };
      const stopped = takeLease(database.db, 'locked', { ...wait, signal: stop.signal }).catch(
        (error: unknown) => error,
      );
      await eventually('it waits', () => told.length > 0);
      stop.abort();
      expect(await stopped).toMatchObject({ code: 'stopped' });
    });
    const second = await takeLease(database.db, 'locked', { ttlMs: 60_000 });
    await first.release();
    await second.release();
  });

  it('is asked for until the row of a dead holder is let go', async () => {
    await takeLease(database.db, 'killed', { ttlMs: 60_000 });
    await sql`update sync.leases set process = '1', pid = 4194304 where team = 'killed'`.execute(
      other.kysely,
    );
    let second: Promise<Lease> | undefined;
    await other.transaction(async (tx) => {
      await sql`select from sync.leases where team = 'killed' for update`.execute(tx);
      statements = 0;
      second = takeLease(counted, 'killed', { ttlMs: 60_000 });
      await eventually('it has asked for it', () => statements >= 2);
    });
    await (await second)?.release();
    expect(Number.isNaN(await expiry('killed'))).toBe(true);
  });

  it('of a dead holder is taken by one of many who find it', async () => {
    await takeLease(database.db, 'contested', { ttlMs: 60_000 });
    await sql`update sync.leases set process = '1', pid = 4194304 where team = 'contested'`.execute(
      other.kysely,
    );
    const all = await Promise.allSettled(
      [other, other, other, other, counted, counted, counted, counted].map((db) =>
        takeLease(db, 'contested', { ttlMs: 60_000 }),
      ),
    );
    const [taken, ...others] = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(others).toEqual([]);
    await taken?.check();
    await taken?.release();
  });

  it('of a dead holder is not taken from the one who was faster', async () => {
    await takeLease(database.db, 'faster', { ttlMs: 60_000 });
    await sql`update sync.leases set process = '1', pid = 4194304 where team = 'faster'`.execute(
      other.kysely,
    );
    // Whoever wants this one connection gets it in turn: the read of the slower one, what is done here, its write.
    const slow = createDatabase({ url: database.url, maxConnections: 1 });
    try {
      const queued: { slower?: Promise<unknown>; between?: Promise<Lease> } = {};
      await slow.transaction(async (tx) => {
        await sql`select 1`.execute(tx);
        queued.slower = takeLease(slow, 'faster', { ttlMs: 60_000 }).catch((error: unknown) => error);
        // An answer from the server: the read stands in the queue by now.
        await sql`select 1`.execute(tx);
        queued.between = slow.transaction(async (turn) => {
          const { rows } = await sql<{ pid: bigint }>`
            select pid from sync.leases where team = 'faster'`.execute(turn);
          expect(rows).toEqual([{ pid: 4194304n }]);
          return await takeLease(other, 'faster', { ttlMs: 60_000 });
        });
      });
      const faster = await queued.between;
      expect(await queued.slower).toMatchObject({ code: 'lease-held' });
      await faster?.check();
      await faster?.release();
    } finally {
      await slow.close();
    }
  });

  it('of a dead holder lasts no longer than its own length when the clock was set back', async () => {
    const ttlMs = 1_000;
    const dead = await takeLease(database.db, 'set back', { ttlMs });
    // As after a step of a day; nobody renews it, and whether its process runs is not to be seen from here.
    await sql`
      update sync.leases set host = 'elsewhere', lease_id = gen_random_uuid(),
        expires_at = clock_timestamp() + interval '1 day' where team = 'set back'`.execute(other.kysely);
    await expect(takeLease(other, 'set back', { ttlMs })).rejects.toMatchObject({ code: 'lease-held' });
    expect(await expiry('set back')).toBeLessThan(1_001);
    const next = await takeLease(other, 'set back', { ttlMs, waitMs: 20_000 });
    await next.release();
    await dead.release();
  });

  it.each([
    ['is longer than that of whoever asks', '14 min', 1_000],
    ['is of a length that only whoever asks may choose', '59 min', 3_600_000],
  ])('stays as it is where it %s', async (_, ahead, ttlMs) => {
    const first = await takeLease(database.db, 'long ago', { ttlMs: 60_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() + ${ahead}::interval where team = 'long ago'`.execute(
      other.kysely,
    );
    const before = await expiry('long ago');
    await expect(takeLease(other, 'long ago', { ttlMs })).rejects.toMatchObject({ code: 'lease-held' });
    expect(await expiry('long ago')).toBeGreaterThan(before - 10_000);
    await first.release();
  });

  it('is of a living holder again at its next renewal when the clock was set back', async () => {
    const lease = await takeLease(database.db, 'alive', { ttlMs: 4_000 });
    await sql`update sync.leases set expires_at = clock_timestamp() + interval '1 day' where team = 'alive'`.execute(
      other.kysely,
    );
    await expect(takeLease(other, 'alive', { ttlMs: 3_000 })).rejects.toMatchObject({ code: 'lease-held' });
    await eventually('it is renewed', async () => (await expiry('alive')) > 3_100);
    await lease.check();
    await lease.release();
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
