import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDatabase, type Database, type Transaction } from '../../src/mirror/db/database.ts';
import { fenced, type Lease, takeLease, underLease } from '../../src/mirror/team/lease.ts';
import { eventually } from '../support/eventually.ts';
import { patient } from '../support/limits.ts';
import { countStatements } from '../support/sent-statements.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

/** Far longer than any of these tests takes. */
const ttlMs = 600_000;

describe.each([oldestServer()])('the lease on $name', (server) => {
  const database = useDatabase({ server });
  let other: Database;
  /** Another one, whose statements are counted. */
  let counted: Database;
  let statements = 0;
  beforeAll(async () => {
    const options = { url: database.url, applicationName: 'musterd test', ...patient };
    other = createDatabase(options);
    const onQuery = () => {
      statements += 1;
    };
    counted = createDatabase({ ...options, onQuery });
  });
  afterAll(async () => {
    await other.close();
    await counted.close();
  });

  /** How many statements on `sync.leases` wait for a lock. */
  const waiting = async () => {
    const { rows } = await sql<{ count: bigint }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%sync.leases%'
        and pid <> pg_backend_pid()`.execute(other.kysely);
    return Number(rows[0]?.count ?? 0n);
  };
  const setLease = (team: string, values: string) =>
    database.rows(`update sync.leases set ${values} where team = '${team}'`);
  const expired = `expires_at = clock_timestamp() - interval '1 s'`;
  const dead = `process = '1', pid = 4194304`;
  const isHeld = (of: Promise<unknown>) => expect(of).rejects.toMatchObject({ code: 'lease-held' });
  const isLost = (of: Promise<unknown>) => expect(of).rejects.toMatchObject({ code: 'lease-lost' });
  const expiry = async (team: string) => {
    const { rows } = await sql<{ left_ms: number }>`
      select (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left_ms
      from sync.leases where team = ${team}`.execute(other.kysely);
    return rows[0]?.left_ms ?? Number.NaN;
  };

  const expiresAt = async (team: string) => {
    const { rows } = await sql<{ at: string }>`
      select expires_at::text as at from sync.leases where team = ${team}`.execute(other.kysely);
    return rows[0]?.at;
  };

  /** What this process's clock shows; no lease is renewed but by `tick`. */
  let nowMs = 0;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
  });
  afterEach(() => vi.useRealTimers());
  /** It is later by so much, here and in the database. */
  const pass = async (team: string, ms: number) => {
    nowMs += ms;
    await setLease(team, `expires_at = expires_at - ${ms} * interval '1 ms'`);
  };
  /** Each lease that is held here is renewed. */
  const tick = () => vi.advanceTimersByTime(ttlMs / 4);
  const renewals = async (count: number) => {
    statements = 0;
    await eventually('it was tried to renew it', () => {
      tick();
      return statements >= count;
    });
  };

  it('a lease survives a transaction of its run that takes longer than the lease lasts', async () => {
    const lease = await takeLease(database.db, 'long', { ttlMs });
    await fenced(database.db, lease, async (tx) => {
      await sql`select 1`.execute(tx);
      await pass('long', ttlMs);
      // Someone else finds it expired, and the row locked; nobody waits for the lock, not even a renewal.
      const thief = takeLease(counted, 'long', { ttlMs }).catch((error: unknown) => error);
      statements = 0;
      await eventually('it has been asked for', () => statements >= 2);
      nowMs += ttlMs;
      tick();
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

  it('a run may have two transactions at once, and no other process gets the lease until both end', async () => {
    const lease = await takeLease(database.db, 'beside', { ttlMs });
    const thief = async () => {
      const asked = takeLease(counted, 'beside', { ttlMs }).catch((error: unknown) => error);
      statements = 0;
      await eventually('it has been asked for', () => statements >= 2);
      nowMs += ttlMs;
      return await asked;
    };
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
    await pass('beside', ttlMs);
    expect(await expiry('beside')).toBeLessThan(0);
    expect(await thief()).toMatchObject({ code: 'lease-held' });
    first.resolve();
    await one.ended;
    expect(await expiry('beside')).toBeGreaterThan(0);
    await pass('beside', ttlMs);
    expect(await expiry('beside')).toBeLessThan(0);
    expect(await thief()).toMatchObject({ code: 'lease-held' });
    second.resolve();
    await two.ended;
    await lease.check();
    await lease.release();
  });

  it('lease.require() throws once the time of the last renewal or extension has run out, and not before', async () => {
    const lease = await takeLease(counted, 'known', { ttlMs });
    for (let quarter = 1; quarter <= 8; quarter += 1) {
      await pass('known', ttlMs / 4);
      const before = await expiresAt('known');
      await eventually('it was renewed', async () => {
        tick();
        return (await expiresAt('known')) !== before;
      });
      lease.require();
    }
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
      await pass('known', ttlMs);
      expect(isOver()).toBe(true);
      await renewals(6);
      expect(isOver()).toBe(true);
    });
    lease.require();
    await setLease('known', 'lease_id = gen_random_uuid()');
    for (let quarter = 1; quarter <= 4; quarter += 1) {
      await pass('known', ttlMs / 4);
      await renewals(4);
    }
    expect(isOver()).toBe(true);
    await lease.release();
  });

  it('a transaction extends the lease if less than half of the lease’s time is left, and otherwise does not', async () => {
    const lease = await takeLease(database.db, 'extended', { ttlMs });
    const expireIn = async (share: number) => {
      await setLease('extended', `expires_at = clock_timestamp() + ${share * ttlMs} * interval '1 ms'`);
      return await expiresAt('extended');
    };
    const early = await expireIn(0.9);
    await fenced(database.db, lease, () => Promise.resolve());
    expect(await expiresAt('extended')).toBe(early);
    const late = await expireIn(0.4);
    await fenced(database.db, lease, () => Promise.resolve());
    expect(await expiresAt('extended')).not.toBe(late);
    expect(await expiry('extended')).toBeGreaterThan(0.4 * ttlMs);
    await lease.release();
  });

  /** Asks for a lease; between the look at who holds it and the attempt to take it something else happens. */
  const askSlowly = async (team: string, between: () => Promise<void>) => {
    const sent = await countStatements(database.url);
    let happened: Promise<void> | undefined;
    // Whoever wants this one connection gets it in turn.
    const slow = createDatabase({
      url: sent.url,
      maxConnections: 1,
      ...patient,
      onQuery: () => {
        if (sent.take().some((text) => text.includes('as expired'))) happened ??= slow.transaction(between);
      },
    });
    try {
      const outcome = await takeLease(slow, team, { ttlMs }).catch((error: unknown) => error);
      await (happened ?? Promise.reject(new Error('nobody looked')));
      return outcome;
    } finally {
      await slow.close();
      await sent.close();
    }
  };

  it('takeLease fails if the holder renews the lease after takeLease has found the lease expired', async () => {
    const first = await takeLease(database.db, 'renewed', { ttlMs });
    await pass('renewed', ttlMs);
    const thief = await askSlowly('renewed', async () => {
      await setLease('renewed', `expires_at = clock_timestamp() + interval '10 min'`);
    });
    expect(thief).toMatchObject({ code: 'lease-held' });
    await first.check();
    await first.release();
  });

  it('an expired lease passes to the next process, and the old holder cannot commit any more (D15, R5)', async () => {
    const first = await takeLease(database.db, 'expired', { ttlMs });
    await setLease('expired', expired);
    await isLost(first.check());
    const second = await takeLease(other, 'expired', { ttlMs });
    await isLost(first.check());
    await isLost(fenced(database.db, first, () => Promise.resolve()));
    await first.release();
    await second.check();
    await second.release();
  });

  it('fenced() rejects a write once the lease has expired, even if no other process has taken the lease', async () => {
    const lease = await takeLease(database.db, 'idle', { ttlMs });
    await setLease('idle', expired);
    let written = false;
    const write = () => {
      written = true;
      return Promise.resolve();
    };
    await isLost(fenced(database.db, lease, write));
    expect(written).toBe(false);
    await lease.release();
  });

  it('takeLease fails with lease-held if the holder is a process of another host', async () => {
    const first = await takeLease(database.db, 'remote', { ttlMs });
    await setLease(
      'remote',
      `host = host || ' of another', process = '1', pid = 4194304, lease_id = gen_random_uuid()`,
    );
    const before = await expiresAt('remote');
    await expect(takeLease(other, 'remote', { ttlMs })).rejects.toMatchObject({
      code: 'lease-held',
      message: expect.stringMatching(/process 4194304 on .+ of another, since/) as string,
    });
    expect(await expiresAt('remote')).toBe(before);
    await first.release();
  });

  it('takeLease fails with lease-held after a short retry if another transaction has locked the lease (D15)', async () => {
    const first = await takeLease(database.db, 'locked', { ttlMs });
    await setLease('locked', expired);
    await other.transaction(async (tx) => {
      await sql`select from sync.leases where team = 'locked' for update`.execute(tx);
      const asked = takeLease(counted, 'locked', { ttlMs }).catch((error: unknown) => error);
      statements = 0;
      await eventually('it is asked for a few times, as long as no time passes', () => statements >= 20);
      nowMs += 2_000;
      expect(await asked).toMatchObject({
        code: 'lease-held',
        message: expect.stringContaining(`process ${process.pid}, since`) as string,
      });
      // Whoever waits hears of a stop, and gets it once it is free.
      const stop = new AbortController();
      const told: string[] = [];
      const wait = { ttlMs, waitMs: ttlMs, onWait: (who: string) => told.push(who) };
      const stopped = takeLease(database.db, 'locked', { ...wait, signal: stop.signal }).catch(
        (error: unknown) => error,
      );
      await eventually('it waits', () => told.length > 0);
      stop.abort();
      expect(await stopped).toMatchObject({ code: 'stopped' });
    });
    const second = await takeLease(database.db, 'locked', { ttlMs });
    await first.release();
    await second.release();
  });

  it('takeLease retries until the locked row of a dead holder is free', async () => {
    await takeLease(database.db, 'killed', { ttlMs });
    await setLease('killed', dead);
    let second: Promise<Lease> | undefined;
    await other.transaction(async (tx) => {
      await sql`select from sync.leases where team = 'killed' for update`.execute(tx);
      statements = 0;
      second = takeLease(counted, 'killed', { ttlMs });
      await eventually('it has asked for it', () => statements >= 2);
    });
    await (await second)?.release();
    expect(Number.isNaN(await expiry('killed'))).toBe(true);
  });

  it('the lease of a dead holder goes to the faster of two processes, and takeLease fails for the slower process', async () => {
    await takeLease(database.db, 'faster', { ttlMs });
    await setLease('faster', dead);
    const faster: Lease[] = [];
    const slower = await askSlowly('faster', async () => {
      faster.push(await takeLease(other, 'faster', { ttlMs }));
    });
    expect(slower).toMatchObject({ code: 'lease-held' });
    expect(faster).toHaveLength(1);
    for (const lease of faster) {
      await lease.check();
      await lease.release();
    }
  });

  it('takeLease cuts the lease of a dead holder to the normal length after the clock was set back (R8)', async () => {
    const dead = await takeLease(database.db, 'set back', { ttlMs });
    // As after a step of a day; nobody renews it, and whether its process runs is not to be seen from here.
    await setLease(
      'set back',
      `host = 'elsewhere', lease_id = gen_random_uuid(), expires_at = clock_timestamp() + interval '1 day'`,
    );
    await isHeld(takeLease(other, 'set back', { ttlMs }));
    expect(await expiry('set back')).toBeLessThanOrEqual(ttlMs);
    await pass('set back', ttlMs);
    const next = await takeLease(other, 'set back', { ttlMs });
    await next.release();
    await dead.release();
  });

  it.each([
    ['14 min, longer than the requested 1 s', '14 min', 1_000],
    ['59 min, shorter than the requested hour', '59 min', 3_600_000],
  ])('takeLease does not shorten a held lease that lasts %s', async (_, ahead, askedMs) => {
    const first = await takeLease(database.db, 'long ago', { ttlMs });
    await setLease('long ago', `expires_at = clock_timestamp() + interval '${ahead}'`);
    const before = await expiresAt('long ago');
    await isHeld(takeLease(other, 'long ago', { ttlMs: askedMs }));
    expect(await expiresAt('long ago')).toBe(before);
    await first.release();
  });

  it('the next renewal by the holder restores the length of a lease that another process has cut by takeLease', async () => {
    const lease = await takeLease(database.db, 'alive', { ttlMs });
    await setLease('alive', `expires_at = clock_timestamp() + interval '1 day'`);
    await isHeld(takeLease(other, 'alive', { ttlMs: ttlMs / 2 }));
    expect(await expiry('alive')).toBeLessThanOrEqual(ttlMs / 2);
    await eventually('it is renewed', async () => {
      tick();
      return (await expiry('alive')) > ttlMs / 2;
    });
    await lease.check();
    await lease.release();
  });

  it('a stop ends the wait for a lease, and the work under the lease does not start', async () => {
    const first = await takeLease(database.db, 'stopped', { ttlMs });
    const stop = new AbortController();
    const told: string[] = [];
    const work = () => Promise.reject(new Error('worked'));
    const of = (signal: AbortSignal) => ({
      team: 'stopped',
      lease: { ttlMs, waitMs: ttlMs, signal, onWait: (who: string) => told.push(who) },
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

  it('lease.release() fails, and keeps the lease, if the read before the release waits for a locked table', async () => {
    const lease = await takeLease(database.db, 'last', { ttlMs: 6_000 });
    await other.transaction(async (tx) => {
      await sql`lock table sync.runs`.execute(tx);
      const read = (own: Transaction) => sql`select from sync.runs`.execute(own);
      await expect(lease.release(async (own) => void (await read(own)))).rejects.toThrow();
      expect(await expiry('last')).toBeGreaterThan(0);
    });
    await lease.release();
  });
});
