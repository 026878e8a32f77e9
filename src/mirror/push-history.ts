/** What the ledger and the probes teach about pushing: what had no effect, whom nobody answered for, what names suffer. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Intent, Tries } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { Field } from '../model/user.ts';
import { patchInSql } from './patch-in-sql.ts';
import { fieldOfSql } from './users-read.ts';

/**
 * How often each of these very values was pushed before to no effect, by user and field, since a push of
 * that field last had one.
 */
export async function countIneffective<T>(
  db: Kysely<T>,
  teamId: Id,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, Tries>> {
  const asked = intents.map(({ userId, changeId, sent }) => ({
    id: userId,
    change_id: changeId,
    sent: patchInSql(sent),
  }));
  const { rows } = await sql<{ user_id: bigint; field: string; count: bigint }>`
    select s.id as user_id, f.key as field, tried.count
    from jsonb_to_recordset(${toJson(asked)}::jsonb) as s (id bigint, change_id bigint, sent jsonb)
    cross join lateral jsonb_each(s.sent) as f (key, value)
    cross join lateral (
      select count(*) as count from sync.changes c
      where c.team_id = ${teamId} and c.user_id = s.id and c.kind = 'push' and c.change_id < s.change_id
        and c.change_id > coalesce((
          select k.change_id from sync.changes k
          where k.team_id = ${teamId} and k.user_id = s.id and k.kind = 'push' and k.change_id < s.change_id
            and k.outcome ->> f.key = 'confirmed'
          order by k.change_id desc limit 1
        ), 0)
        and c.new -> f.key = f.value and c.outcome ->> f.key in ('ineffective', 'missing', 'unanswered')
    ) tried
    where tried.count > 0`.execute(db);
  const tries = new Map<Id, Partial<Record<Field, number>>>();
  for (const { user_id, field, count } of rows) {
    tries.set(user_id, { ...tries.get(user_id), [fieldOfSql(field)]: Number(count) });
  }
  return tries;
}

/** Those of these users whose last push was sent and never answered for. */
export async function readUnanswered<T>(
  db: Kysely<T>,
  teamId: Id,
  ids: readonly Id[],
): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<{ user_id: bigint }>`
    select w.id as user_id
    from unnest(${ids}::bigint[]) as w (id)
    cross join lateral (
      select c.outcome from sync.changes c
      where c.team_id = ${teamId} and c.user_id = w.id and c.kind = 'push' order by c.change_id desc limit 1
    ) last
    where last.outcome::text like '%"unanswered"%'`.execute(db);
  return new Set(rows.map(({ user_id }) => user_id));
}

/** What `musterd check --write-probe` asks, and what a push without a name answers as well. */
export const keepsNameProbe = 'an email alone keeps the name';

/** Kept for good: the name is set right again some day, and the deployment is what it was all the same. */
export async function noteTouchedName<T>(tx: Transaction<T>, teamId: Id): Promise<void> {
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
