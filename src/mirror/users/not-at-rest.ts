/** Finds users who may differ between mirror and service, by the index `users_not_at_rest`. Counts all other users. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { idArray } from '../db/by-key.ts';
import type { Queryable } from '../db/database.ts';

export interface NotAtRest {
  readonly teamId: Id;
  readonly present: number;
  readonly left: number;
  readonly edited: readonly Id[];
  readonly unresolved: readonly Id[];
}

/** True if the user was edited in the mirror, is unresolved, or is marked as gone. */
const isNotAtRest = sql`(edited_at is not null or not resolved or gone_at is not null)`;

export async function readNotAtRest(db: Queryable, teamIds: readonly Id[]): Promise<readonly NotAtRest[]> {
  const { rows } = await sql<NotAtRest>`
    select t.id as "teamId", (select count(*)::int from mirror.users where team_id = t.id) - n."left" as present, n.*
    from unnest(${idArray(teamIds)}) t (id)
    cross join lateral (
      select count(*) filter (where gone_at is not null)::int as "left",
        coalesce(array_agg(id) filter (where edited_at is not null), '{}') as edited,
        coalesce(array_agg(id) filter (where not resolved and gone_at is null), '{}') as unresolved
      from mirror.users where team_id = t.id and ${isNotAtRest}
    ) n
    order by t.id`.execute(db);
  return rows;
}

/**
 * Users whose mirror may differ from the base, including those with a held field or an open push. Does not include
 * users edited while the triggers were off.
 */
export const idsOfSuspects = (teamId: Id): RawBuilder<unknown> => sql`
  select id from mirror.users where team_id = ${teamId} and ${isNotAtRest}
  union select user_id from sync.held_fields where team_id = ${teamId}
  union select user_id from sync.changes where team_id = ${teamId} and state = 'open' and user_id is not null`;

/** The rows of `report.pending` for these users. Each user is looked up by key, so that no other user's base is read. */
export const pendingOf = (teamId: Id, ids: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (${ids}) one (id)
  cross join lateral (
    select * from report.pending where team_id = ${teamId} and user_id = one.id offset 0
  ) p`;
