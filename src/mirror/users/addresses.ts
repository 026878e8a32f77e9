/** The addresses to look users up by on the service. */
import { type RawBuilder, sql } from 'kysely';
import type { Addresses, KnownUser } from '../../model/plan.ts';
import type { Id } from '../../model/id.ts';
import { byKey, idArray } from '../db/by-key.ts';
import type { Queryable } from '../db/database.ts';

/** The users' addresses in mirror, base, holds (service's values) and open pushes. @param wanted a query of user ids */
export const addressesOf = (teamId: Id, wanted: RawBuilder<unknown>): RawBuilder<Addresses> => sql<Addresses>`
    with wanted as materialized (${wanted}),
    known as (
      select u.id, u.email, u.phone from wanted w cross join lateral ${byKey('mirror.users', teamId, sql`w.id`)} u
      union all
      select b.id, b.email, b.phone from wanted w cross join lateral ${byKey('sync.user_base', teamId, sql`w.id`)} b
      union all
      select w.id, case h.field when 'email' then h.shown_value #>> '{}' end,
             case h.field when 'phone' then h.shown_value #>> '{}' end
      from sync.held_fields h join wanted w on w.id = h.user_id where h.team_id = ${teamId}
      union all
      select w.id, c.new ->> 'email', c.new ->> 'phone'
      from sync.changes c join wanted w on w.id = c.user_id where c.team_id = ${teamId} and c.state = 'open'
    )
    select id, coalesce(array_agg(distinct email) filter (where email <> ''), '{}') as emails,
           coalesce(array_agg(distinct phone) filter (where phone <> ''), '{}') as phones
    from known group by id`;

export async function readKnownUsers(
  db: Queryable,
  teamId: Id,
  ids: readonly Id[],
): Promise<readonly KnownUser[]> {
  const wanted = sql`select id from unnest(${idArray(ids)}) as w (id)`;
  const { rows } = await sql<KnownUser>`
    select a.*, coalesce(u.resolved, false) as resolved from (${addressesOf(teamId, wanted)}) a
    left join lateral ${byKey('mirror.users', teamId, sql`a.id`)} u on true`.execute(db);
  return rows;
}

export async function readLookups(db: Queryable, teamId: Id): Promise<Omit<Addresses, 'id'>> {
  const rows = await db
    .selectFrom('mirror.user_lookups')
    .select(['email', 'phone'])
    .where('team_id', '=', teamId)
    .orderBy('lookup_id')
    .execute();
  return {
    emails: rows.flatMap(({ email }) => email || []),
    phones: rows.flatMap(({ phone }) => phone || []),
  };
}
