/**
 * Rows that are older than what the service has shown before, because of a cached answer or a lagging replica. They
 * are recognised by their two versions, `updated_at` and `user_updated_at`.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { anyOf } from '../db/by-key.ts';
import type { Transaction } from '../db/database.ts';

/** Whether the row staged as s is older than the row u of `mirror.users` in one version and newer in none. */
export function isOlder(u: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(
    (coalesce(s.updated_at < ${u}.updated_at, false) or coalesce(s.user_updated_at < ${u}.user_updated_at, false))
    and not coalesce(s.updated_at > ${u}.updated_at, false)
    and not coalesce(s.user_updated_at > ${u}.user_updated_at, false))`;
}

/**
 * Whether by the base b the older row is accepted: this pass is at least the
 * third, half an hour after the first. A service that was restored from a backup stays at older versions.
 */
export const isToBeBelieved = sql`coalesce(b.older_passes >= 2 and b.older_since <= clock_timestamp() - interval '30 min', false)`;

/** Counts one more pass that showed these users older than before. */
export async function noteStale(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<void> {
  await sql`
    update sync.user_base
    set older_since = coalesce(older_since, clock_timestamp()), older_passes = coalesce(older_passes, 0) + 1
    where team_id = ${teamId} and id = ${anyOf(ids)}`.execute(tx);
}

/** Forgets it for users that are shown with a version as new as before, or that are accepted although older. */
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
