/** Reads earlier pushes in the ledger: pushes that failed to change a value, and unanswered pushes. */
import { sql } from 'kysely';
import { fieldOf } from '../../model/fields.ts';
import type { EarlierPushes, EarlierThan, PushTries } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Queryable } from '../db/database.ts';
import { patchInSql } from '../users/edits.ts';

/** Reads the outcomes of earlier pushes to these users. */
export async function readEarlier(
  db: Queryable,
  teamId: Id,
  pushes: readonly EarlierThan[],
): Promise<EarlierPushes> {
  const asked = pushes.map(({ userId, changeId, sent }) => ({
    id: userId,
    change_id: changeId,
    sent: patchInSql(sent),
  }));
  const { rows } = await sql<{ user_id: Id; is_unanswered: boolean; tries: Record<string, number> | null }>`
    select s.id as user_id, coalesce((
        select c.outcome::text like '%"unanswered"%' from sync.changes c
        where c.team_id = ${teamId} and c.user_id = s.id and c.kind = 'push' order by c.change_id desc limit 1
      ), false) as is_unanswered, tried.tries
    from jsonb_to_recordset(${toJson(asked)}::jsonb) as s (id bigint, change_id bigint, sent jsonb)
    cross join lateral (
      select jsonb_object_agg(t.key, t.count) filter (where t.count > 0) as tries from (
        select f.key, (
          select count(*) from sync.changes c
          where c.team_id = ${teamId} and c.user_id = s.id and c.kind = 'push' and c.change_id < s.change_id
            and c.change_id > coalesce((
              select k.change_id from sync.changes k
              where k.team_id = ${teamId} and k.user_id = s.id and k.kind = 'push' and k.change_id < s.change_id
                and k.outcome ->> f.key = 'confirmed'
              order by k.change_id desc limit 1
            ), 0)
            and c.new -> f.key = f.value and (c.outcome ->> f.key in ('ineffective', 'missing', 'unanswered')
              or c.outcome ->> f.key = 'unsent' and c.sent_at is not null)
        ) as count
        from jsonb_each(s.sent) as f (key, value)
      ) t
    ) tried`.execute(db);
  return {
    unanswered: new Set(rows.flatMap(({ user_id, is_unanswered }) => (is_unanswered ? [user_id] : []))),
    tries: new Map(
      rows.flatMap(({ user_id, tries }): readonly [Id, PushTries][] =>
        tries === null
          ? []
          : [
              [
                user_id,
                Object.fromEntries(Object.entries(tries).map(([column, of]) => [fieldOf(column), of])),
              ],
            ],
      ),
    ),
  };
}
