/** Reads what the ledger shows about earlier pushes: which had no effect, and which got no answer. */
import { sql } from 'kysely';
import { type Field, fieldOf } from '../../model/fields.ts';
import type { Intent, PushTries } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Queryable } from '../db/database.ts';
import { patchInSql } from '../users/edits.ts';

/** Counts by user and field how often these values were pushed without effect, since the last push that had one. */
export async function countIneffective(
  db: Queryable,
  teamId: Id,
  intents: readonly Intent[],
): Promise<ReadonlyMap<Id, PushTries>> {
  const pushes = intents.map(({ userId, changeId, sent }) => ({
    id: userId,
    change_id: changeId,
    sent: patchInSql(sent),
  }));
  const { rows } = await sql<{ user_id: Id; field: string; count: bigint }>`
    select s.id as user_id, f.key as field, tried.count
    from jsonb_to_recordset(${toJson(pushes)}::jsonb) as s (id bigint, change_id bigint, sent jsonb)
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
        and c.new -> f.key = f.value and (c.outcome ->> f.key in ('ineffective', 'missing', 'unanswered')
          or c.outcome ->> f.key = 'unsent' and c.sent_at is not null)
    ) tried
    where tried.count > 0`.execute(db);
  const tries = new Map<Id, Partial<Record<Field, number>>>();
  for (const { user_id, field, count } of rows) {
    tries.set(user_id, { ...tries.get(user_id), [fieldOf(field)]: Number(count) });
  }
  return tries;
}

/** Reads which of these users had a last push that was sent and got no answer. */
export async function readUnanswered(
  db: Queryable,
  teamId: Id,
  ids: readonly Id[],
): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<{ user_id: Id }>`
    select w.id as user_id
    from unnest(${ids}::bigint[]) as w (id)
    cross join lateral (
      select c.outcome from sync.changes c
      where c.team_id = ${teamId} and c.user_id = w.id and c.kind = 'push' order by c.change_id desc limit 1
    ) last
    where last.outcome::text like '%"unanswered"%'`.execute(db);
  return new Set(rows.map(({ user_id }) => user_id));
}
