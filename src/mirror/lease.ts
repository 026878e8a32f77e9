/**
 * One run of a team at a time. The lease is a row with a random id and an expiry, renewed while the run
 * lives. It is checked before each write to the service and within each transaction, so that a process
 * that stalled past its expiry can neither send nor commit what it began before. No session-level locks:
 * the row serves behind a PgBouncer in transaction mode as well.
 */
import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import { MusterdError } from '../errors.ts';
import type { Database } from './database.ts';
import { isRunning, thisProcess } from './process-identity.ts';

export interface Lease {
  readonly team: string;
  readonly leaseId: string;
  /** Throws `lease-lost` if another run has it by now. */
  check(): Promise<void>;
  /** Gives it back, if it is still ours. */
  release(): Promise<void>;
}

export interface LeaseOptions {
  /** How long the lease outlives the last sign of life of its holder. */
  readonly ttlMs: number;
}

interface Holder {
  readonly lease_id: string;
  readonly host: string;
  readonly pid: bigint;
  readonly process: string;
  readonly taken_at: Date;
  readonly expires_at: Date;
  readonly expired: boolean;
}

const lost = (team: string) =>
  new MusterdError(
    'lease-lost',
    `This run of team "${team}" lost its lease: it stalled, or the database was away`,
    {
      hint: 'Nothing is lost: the next run takes up where this one stopped.',
    },
  );

/**
 * Takes the team's lease. A holder on this host that no longer runs is seen at once; one elsewhere when
 * its lease expires.
 * @throws MusterdError `lease-held`
 */
export async function takeLease<T>(db: Database<T>, team: string, { ttlMs }: LeaseOptions): Promise<Lease> {
  const leaseId = randomUUID();
  const me = thisProcess();
  const holder = await db.transaction(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`musterd lease ${team}`}, 0))`.execute(tx);
    const current = await sql<Holder>`
      select lease_id, host, pid, process, taken_at, expires_at, expires_at <= clock_timestamp() as expired
      from sync.leases where team = ${team}`.execute(tx);
    const [found] = current.rows;
    if (found !== undefined && !found.expired && (found.host !== me.host || isRunning(found))) return found;
    await sql`
      insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
      values (${team}, ${leaseId}, ${me.host}, ${me.pid}, ${me.process}, clock_timestamp(),
              clock_timestamp() + ${ttlMs} * interval '1 ms')
      on conflict (team) do update set lease_id = excluded.lease_id, host = excluded.host, pid = excluded.pid,
        process = excluded.process, taken_at = excluded.taken_at, expires_at = excluded.expires_at`.execute(
      tx,
    );
    return undefined;
  });
  if (holder !== undefined) {
    const where =
      holder.host === me.host ? `process ${holder.pid}` : `process ${holder.pid} on ${holder.host}`;
    throw new MusterdError(
      'lease-held',
      `Another run of team "${team}" is under way: ${where}, since ${holder.taken_at.toISOString()}`,
      {
        hint: `Wait for it to end. If its machine is gone, the lease expires by itself at ${holder.expires_at.toISOString()}.`,
      },
    );
  }
  return createLease(db, team, leaseId, ttlMs);
}

function createLease<T>(db: Database<T>, team: string, leaseId: string, ttlMs: number): Lease {
  const renew = async () => {
    await sql`
      update sync.leases set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
      where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp()`.execute(db.kysely);
  };
  // A renewal that fails shows at the next check: the lease has run out by then, or it has not.
  const timer = setInterval(() => void renew().catch(() => {}), ttlMs / 4);
  timer.unref();
  return {
    team,
    leaseId,
    check: async () => {
      const { rows } = await sql`
        select 1 from sync.leases
        where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp()`.execute(db.kysely);
      if (rows.length === 0) throw lost(team);
    },
    release: async () => {
      clearInterval(timer);
      await sql`delete from sync.leases where team = ${team} and lease_id = ${leaseId}`.execute(db.kysely);
    },
  };
}

/**
 * One transaction of a run: it holds the lease to the end, and the triggers on the mirror let it through.
 * @throws MusterdError `lease-lost`
 */
export async function fenced<T, R>(
  db: Database<T>,
  lease: Lease,
  work: (tx: Transaction<T>) => Promise<R>,
): Promise<R> {
  return db.transaction(async (tx) => {
    const { rows } = await sql`
      select set_config('musterd.writing', 'on', true) from sync.leases
      where team = ${lease.team} and lease_id = ${lease.leaseId} and expires_at > clock_timestamp()
      for share`.execute(tx);
    if (rows.length === 0) throw lost(lease.team);
    return work(tx);
  });
}
