/**
 * Stale users: the service shows an older version than before, because of a cached answer or a lagging replica.
 * Two columns show the version of a row: `updated_at` and `user_updated_at`.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { anyOf } from '../db/by-key.ts';
import type { Transaction } from '../db/database.ts';

/** True if the staged row s is older than the row u of `mirror.users` in one of these columns, and newer in neither. */
export function isOlder(u: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(
    (coalesce(s.updated_at < ${u}.updated_at, false) or coalesce(s.user_updated_at < ${u}.user_updated_at, false))
    and not coalesce(s.updated_at > ${u}.updated_at, false)
    and not coalesce(s.user_updated_at > ${u}.user_updated_at, false))`;
}

/**
 * True if an older version must be accepted, because at least three runs over half an hour have seen it (counted in the
 * base b). A service that was restored from a backup continues to show older versions.
 */
export const isToBeBelieved = sql`coalesce(b.older_passes >= 2 and b.older_since <= clock_timestamp() - interval '30 min', false)`;

/** Counts one more run that saw an older version of these users. */
export async function noteStale(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<void> {
  await sql`
    update sync.user_base
    set older_since = coalesce(older_since, clock_timestamp()), older_passes = coalesce(older_passes, 0) + 1
    where team_id = ${teamId} and id = ${anyOf(ids)}`.execute(tx);
}

/** Ends the count for users whose version is as new as before, or who are accepted although it is older. */
export async function endStale(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('sync.user_base')
    .set({ older_since: null, older_passes: null })
    .where('team_id', '=', teamId)
    .where('id', '=', anyOf(ids))
    .where('older_since', 'is not', null)
    .execute();
}
