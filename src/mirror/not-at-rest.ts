/** Whoever may not be equal on both sides, found by an index (`users_not_at_rest`): the others are counted, and not looked at. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { idArray } from './by-key.ts';
import type { Queryable } from './database.ts';

export interface NotAtRest {
  readonly teamId: Id;
  readonly present: number;
  readonly left: number;
  readonly edited: readonly Id[];
  readonly unresolved: readonly Id[];
}

/** Was edited here, is unresolved or has left. */
const isNotAtRest = sql`(edited_at is not null or not resolved or gone_at is not null)`;

export async function readNotAtRest(db: Queryable, teamIds: readonly Id[]): Promise<readonly NotAtRest[]> {
  const { rows } = await sql<NotAtRest>`
    select t.id as "teamId", (select count(*)::int from mirror.users where team_id = t.id) - n."left" as present, n.*
    from unnest(${idArray(teamIds)}) t (id)
    cross join lateral (
      select count(*) filter (where gone_at is not null)::int as "left",
        coalesce(array_agg(id) filter (where edited_at is not null and gone_at is null), '{}') as edited,
        coalesce(array_agg(id) filter (where not resolved and gone_at is null), '{}') as unresolved
      from mirror.users where team_id = t.id and ${isNotAtRest}
    ) n
    order by t.id`.execute(db);
  return rows;
}

/**
 * Of whom the mirror may differ from the base: also who has a field held or a push open. Missing are those whom
 * somebody edited with the triggers off.
 */
export const idsOfSuspects = (teamId: Id): RawBuilder<unknown> => sql`
  select id from mirror.users where team_id = ${teamId} and ${isNotAtRest}
  union select user_id from sync.held_fields where team_id = ${teamId} and user_id is not null
  union select user_id from sync.changes where team_id = ${teamId} and state = 'open'`;

/** Their rows of `report.pending`, each found by its key: whatever Postgres knows of the tables, it reads no other base. */
export const pendingOf = (teamId: Id, ids: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (${ids}) one (id)
  cross join lateral (
    select * from report.pending where team_id = ${teamId} and user_id = one.id offset 0
  ) p`;
