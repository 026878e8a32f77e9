/** The process that holds a team's lease. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Queryable, Row, Transaction } from '../db/database.ts';
import { thisProcess } from '../db/process-identity.ts';

/** Ms, far longer than any lease. If a lease ends later than this, it was written before the clock was set back. */
const longestMs = 15 * 60_000;

export interface Holder
  extends Row<'sync.leases', 'lease_id' | 'host' | 'pid' | 'process' | 'taken_at' | 'expires_at'> {
  readonly expired: boolean;
  /** True if the lease ends later than any lease can, because the clock was set back. */
  readonly unbelievable: boolean;
}

export const isUnbelievable = (ttlMs: number) =>
  sql`expires_at > clock_timestamp() + ${Math.max(longestMs, ttlMs)} * interval '1 ms'`;

export async function readHolder(db: Queryable, team: string, ttlMs: number): Promise<Holder | undefined> {
  const { rows } = await sql<Holder>`
    select lease_id, host, pid, process, taken_at, expires_at, expires_at <= clock_timestamp() as expired,
      ${isUnbelievable(ttlMs)} as unbelievable
    from sync.leases where team = ${team}`.execute(db);
  return rows[0];
}

export function inWords({ host, pid, taken_at }: Holder): string {
  const where = host === thisProcess().host ? `process ${pid}` : `process ${pid} on ${host}`;
  return `${where}, since ${taken_at.toISOString()}`;
}

export function leaseHeld(team: string, holder: Holder | undefined, isLocked: boolean): MusterdError {
  const holderWords = holder === undefined ? 'it began a moment ago' : inWords(holder);
  const expiry = holder?.expires_at.toISOString();
  return new MusterdError('lease-held', `Another run of team "${team}" is under way: ${holderWords}`, {
    hint: isLocked
      ? 'That run is in a transaction, or another session locks its row of sync.leases; see pg_stat_activity and pg_locks.'
      : `Wait for it to end. If its machine is gone, the lease expires by itself at ${expiry}.`,
  });
}

export interface LeaseOptions {
  /** The lease is valid for this many ms after its last renewal. */
  readonly ttlMs: number;
  /** How long to wait for another run to end, in ms; if absent, there is no waiting. */
  readonly waitMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, when the wait begins, with the current holder. */
  readonly onWait?: ((who: string) => void) | undefined;
}

/** A team, and how to wait until no run of it is under way. */
export interface LeasedTeam {
  readonly team: string;
  readonly lease: LeaseOptions;
}

/** Sets the end of a lease that ends too far in the future, as if renewed now, so that a dead holder's lease expires. */
export async function shorten(
  tx: Transaction,
  { team, ttlMs }: { readonly team: string; readonly ttlMs: number },
): Promise<void> {
  await sql`
    with far as (
      select team from sync.leases where team = ${team} and ${isUnbelievable(ttlMs)} for update skip locked
    )
    update sync.leases l set expires_at = clock_timestamp() + ${ttlMs} * interval '1 ms'
    from far where l.team = far.team`.execute(tx);
}
