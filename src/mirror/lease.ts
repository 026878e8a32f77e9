/**
 * One run of a team at a time. The lease is a row with a random id and an expiry, renewed while the run
 * lives. It is checked before each write to the service and within each transaction, so that a process
 * that stalled past its expiry can neither send nor commit what it began before. A transaction of the run
 * holds the row, and with it the lease, however long it takes. No session-level locks: the row serves
 * behind a PgBouncer in transaction mode as well.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { MusterdError } from '../errors.ts';
import { type Database, databaseTime, type Transaction } from './database.ts';
import type { Opened } from './database-pool.ts';
import { held, inWords, isUnbelievable, readHolder } from './lease-holder.ts';
import { isRunning, thisProcess } from './process-identity.ts';
import { wakeForEdits } from './wake.ts';

export interface Lease {
  readonly team: string;
  readonly leaseId: string;
  readonly ttlMs: number;
  /** Throws `lease-lost` if another run has it by now. */
  check(): Promise<void>;
  /** Throws `lease-lost` where it can have run out, going by what this process knows: nobody is asked. */
  require(): void;
  /** Takes note that a statement which began at this time, by `performance.now()`, has extended it. */
  extended(sinceMs: number): void;
  /** Whether it can run out within half its length, going by what this process knows. */
  isLate(): boolean;
  /**
   * Gives it back once, if it is still ours.
   * @param last done in the same transaction, whoever has the lease by now
   */
  release(last?: LeasedWork<void>): Promise<void>;
}

type OwnLease = Pick<Lease, 'team' | 'leaseId' | 'ttlMs'>;

export interface LeaseOptions {
  /** How long the lease outlives the last sign of life of its holder. */
  readonly ttlMs: number;
  /** How long to wait for another run to end; not at all when left out. */
  readonly waitMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Told once, when the wait begins, for whom it is. */
  readonly onWait?: ((who: string) => void) | undefined;
}

/** How often a lease that somebody else has is asked for. */
const askEveryMs = 250;
/** For how long at least a lease is asked for that is free, but for a transaction which still holds its row. */
const lockedMs = 2_000;
const lost = (team: string) =>
  new MusterdError(
    'lease-lost',
    `This run of team "${team}" lost its lease: it stalled, or the database was away`,
    {
      hint: 'Nothing is lost: the next run takes up where this one stopped.',
    },
  );

/** @throws MusterdError `stopped` */
function endIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new MusterdError('stopped', 'Asked to stop before anything was written', { cause: signal.reason });
}

/**
 * Takes the team's lease. A holder on this host that no longer runs is seen at once; one elsewhere when
 * its lease expires. Whether it is free is decided by the statement that takes it: a lease that its holder
 * renewed a moment before stays the holder's, and so does one whose row a transaction of the holder's locks.
 * @throws MusterdError `lease-held`; `stopped` when it is asked to during the wait
 */
export async function takeLease(db: Database, team: string, options: LeaseOptions): Promise<Lease> {
  return (await takeLeaseFor(db, team, options, async () => {})).lease;
}

/** The same, and in the same transaction what is done first under it. */
export async function takeLeaseFor<R>(
  db: Database,
  team: string,
  { ttlMs, waitMs = 0, signal, onWait }: LeaseOptions,
  work: LeasedWork<R>,
): Promise<{ readonly lease: Lease; readonly result: R }> {
  const own = { team, leaseId: randomUUID(), ttlMs };
  const { host } = thisProcess();
  const startMs = performance.now();
  const takeFrom = async (found: string | undefined, dead: boolean) => {
    const sinceMs = performance.now();
    let isTaken = false;
    const take = ({ rows }: Opened) => {
      isTaken = rows.length > 0;
    };
    const done = await db.transaction(async (tx) => (isTaken ? { result: await work(tx) } : undefined), {
      opening: { text: taking(own, found, dead), take },
    });
    return done === undefined ? undefined : { lease: createLease(db, own, sinceMs), ...done };
  };
  let waits = false;
  let taken = await takeFrom(undefined, false);
  while (taken === undefined) {
    if (waits) endIfStopped(signal);
    const holder = await readHolder(db.kysely, team, ttlMs);
    const dead = holder !== undefined && holder.host === host && !isRunning(holder);
    const isFree = holder === undefined || holder.expired || dead;
    if (isFree) taken = await takeFrom(holder?.lease_id, dead);
    if (taken !== undefined) break;
    if (holder?.unbelievable === true) await db.transaction((tx) => shorten(tx, own));
    // Free when it was looked at: either somebody was faster, or a transaction holds its row.
    const patienceMs = isFree ? Math.max(waitMs, lockedMs) : waitMs;
    if (performance.now() >= startMs + patienceMs) throw held(team, holder, isFree);
    if (!waits && waitMs > 0 && holder !== undefined)
      onWait?.(`another run of team "${team}": ${inWords(holder)}`);
    waits = true;
    await sleep(askEveryMs, undefined, { signal }).catch(() => {});
  }
  return taken;
}

/** Takes a lease that nobody has, or the one that was found expired or its holder dead. Waits for no lock of a row. */
function taking({ team, leaseId, ttlMs }: OwnLease, found: string | undefined, dead: boolean): string {
  const { host, pid, process } = thisProcess();
  const [name, id, where, since] = [team, leaseId, host, process].map(pg.escapeLiteral);
  const expiry = `clock_timestamp() + ${ttlMs} * interval '1 ms'`;
  return found === undefined
    ? `
      insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
      values (${name}, ${id}, ${where}, ${pid}, ${since}, clock_timestamp(), ${expiry})
      on conflict (team) do nothing returning team`
    : `
      with free as (
        select team from sync.leases
        where team = ${name} and lease_id = ${pg.escapeLiteral(found)} and (${dead} or expires_at <= clock_timestamp())
        for update skip locked
      )
      update sync.leases l set lease_id = ${id}, host = ${where}, pid = ${pid}, process = ${since},
        taken_at = clock_timestamp(), expires_at = ${expiry}
      from free where l.team = free.team returning l.team`;
}

/** A holder that lives renews its lease; that of a dead one ends as late as if it had been renewed just now. */
async function shorten(tx: Transaction, { team, ttlMs }: OwnLease): Promise<void> {
  await sql`
    with far as (
      select team from sync.leases where team = ${team} and ${isUnbelievable(ttlMs)} for update skip locked
    )
    update sync.leases l set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    from far where l.team = far.team`.execute(tx);
}

function createLease(db: Database, own: OwnLease, sinceMs: number): Lease {
  const { team, leaseId, ttlMs } = own;
  let renewing = false;
  let isReleased = false;
  /** It lasts until then, or longer. */
  let knownUntilMs = sinceMs + ttlMs;
  const extended = (atMs: number) => {
    knownUntilMs = Math.max(knownUntilMs, atMs + ttlMs);
  };
  const renew = async () => {
    // Without an answer from the database one renewal is enough.
    if (renewing) return;
    renewing = true;
    try {
      const startMs = performance.now();
      if (await db.transaction((tx) => prolong(tx, own))) extended(startMs);
    } finally {
      renewing = false;
    }
  };
  // A renewal that fails shows at the next check: the lease has run out by then, or it has not.
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
      const text = giving(own);
      await db.transaction(async (tx) => last?.(tx), { opening: { text, take: () => {} } });
      isReleased = true;
    },
  };
}

function giving({ team, leaseId }: OwnLease): string {
  return `delete from sync.leases where team = ${pg.escapeLiteral(team)} and lease_id = ${pg.escapeLiteral(leaseId)}`;
}

/** A transaction of ours that holds the row extends the lease itself: nobody waits for it here. */
async function prolong(tx: Transaction, { team, leaseId, ttlMs }: OwnLease): Promise<boolean> {
  const { rows } = await sql`
    with mine as (
      select team from sync.leases
      where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp() for update skip locked
    )
    update sync.leases l set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    from mine where l.team = mine.team returning l.team`.execute(tx);
  return rows.length > 0;
}

/** What `holding` comes to. */
interface HeldRow {
  readonly extended: boolean;
}

/**
 * Locks the lease's row to the end of the transaction, extends it where half of it is over, lets the rest of the
 * transaction pass the triggers, and tells them of the run. One that has run out is not ours any more, unless our lock
 * has kept it: no row then. The lock is the weakest that nobody can take the lease past: two transactions of one run
 * can have it at once, and each can extend it.
 */
function holding({ team, leaseId, ttlMs }: OwnLease, isLocked: boolean, runId: bigint | undefined): string {
  const after = (ms: number) => `clock_timestamp() + ${ms} * interval '1 ms'`;
  return `
    with mine as materialized (
      select team, expires_at from sync.leases
      where team = ${pg.escapeLiteral(team)} and lease_id = ${pg.escapeLiteral(leaseId)} and (${isLocked} or expires_at > clock_timestamp())
      for key share
    ),
    extended as (
      update sync.leases l set expires_at = ${after(ttlMs)} from mine
      where l.team = mine.team and mine.expires_at < ${after(ttlMs / 2)} returning l.team
    )
    select exists (select from extended) as extended, set_config('musterd.writing', 'on', true),
      set_config('musterd.run', '${runId?.toString() ?? ''}', true) from mine`;
}

/** What is done in one transaction, by a caller that knows nothing of the database. */
export type LeasedWork<R> = (tx: Transaction) => Promise<R>;

/**
 * One transaction under a lease of its own, for which it waits: no run is under way meanwhile.
 * @throws MusterdError `lease-held`; `stopped` when it is asked to before it has begun to write
 */
export async function underLease<R>(
  db: Database,
  { team, lease: options }: { readonly team: string; readonly lease: LeaseOptions },
  work: LeasedWork<R>,
): Promise<R> {
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
 * One transaction of a run: it holds the lease to the end, and the triggers on the mirror let it through. The lease is
 * extended where half of it or more is over. Nobody can take it meanwhile, so that is done once more before the
 * commit, even past its expiry.
 * @throws MusterdError `lease-lost`
 */
export async function fenced<R>(
  db: Database,
  lease: Lease,
  work: (tx: Transaction) => Promise<R>,
  runId?: bigint,
): Promise<R> {
  let extendedMs: number | undefined;
  let isHeld = false;
  const take = ({ rows: [held], sentMs }: Opened) => {
    isHeld = held !== undefined;
    extendedMs = (held as HeldRow | undefined)?.extended === true ? sentMs : undefined;
  };
  const result = await db.transaction(
    async (tx) => {
      if (!isHeld) throw lost(lease.team);
      const done = await work(tx);
      if (!lease.isLate()) return done;
      const sentMs = performance.now();
      const { rows } = await sql<HeldRow>`${sql.raw(holding(lease, true, runId))}`.execute(tx);
      if (rows[0] === undefined) throw lost(lease.team);
      if (rows[0].extended) extendedMs = sentMs;
      return done;
    },
    { opening: { text: holding(lease, false, runId), take } },
  );
  if (extendedMs !== undefined) lease.extended(extendedMs);
  return result;
}
