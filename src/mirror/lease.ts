/**
 * One run of a team at a time. The lease is a row with a random id and an expiry, renewed while the run
 * lives. It is checked before each write to the service and within each transaction, so that a process
 * that stalled past its expiry can neither send nor commit what it began before. A transaction of the run
 * holds the row, and with it the lease, however long it takes. No session-level locks: the row serves
 * behind a PgBouncer in transaction mode as well.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { MusterdError } from '../errors.ts';
import type { Database } from './database.ts';
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
  /** Gives it back, if it is still ours. */
  release(): Promise<void>;
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

async function readHolder<T>(db: Kysely<T>, team: string): Promise<Holder | undefined> {
  const { rows } = await sql<Holder>`
    select lease_id, host, pid, process, taken_at, expires_at, expires_at <= clock_timestamp() as expired
    from sync.leases where team = ${team}`.execute(db);
  return rows[0];
}

function inWords({ host, pid, taken_at }: Holder): string {
  const where = host === thisProcess().host ? `process ${pid}` : `process ${pid} on ${host}`;
  return `${where}, since ${taken_at.toISOString()}`;
}

const held = (team: string, holder: Holder) =>
  new MusterdError('lease-held', `Another run of team "${team}" is under way: ${inWords(holder)}`, {
    hint: `Wait for it to end. If its machine is gone, the lease expires by itself at ${holder.expires_at.toISOString()}.`,
  });

/** @throws MusterdError `stopped` */
function endIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new MusterdError('stopped', 'Asked to stop before anything was written', { cause: signal.reason });
}

/**
 * Takes the team's lease. A holder on this host that no longer runs is seen at once; one elsewhere when
 * its lease expires. Whether it is free is decided by the statement that takes it: a lease that its holder
 * renewed a moment before stays the holder's.
 * @throws MusterdError `lease-held`; `stopped` when it is asked to during the wait
 */
export async function takeLease<T>(
  db: Database<T>,
  team: string,
  { ttlMs, waitMs = 0, signal, onWait }: LeaseOptions,
): Promise<Lease> {
  const leaseId = randomUUID();
  const me = thisProcess();
  const until = performance.now() + waitMs;
  let waits = false;
  for (;;) {
    if (waits) endIfStopped(signal);
    const holder = await readHolder(db.kysely, team);
    const dead = holder !== undefined && holder.host === me.host && !isRunning(holder);
    if (holder !== undefined && !holder.expired && !dead) {
      if (performance.now() >= until) throw held(team, holder);
      if (!waits) onWait?.(`another run of team "${team}": ${inWords(holder)}`);
      waits = true;
      await sleep(askEveryMs, undefined, { signal }).catch(() => {});
      continue;
    }
    const sinceMs = performance.now();
    const taken = await db.transaction((tx) =>
      sql`
        insert into sync.leases as l (team, lease_id, host, pid, process, taken_at, expires_at)
        values (${team}, ${leaseId}, ${me.host}, ${me.pid}, ${me.process}, clock_timestamp(),
                clock_timestamp() + ${ttlMs} * interval '1 ms')
        on conflict (team) do update set lease_id = excluded.lease_id, host = excluded.host, pid = excluded.pid,
          process = excluded.process, taken_at = excluded.taken_at, expires_at = excluded.expires_at
        where l.expires_at <= clock_timestamp() or l.lease_id = ${dead ? holder.lease_id : null}::uuid
        returning lease_id`.execute(tx),
    );
    if (taken.rows.length > 0) return createLease(db, { team, leaseId, ttlMs }, sinceMs);
  }
}

function createLease<T>(db: Database<T>, own: OwnLease, sinceMs: number): Lease {
  const { team, leaseId, ttlMs } = own;
  let renewing = false;
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
    require: () => {
      if (performance.now() >= knownUntilMs) throw lost(team);
    },
    check: async () => {
      const { rows } = await sql`
        select 1 from sync.leases
        where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp()`.execute(db.kysely);
      if (rows.length === 0) throw lost(team);
    },
    release: async () => {
      clearInterval(timer);
      await db.transaction((tx) =>
        sql`delete from sync.leases where team = ${team} and lease_id = ${leaseId}`.execute(tx),
      );
    },
  };
}

/** A transaction of ours that holds the row extends the lease itself: nobody waits for it here. */
async function prolong<T>(tx: Transaction<T>, { team, leaseId, ttlMs }: OwnLease): Promise<boolean> {
  const { rows } = await sql`
    with mine as (
      select team from sync.leases
      where team = ${team} and lease_id = ${leaseId} and expires_at > clock_timestamp() for update skip locked
    )
    update sync.leases l set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    from mine where l.team = mine.team returning l.team`.execute(tx);
  return rows.length > 0;
}

/** Lets the rest of its transaction pass the triggers. @returns whether it was ours, and what was asked of it true */
async function extend<T>(
  db: Kysely<T>,
  { team, leaseId, ttlMs }: OwnLease,
  only: RawBuilder<unknown>,
): Promise<boolean> {
  const { rows } = await sql`
    update sync.leases set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    where team = ${team} and lease_id = ${leaseId} and ${only}
    returning set_config('musterd.writing', 'on', true)`.execute(db);
  return rows.length > 0;
}

/** What is done in one transaction, by a caller that knows nothing of the database. */
export type Work<R> = (tx: Transaction<unknown>) => Promise<R>;

/**
 * One transaction under a lease of its own, for which it waits: no run is under way meanwhile.
 * @throws MusterdError `lease-held`; `stopped` when it is asked to before it has begun to write
 */
export async function underLease<R>(
  db: Database<unknown>,
  { team, lease: options }: { readonly team: string; readonly lease: LeaseOptions },
  work: Work<R>,
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
 * One transaction of a run: it holds the lease to the end, and the triggers on the mirror let it through.
 * Nobody can take the lease meanwhile, so it is extended once more before the commit, even past its expiry.
 * @throws MusterdError `lease-lost`
 */
export async function fenced<T, R>(
  db: Database<T>,
  lease: Lease,
  work: (tx: Transaction<T>) => Promise<R>,
): Promise<R> {
  let extendedMs = 0;
  const result = await db.transaction(async (tx) => {
    extendedMs = performance.now();
    if (!(await extend(tx, lease, sql`expires_at > clock_timestamp()`))) throw lost(lease.team);
    const done = await work(tx);
    const beforeCommitMs = performance.now();
    const isLate = sql`expires_at < clock_timestamp() + ${lease.ttlMs / 2} * interval '1 ms'`;
    if (await extend(tx, lease, isLate)) extendedMs = beforeCommitMs;
    return done;
  });
  lease.extended(extendedMs);
  return result;
}
