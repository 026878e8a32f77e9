/** Records what an update without a name does to a user's name on the service. */
import { sql } from 'kysely';
import type { IntentResult, NameSafety } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import { canonicalName } from '../../model/name.ts';
import { readable } from '../../model/user.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { type LearnedValue, readLearned, writeLearned } from './learned.ts';

/** The topic with this finding. `musterd check --write-probe` writes it, and so do pushes without a name. */
export const keepsNameProbe = 'an email alone keeps the name';

/** True if this proves that names are kept: an update without a name had an effect, and its answer shows a name. */
const showsKeptName = ({ intent, outcomes, seen }: IntentResult): boolean =>
  intent.sent.name === undefined &&
  intent.along === undefined &&
  Object.values(outcomes).includes('confirmed') &&
  canonicalName(readable(seen?.name) ?? '') !== '';

/**
 * Records that names are kept, unless the topic has a value already. The recorded push is checked for a name, too: if its
 * fields were settled one after another, the result of a later field does not show that the push contained a name.
 */
export async function noteKeptName(tx: Transaction, teamId: Id, changeIds: readonly bigint[]): Promise<void> {
  await sql`
    insert into sync.learned (team, topic, value)
    select team, ${keepsNameProbe}, '{"keeps_name": true}' from sync.teams where team_id = ${teamId}
      and exists (
        select from sync.changes c where c.change_id = any (${changeIds}::bigint[]) and not c.new ? 'name'
          and c.state = 'closed' and c.outcome::text like '%"confirmed"%'
      )
    on conflict (team, topic) do nothing`.execute(tx);
}

/**
 * Records what these results show about names. A harmed name was cleared or shortened by an update that lacked it:
 *
 * | known before | a name is harmed | a name is kept without being sent |
 * |--------------|------------------|-----------------------------------|
 * | *unknown*    | *clears*         | *keeps*                           |
 * | *keeps*      | *clears*         | ·                                 |
 * | *clears*     | ·                | ·                                 |
 *
 * Only `musterd check --write-probe` ends *clears*.
 */
export async function noteNames(
  tx: Transaction,
  teamId: Id,
  results: readonly IntentResult[],
): Promise<void> {
  if (results.some(({ harmed }) => harmed))
    return await writeLearned(tx, teamId, [{ topic: keepsNameProbe, value: { keeps_name: false } }]);
  const kept = results.filter(showsKeptName);
  if (kept.length === 0) return;
  await noteKeptName(
    tx,
    teamId,
    kept.map(({ intent }) => intent.changeId),
  );
}

export async function readNameSafety(db: Queryable, teamId: Id): Promise<NameSafety> {
  return nameSafetyOf(await readLearned(db, teamId, keepsNameProbe));
}

export function nameSafetyOf(learned: Pick<LearnedValue, 'value'> | undefined): NameSafety {
  const { keeps_name: keeps } = (learned?.value ?? {}) as { keeps_name?: boolean };
  return keeps === undefined ? 'unknown' : keeps ? 'keeps' : 'clears';
}
