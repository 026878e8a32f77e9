/** What updates without a name do to the name on this deployment, and how harmed names are restored. */
import { sql } from 'kysely';
import type { IntentResult, NameSafety } from '../model/intent.ts';
import type { Id } from '../model/id.ts';
import { canonicalName } from '../model/name.ts';
import { readable } from '../model/user.ts';
import type { Queryable, Transaction } from './database.ts';
import { type LearnedValue, readLearned, writeLearned } from './learned.ts';

/** The topic of `musterd check --write-probe`, which pushes without a name update too. */
export const keepsNameProbe = 'an email alone keeps the name';

/** Whether an update had an effect and its answer shows the name; otherwise it proves nothing. */
function showsName({ outcomes, seen }: IntentResult): boolean {
  return Object.values(outcomes).includes('confirmed') && canonicalName(readable(seen?.name) ?? '') !== '';
}

/**
 * Records users that kept their name after an update without one; what is certain stays. If the fields of a push are
 * settled one after another, the rest may lack the name that was sent, so it proves nothing.
 * @returns whether this is new
 */
export async function noteKeptName(
  tx: Transaction,
  teamId: Id,
  changeIds: readonly bigint[],
): Promise<boolean> {
  const { rows } = await sql`
    insert into sync.learned as l (team, topic, value)
    select team, ${keepsNameProbe}, '{"keeps_name": true}' from sync.teams where team_id = ${teamId}
      and exists (
        select from sync.changes c where c.change_id = any (${changeIds}::bigint[]) and not c.new ? 'name'
          and c.state = 'closed' and c.outcome::text like '%"confirmed"%'
      )
    on conflict (team, topic) do update set value = excluded.value, learned_at = clock_timestamp()
      where l.value ? 'suspect'
    returning team`.execute(tx);
  return rows.length > 0;
}

/** Kept for ever unless it is about a single user: names get corrected, but the deployment stays the same. */
async function noteHarm(tx: Transaction, teamId: Id, suspect: Id | null): Promise<void> {
  const value = { keeps_name: false, ...(suspect === null ? {} : { suspect }) };
  await writeLearned(tx, teamId, [{ topic: keepsNameProbe, value }]);
}

/**
 * Ends the holds of names that an update seemed to harm, once it is known whether it did. If so, base has what
 * was left of the name, and the next run restores it. If not, somebody else changed the name, and base gets its
 * earlier value back. Only such a hold has an unedited name and a base that moved since.
 */
export async function endSuspicion(tx: Transaction, teamId: Id, keepsName: boolean): Promise<void> {
  await sql`
    with ended as (
      delete from sync.held_fields h using sync.user_base b
      where h.team_id = ${teamId} and b.team_id = h.team_id and b.id = h.user_id
        and h.field = 'name' and h.reason = 'conflict' and h.base_value = h.mirror_value
        and (b.first_name, b.last_name) is distinct from (h.base_value ->> 'first', h.base_value ->> 'last')
      returning h.user_id, h.base_value ->> 'first' as first_name, h.base_value ->> 'last' as last_name
    )
    update sync.user_base b set first_name = e.first_name, last_name = e.last_name,
      name = btrim(e.first_name || ' ' || e.last_name), agreed_at = clock_timestamp()
    from ended e where ${keepsName} and b.team_id = ${teamId} and b.id = e.user_id`.execute(tx);
}

/**
 * Records what these results show.
 *
 * | known before    | a name is harmed           | a name is kept without being sent |
 * |-----------------|----------------------------|-----------------------------------|
 * | nothing, *kept* | of one user: *suspect*     | *kept*                            |
 * | *suspect*       | of a second one: *touched* | of another: *kept*                |
 * | *touched*       | ·                          | ·                                 |
 *
 * @param wereKept it was *kept* when the run began: until a name is harmed there is nothing to learn
 */
export async function noteNames(
  tx: Transaction,
  teamId: Id,
  results: readonly IntentResult[],
  wereKept: boolean,
): Promise<void> {
  if (wereKept && !results.some(({ harmed }) => harmed)) return;
  const known = await readNameSafety(tx, teamId);
  const suspect = typeof known === 'object' ? [known.suspect] : [];
  const harmed = results.filter((result) => result.harmed).map(({ intent }) => intent.userId);
  if (harmed.length > 0) {
    if (known === 'touched') return;
    const [first, ...others] = new Set([...suspect, ...harmed]);
    await noteHarm(tx, teamId, others.length > 0 ? null : (first ?? null));
    if (others.length > 0) await endSuspicion(tx, teamId, false);
    return;
  }
  if (known === 'kept') return;
  const kept = results.filter(
    (result) =>
      result.intent.sent.name === undefined &&
      result.intent.along === undefined &&
      showsName(result) &&
      !suspect.includes(result.intent.userId),
  );
  const news =
    kept.length > 0 &&
    (await noteKeptName(
      tx,
      teamId,
      kept.map(({ intent }) => intent.changeId),
    ));
  if (news) await endSuspicion(tx, teamId, true);
}

/** A name that is already held stays so: the harm is one more reason to look at it. */
export async function withoutWaitingNames(
  tx: Transaction,
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

export async function readNameSafety(db: Queryable, teamId: Id): Promise<NameSafety> {
  return nameSafetyOf(await readLearned(db, teamId, keepsNameProbe));
}

export function nameSafetyOf(learned: Pick<LearnedValue, 'value'> | undefined): NameSafety {
  const { keeps_name: keeps, suspect } = (learned?.value ?? {}) as { keeps_name?: boolean; suspect?: Id };
  if (suspect !== undefined) return { suspect: BigInt(suspect) };
  return keeps === undefined ? 'unknown' : keeps ? 'kept' : 'touched';
}
