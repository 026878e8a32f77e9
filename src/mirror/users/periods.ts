/** The history of the roster: `sync.user_periods`, written by triggers on `mirror.users`. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { columnNames, valuesOf } from '../db/field-sql.ts';
import { anyOf, idArray } from '../db/by-key.ts';
import type { Transaction } from '../db/database.ts';

const values = (row: string): RawBuilder<unknown> =>
  sql`${valuesOf(row)}, ${sql.ref(`${row}.edited_at`)}, ${sql.ref(`${row}.edited_by`)}`;

/** True if the row u of `mirror.users` differs from its history, because it changed while the triggers were off. */
export const isUnrecorded = sql`(u.id is not null and u.gone_at is null and (${values('u')}) is distinct from (
  select (${values('p')}) from sync.user_periods p
  where p.team_id = u.team_id and p.user_id = u.id order by p.valid_from desc limit 1))`;

/** Updates these rows without a change, so that the triggers record them. Rows that an editor has locked must wait. */
export async function recordUsers(tx: Transaction, teamId: Id, ids: readonly Id[]): Promise<void> {
  await sql`
    update mirror.users set resolved = resolved
    where team_id = ${teamId} and id in (
      select id from mirror.users where team_id = ${teamId} and id = ${anyOf(ids)} order by id for update skip locked)`.execute(
    tx,
  );
}

/** Ends the periods of users whose row no longer exists. */
export async function endPeriods(
  tx: Transaction,
  { teamId, runId }: { readonly teamId: Id; readonly runId: bigint },
  ids: readonly Id[],
): Promise<void> {
  await sql`
    with closed as (
      update sync.user_periods p set valid_to = greatest(now(), p.valid_from + interval '1 microsecond')
      where p.team_id = ${teamId} and p.user_id = any (${idArray(ids)}) and p.valid_to = 'infinity' and p.present
        and not exists (select from mirror.users u where u.team_id = ${teamId} and u.id = p.user_id)
      returning p.*
    )
    insert into sync.user_periods (team_id, user_id, valid_from, present, name, ${columnNames},
      role, resolved, created_at, updated_at, edited_at, edited_by, side, run_id)
    select team_id, user_id, valid_to, false, name, ${columnNames},
      role, resolved, created_at, updated_at, edited_at, edited_by, 'service', ${runId}
    from closed`.execute(tx);
}
