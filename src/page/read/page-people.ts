/** The roster as a relation: every user with a state that compares the mirror with the service. */
import { type RawBuilder, sql } from 'kysely';
import type { EditState, HeldReason } from '../../model/edit-state.ts';
import { standings, type UserStanding } from '../../model/standing.ts';
import type { Row } from '../../mirror/db/database.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { contains, fits } from '../../mirror/users/find-user.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { PageReader } from './page-reader.ts';

export interface OpenField {
  readonly field: string;
  readonly state: EditState;
  readonly reason: HeldReason | null;
  readonly batch: string | null;
  readonly until: string | null;
  readonly by: string | null;
}

export interface RosterRow
  extends Row<
    'mirror.users',
    'team_id' | 'id' | 'name' | 'email' | 'phone' | 'role_id' | 'role' | 'gone_at'
  > {
  readonly changed_at: Date | null;
  /** The index in `standings`. */
  readonly state: number;
  readonly open: readonly OpenField[] | null;
}

/** The search text. Without `details`, no personal value is searched. */
export interface Searched {
  readonly q: string;
  readonly details: boolean;
}

/** A condition that is true if the name, email, phone or id of the user u contains the search text. */
export function matches({ q, details }: Searched): RawBuilder<unknown> {
  if (q === '') return sql`true`;
  const query = readUserQuery(q);
  if (details) return fits('u', query);
  return query.id === null ? sql`false` : contains(sql`u.id::text`, query);
}

export const placeOf = (standing: UserStanding): number => standings.indexOf(standing);
const place = (standing: UserStanding) => sql`${placeOf(standing)}::int`;

/**
 * The users that match the search, each with one state: its index in `standings`. `standingOf` returns the same for one
 * user. Role names are sub-selects, so that Postgres reads them only for the rows of a page. The empty series makes
 * Postgres expect a thousand rows, and therefore hash the fields, even if the mirror was never analyzed.
 */
export const roster = ({ teamIds }: PageReader, search: Searched): RawBuilder<unknown> => sql`(
  select u.team_id, u.id, u.name, u.email, u.phone, u.role_id, case when u.role_id is null then u.role else (
      select r.name from mirror.roles r where r.team_id = u.team_id and r.role_id = u.role_id) end as role,
    u.gone_at, greatest(u.edited_at, u.updated_at) as changed_at, o.fields as open,
    case when u.gone_at is not null then ${place('left')} when o.waits then ${place('waits')}
      when not u.resolved then ${place('unresolved')} when o.moving then ${place('moving')}
      when o.rejected then ${place('rejected')} when o.id is not null then ${place('asked')} else ${place('equal')} end as state
  from mirror.users u
  left join (
    select team_id, id, jsonb_agg(to_jsonb(f) - 'team_id' - 'id' order by field) as fields,
      bool_or(state = 'held' and reason <> 'asked') as waits, bool_or(state in ('waiting', 'sending', 'unknown')) as moving,
      bool_or(state = 'rejected') as rejected
    from (
      select h.team_id, h.user_id as id, h.field, h.state, h.reason, h.batch, h.until, h.decided_by as by
      from report.held h where h.team_id = any (${idArray(teamIds)})
      union all
      select s.team_id, s.id, p.field, p.state, null, null, null, null
      from mirror.users s
      cross join lateral (
        select field, state from report.pending p where p.team_id = s.team_id and p.user_id = s.id and p.detail is null offset 0
      ) p
      where s.team_id = any (${idArray(teamIds)}) and s.edited_at is not null and s.gone_at is null
        and p.state in ('waiting', 'sending', 'unknown')
      union all
      select null, null, null, null, null, null, null, null from generate_series(1, (select 0))
    ) f group by 1, 2
  ) o on o.team_id = u.team_id and o.id = u.id
  where u.team_id = any (${idArray(teamIds)}) and ${matches(search)})`;
