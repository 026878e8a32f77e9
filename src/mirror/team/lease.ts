/**
 * One run of a team at a time. The lease is a row with a random id and an expiry, renewed while the run
 * lives. It is checked before each write to the service and within each transaction, so that a process
 * that stalled past the expiry can neither send nor commit. A transaction of the run locks the row, so no
 * other process can take the lease during the transaction, however long it takes. There are no
 * session-level locks, so this also works behind a PgBouncer in transaction mode.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import { type Database, databaseTime, type Transaction } from '../db/database.ts';
import { isRunning, thisProcess } from '../db/process-identity.ts';
import { wakeForEdits } from './due.ts';
import { requireHome } from './known-place.ts';
import {
  inWords,
  type LeasedTeam,
  type LeaseOptions,
  leaseHeld,
  readHolder,
  shorten,
} from './lease-holder.ts';

export interface Lease {
  readonly team: string;
  readonly leaseId: string;
  readonly ttlMs: number;
  /** @throws MusterdError `lease-lost` if another run has taken the lease */
  check(): Promise<void>;
  /** @throws MusterdError `lease-lost` if the lease may have expired by this process's clock. Makes no query. */
  require(): void;
  /** Records that a statement has extended the lease. @param sinceMs when that statement began, by `performance.now()` */
  extended(sinceMs: number): void;
  /** True if the lease may expire within half its length, by this process's clock. */
  isLate(): boolean;
  /** Releases the lease, if it is still ours. @param last done in the same transaction, even if the lease is lost */
  release(last?: LeasedWork<void>): Promise<void>;
}

type OwnLease = Pick<Lease, 'team' | 'leaseId' | 'ttlMs'>;

/** How often to try for a lease that another run holds, in ms. */
const askEveryMs = 250;
/** Keeps trying for at least this many ms if the lease is free, but a transaction still has its row locked. */
const lockedMs = 2_000;
const lost = (team: string) =>
  new MusterdError(
    'lease-lost',
    `This run of team "${team}" lost its lease: it stalled, or the database was unreachable`,
    {
      hint: 'Nothing is lost: the next run continues where this one stopped.',
    },
  );

/** @throws MusterdError `stopped` */
function endIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new MusterdError('stopped', 'Stopped before anything was written', { cause: signal.reason });
}

/**
 * Takes the team's lease. A dead holder on this host is noticed at once, a dead holder on another host when
 * its lease expires. The statement that takes the lease decides if it is free. It fails if the holder has just
 * renewed the lease, or a transaction of the holder has locked its row.
 * @throws MusterdError `lease-held`; `stopped` if asked to stop during the wait
 */
export async function takeLease(db: Database, team: string, options: LeaseOptions): Promise<Lease> {
  return (await takeLeaseFor(db, team, options, async () => {})).lease;
}

/** Like `takeLease`, but also does the caller's first work under the lease, in the same transaction. */
export async function takeLeaseFor<R>(
  db: Database,
  team: string,
  options: LeaseOptions,
  work: LeasedWork<R>,
): Promise<{ readonly lease: Lease; readonly result: R }> {
  const own = { team, leaseId: randomUUID(), ttlMs: options.ttlMs };
  return await onceFree(db, team, options, async (found, dead) => {
    const sinceMs = performance.now();
    const done = await db.transaction(async (tx) => {
      const { rows } = await taking(own, found, dead).execute(tx);
      return rows.length > 0 ? { result: await work(tx) } : undefined;
    });
    return done === undefined ? undefined : { lease: createLease(db, own, sinceMs), ...done };
  });
}

/**
 * Tries again until no run of the team is under way, at most for the caller's `waitMs`.
 * @param tryIt gets the id of the current lease, and if its holder is dead; returns `undefined` if a run is under way
 * @throws MusterdError `lease-held`; `stopped`
 */
export async function onceFree<R>(
  db: Database,
  team: string,
  { ttlMs, waitMs = 0, signal, onWait }: LeaseOptions,
  tryIt: (found: string | undefined, dead: boolean) => Promise<R | undefined>,
): Promise<R> {
  const { host } = thisProcess();
  const startMs = performance.now();
  let waits = false;
  let taken = await tryIt(undefined, false);
  while (taken === undefined) {
    if (waits) endIfStopped(signal);
    const holder = await readHolder(db.kysely, team, ttlMs);
    const dead = holder !== undefined && holder.host === host && !isRunning(holder);
    const isFree = holder === undefined || holder.expired || dead;
    if (isFree) taken = await tryIt(holder?.lease_id, dead);
    if (taken !== undefined) break;
    if (holder?.unbelievable === true) await db.transaction((tx) => shorten(tx, { team, ttlMs }));
    // If the lease was free and could not be taken, another process was faster, or a transaction has locked its row.
    const patienceMs = isFree ? Math.max(waitMs, lockedMs) : waitMs;
    if (performance.now() >= startMs + patienceMs) throw leaseHeld(team, holder, isFree);
    if (!waits && waitMs > 0 && holder !== undefined)
      onWait?.(`another run of team "${team}": ${inWords(holder)}`);
    waits = true;
    await sleep(askEveryMs, undefined, { signal }).catch(() => {});
  }
  return taken;
}

/** Takes a lease that is free, has expired or has a dead holder. Does not wait for a row lock. */
function taking(
  { team, leaseId, ttlMs }: OwnLease,
  found: string | undefined,
  dead: boolean,
): RawBuilder<unknown> {
  const { host, pid, process } = thisProcess();
  const expiry = sql`clock_timestamp() + ${ttlMs} * interval '1 ms'`;
  return found === undefined
    ? sql`
      insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
      values (${team}, ${leaseId}, ${host}, ${pid}, ${process}, clock_timestamp(), ${expiry})
      on conflict (team) do nothing returning team`
    : sql`
      with free as (
        select team from sync.leases
        where team = ${team} and lease_id = ${found} and (${dead} or expires_at <= clock_timestamp())
        for update skip locked
      )
      update sync.leases l set lease_id = ${leaseId}, host = ${host}, pid = ${pid}, process = ${process},
        taken_at = clock_timestamp(), expires_at = ${expiry}
      from free where l.team = free.team returning l.team`;
}

function createLease(db: Database, own: OwnLease, sinceMs: number): Lease {
  const { team, leaseId, ttlMs } = own;
  let renewing = false;
  let isReleased = false;
  /** The lease lasts at least until this time. */
  let knownUntilMs = sinceMs + ttlMs;
  const extended = (atMs: number) => {
    knownUntilMs = Math.max(knownUntilMs, atMs + ttlMs);
  };
  const renew = async () => {
    // Only one renewal at a time while the database does not answer.
    if (renewing) return;
    renewing = true;
    try {
      const startMs = performance.now();
      if (await db.transaction((tx) => prolong(tx, own))) extended(startMs);
    } finally {
      renewing = false;
    }
  };
  // A failed renewal needs no report: the next check finds out if the lease has expired.
  const timer = setInterval(() => void renew().catch(() => {}), ttlMs / 4);
  timer.unref();
  return {
    ...own,
    extended,
    isLate: () => performance.now() > knownUntilMs - ttlMs / 2,
    require: () => {
      if (performance.now() >= knownUntilMs) throw lost(team);
    },
    check: async () => {
      const own = await db.kysely
        .selectFrom('sync.leases')
        .select('team')
        .where((eb) => eb.and({ team, lease_id: leaseId }))
        .where('expires_at', '>', databaseTime)
        .executeTakeFirst();
      if (own === undefined) throw lost(team);
    },
    release: async (last) => {
      if (isReleased) return;
      clearInterval(timer);
      const give = async (tx: Transaction) => {
        await tx.deleteFrom('sync.leases').where('team', '=', team).where('lease_id', '=', leaseId).execute();
        await last?.(tx);
      };
      // The lease is no longer renewed, so the three tries to lock its row may together take half of its length.
      await db.transaction(give, { lockTimeoutMs: Math.ceil(ttlMs / 6) });
      isReleased = true;
    },
  };
}

/**
 * Renews the lease in parallel to the run's transactions, which hold a key-share lock on the row and may wait for locks
 * of other sessions. Skips the renewal if one of these transactions is extending the lease itself.
 */
async function prolong(tx: Transaction, { team, leaseId, ttlMs }: OwnLease): Promise<boolean> {
  const { rows } = await sql`
    with mine as (
      select team from sync.leases
      where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp() for no key update skip locked
    )
    update sync.leases l set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    from mine where l.team = mine.team returning l.team`.execute(tx);
  return rows.length > 0;
}

/** The result of `holding`. */
interface HeldRow {
  readonly extended: boolean;
}

/**
 * Locks the lease's row until the end of the transaction, and extends the lease if half of it is over. Makes the triggers
 * accept the transaction, and record the run. Returns no row for an expired lease, unless our own lock has kept it.
 * The lock is the weakest that keeps other processes from taking the lease. Two transactions of one run can hold it
 * together, and each can extend the lease.
 */
function holding(
  { team, leaseId, ttlMs }: OwnLease,
  isLocked: boolean,
  runId: bigint | undefined,
): RawBuilder<HeldRow> {
  const after = (ms: number) => sql`clock_timestamp() + ${ms} * interval '1 ms'`;
  return sql<HeldRow>`
    with mine as materialized (
      select team, expires_at from sync.leases
      where team = ${team} and lease_id = ${leaseId} and (${isLocked} or expires_at > clock_timestamp())
      for key share
    ),
    extended as (
      update sync.leases l set expires_at = ${after(ttlMs)} from mine
      where l.team = mine.team and mine.expires_at < ${after(ttlMs / 2)} returning l.team
    )
    select exists (select from extended) as extended, set_config('musterd.writing', 'on', true),
      set_config('musterd.run', ${runId?.toString() ?? ''}, true) from mine`;
}

/** Work to do in one transaction. The caller gives only this function, and never gets the database itself. */
export type LeasedWork<R> = (tx: Transaction) => Promise<R>;

/**
 * Runs a person's decision in one transaction. It waits for the team's lease and holds it, so that no run is under way.
 * @throws MusterdError `copy` if this mirror may not decide; `lease-held`; `stopped` if asked to stop before it writes
 */
export async function underLease<R>(
  db: Database,
  { team, lease: options }: LeasedTeam,
  work: LeasedWork<R>,
): Promise<R> {
  await requireHome(db);
  const lease = await takeLease(db, team, options);
  try {
    endIfStopped(options.signal);
    return await fenced(db, lease, async (tx) => {
      await wakeForEdits(tx, team);
      return work(tx);
    });
  } finally {
    await lease.release();
  }
}

/**
 * Runs one transaction of a run. The transaction keeps the lease until it ends, and the triggers on the mirror accept it.
 * If half of the lease is over, it is extended, and again before the commit. This is possible even after its expiry,
 * because no other process can take the lease while its row is locked.
 * @throws MusterdError `lease-lost`
 */
export async function fenced<R>(
  db: Database,
  lease: Lease,
  work: (tx: Transaction) => Promise<R>,
  runId?: bigint,
): Promise<R> {
  let extendedMs: number | undefined;
  const hold = async (tx: Transaction, isLocked: boolean) => {
    const sentMs = performance.now();
    const { rows } = await holding(lease, isLocked, runId).execute(tx);
    if (rows[0] === undefined) throw lost(lease.team);
    if (rows[0].extended) extendedMs = sentMs;
  };
  const result = await db.transaction(async (tx) => {
    extendedMs = undefined;
    await hold(tx, false);
    const done = await work(tx);
    if (lease.isLate()) await hold(tx, true);
    return done;
  });
  if (extendedMs !== undefined) lease.extended(extendedMs);
  return result;
}
