/** What updates without a name do to the name on this deployment, and what becomes of the names that they harm. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { IntentResult } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import { canonicalName } from '../model/name.ts';

/** What `musterd check --write-probe` asks, and what a push without a name answers as well. */
export const keepsNameProbe = 'an email alone keeps the name';

/** Kept for good: the name is set right again some day, and the deployment is what it was all the same. */
async function noteTouchedName<T>(tx: Transaction<T>, teamId: Id): Promise<void> {
  await sql`
    insert into sync.probes (team, probe, answer)
    select team, ${keepsNameProbe}, '{"keeps_name": false}' from sync.teams where team_id = ${teamId}
    on conflict (team, probe) do update set answer = excluded.answer, probed_at = clock_timestamp()`.execute(
    tx,
  );
}

/**
 * Whoever was seen with a name after an update without one; whatever was noted before stays. Of a push whose
 * fields are settled one after another, what is left may lack the name that was sent: it is no evidence.
 */
export async function noteKeptName<T>(
  tx: Transaction<T>,
  teamId: Id,
  changeIds: readonly bigint[],
): Promise<void> {
  await sql`
    insert into sync.probes (team, probe, answer)
    select team, ${keepsNameProbe}, '{"keeps_name": true}' from sync.teams where team_id = ${teamId}
      and exists (
        select from sync.changes c where c.change_id = any (${changeIds}::bigint[]) and not c.new ? 'name'
          and c.state = 'closed' and c.outcome::text like '%"confirmed"%'
      )
    on conflict (team, probe) do nothing`.execute(tx);
}

/** Whether an update had its effect and the name is there to be seen; an answer without a name tells nothing. */
function showsName({ outcomes, seen }: IntentResult): boolean {
  return Object.values(outcomes).includes('confirmed') && canonicalName(seen?.name ?? '') !== '';
}

/** Notes what these results teach. */
export async function noteNames<T>(
  tx: Transaction<T>,
  teamId: Id,
  results: readonly IntentResult[],
): Promise<void> {
  const nameless = results.filter(({ intent }) => intent.sent.name === undefined);
  if (results.some(({ harmed }) => harmed)) await noteTouchedName(tx, teamId);
  else if (nameless.some(showsName))
    await noteKeptName(
      tx,
      teamId,
      nameless.map(({ intent }) => intent.changeId),
    );
}

/** A name that waits already is left as it is: what an update left of it is one more reason to look at it. */
export async function withoutWaitingNames<T>(
  tx: Transaction<T>,
  teamId: Id,
  results: readonly IntentResult[],
): Promise<readonly IntentResult[]> {
  const ids = results.filter(({ harmed }) => harmed).map(({ intent }) => intent.userId);
  if (ids.length === 0) return results;
  const { rows } = await sql<{ user_id: bigint }>`
    select user_id from sync.held_fields
    where team_id = ${teamId} and field = 'name' and user_id = any (${ids}::bigint[])`.execute(tx);
  const waiting = new Set(rows.map(({ user_id }) => user_id));
  return results.map((result) =>
    waiting.has(result.intent.userId)
      ? { ...result, harmed: false, holds: result.holds.filter(({ field }) => field !== 'name') }
      : result,
  );
}

/** Whether an update without a name leaves the name alone on this deployment, as far as it was seen. */
export async function readNameSafety<T>(db: Kysely<T>, teamId: Id): Promise<'kept' | 'touched' | 'unknown'> {
  const { rows } = await sql<{ safety: 'kept' | 'touched' | 'unknown' }>`
    select case
      when p.answer = '{"keeps_name": false}' then 'touched'
      when p.answer = '{"keeps_name": true}' then 'kept'
      else 'unknown' end as safety
    from sync.teams t
    left join sync.probes p on p.team = t.team and p.probe = ${keepsNameProbe}
    where t.team_id = ${teamId}`.execute(db);
  return rows[0]?.safety ?? 'unknown';
}
