/** Tags, messages and read conversations that people ask for in SQL, as they are shown to people. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { RequestCount, RequestKind } from '../../model/requests.ts';
import type { Queryable, Row } from '../db/database.ts';

/** One request. What only a message has is `null` for a tag or a conversation. */
export interface ShownRequest {
  readonly field: RequestKind;
  readonly local_id: string;
  /** The service's id of it. */
  readonly id: Id | null;
  readonly state: string;
  /** Why it is held, and in which batch. */
  readonly reason: string | null;
  readonly batch: string | null;
  readonly detail: string | null;
  readonly execute_at: Date | null;
  /** The same in the team's zone. */
  readonly local_time: string | null;
  readonly timezone: string;
  readonly inbox_id: Id | null;
  readonly inbox: string | null;
  readonly user_id: Id | null;
  readonly sender: string | null;
  /** The text of a message, or the name of a tag. */
  readonly text: string | null;
  readonly template_id: Id | null;
  readonly target_kind: string | null;
  readonly target: string | null;
  /** How many get it; `null` if nobody knows. */
  readonly recipients: Id | null;
  readonly cancels: boolean;
  /** Whether a run would hold it until somebody approves it, whatever the limits say. */
  readonly needs_approval: boolean;
  readonly edited_at: Date | null;
  readonly edited_by: string | null;
  readonly approved_by: string | null;
  readonly approved_at: Date | null;
}

/** The name of the zone in which the team's times are shown. */
const zoneOf = (teamId: Id) => sql<string>`coalesce(
  (select t.writes ->> 'timezone' from sync.teams t where t.team_id = ${teamId}), 'UTC')`;

/** @param which the requests that are not over, all of them, or the ones with these ids */
export async function readShownRequests(
  db: Queryable,
  teamId: Id,
  which: 'open' | 'all' | readonly string[],
): Promise<readonly ShownRequest[]> {
  const named = Array.isArray(which) ? which : [];
  const chosen = Array.isArray(which)
    ? sql`r.local_id = any (${named}::text[]::uuid[])`
    : sql`(${which === 'all'} or r.state not in ('past', 'cancelled', 'sent', 'made'))`;
  const { rows } = await sql<ShownRequest>`
    select r.field, r.local_id, r.id, case when r.state = 'waiting' and h.reason is not null then 'held' else r.state end as state,
      h.reason, h.batch, coalesce(nullif(h.detail, ''), r.detail) as detail, r.execute_at,
      to_char(r.execute_at at time zone z.name, 'YYYY-MM-DD HH24:MI') as local_time, z.name as timezone,
      r.inbox_id, r.inbox, r.user_id, r.sender, r.text, r.template_id, r.target_kind, r.target, r.recipients, r.cancels,
      r.field = 'message' and r.state = 'waiting' and not r.cancels and d.decision is null and h.reason is null
        and t.writes ->> 'schedule' is distinct from 'unattended' as needs_approval,
      r.edited_at, r.edited_by, r.approved_by, r.approved_at
    from (
      select 'message' as field, m.local_id, m.message_id as id, m.state, m.detail, m.execute_at, m.inbox_id, m.inbox, m.user_id, m.sender,
        m.text, m.template_id, m.target_kind, m.target, m.recipients, m.cancels, m.edited_at, m.edited_by, m.approved_by, m.approved_at
      from report.schedule m where m.team_id = ${teamId}
      union all
      select 'conversation_read', c.local_id, null, c.state, c.detail, null, c.inbox_id, i.name, c.user_id, u.name,
        null, null, 'numbers', coalesce(c.target, array_to_string(c.targets, ', ')), coalesce(cardinality(c.targets), 1), false,
        c.created_at, c.edited_by, null, null
      from mirror.conversation_reads c
      left join mirror.inboxes i on i.team_id = c.team_id and i.id = c.inbox_id
      left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
      where c.team_id = ${teamId}
      union all
      select 'tag', t.local_id, t.id, case when t.id is null then 'waiting' else 'made' end, null, null, null, null, null, null,
        t.tag, null, null, null, null, false, e.edited_at, sync.named_editor(e.edited_by, e.actor), null, null
      from mirror.tags t
      left join sync.edits e on e.team_id = t.team_id and e.local_id = t.local_id and e.ended_at is null
      where t.team_id = ${teamId} and (t.id is null or t.local_id = any (${named}::text[]::uuid[]))
    ) r
    cross join (select ${zoneOf(teamId)} as name) z
    join sync.teams t on t.team_id = ${teamId}
    left join sync.held_fields d on d.team_id = t.team_id and d.local_id = r.local_id
    left join report.held h on h.team_id = ${teamId} and h.local_id = r.local_id
    where ${chosen}
    order by r.execute_at nulls first, r.edited_at, r.local_id`.execute(db);
  return rows;
}

/** Reads what the ledger has about a request, newest first. */
export type RequestMove = Row<
  'report.changes',
  'opened_at' | 'kind' | 'outcome' | 'request_id' | 'decided_by' | 'decided_why' | 'run_id'
>;

export async function readRequestMoves(
  db: Queryable,
  teamId: Id,
  localId: string,
): Promise<readonly RequestMove[]> {
  return await db
    .selectFrom('report.changes')
    .select(['opened_at', 'kind', 'outcome', 'request_id', 'decided_by', 'decided_why', 'run_id'])
    .where('team_id', '=', teamId)
    .where('local_id', '=', localId)
    .orderBy('change_id', 'desc')
    .limit(10)
    .execute();
}

/** The moments at which it is this time in a zone: one, or, in the nights in which clocks change, none or two. */
export async function readLocalTime(db: Queryable, timezone: string, time: string): Promise<readonly Date[]> {
  const { rows } = await sql<{ moment: Date }>`
    select n.near + o.minutes * interval '1 minute' as moment
    from (select ${time}::timestamp at time zone ${timezone}) n (near), generate_series(-120, 120, 30) o (minutes)
    where (n.near + o.minutes * interval '1 minute') at time zone ${timezone} = ${time}::timestamp
    order by 1`.execute(db);
  return rows.map(({ moment }) => moment);
}

/** Finds an inbox with a number of its own: nobody outside of the team reads what goes there. */
export async function findOwnNumber(
  db: Queryable,
  teamId: Id,
): Promise<{ readonly inbox: Id; readonly number: string } | undefined> {
  const { rows } = await sql<{ inbox: Id; number: string }>`
    select i.id as inbox, n.number from mirror.inboxes i
    cross join lateral (select coalesce(nullif(i.phone, ''), i.phones ->> 0)) n (number)
    where i.team_id = ${teamId} and i.gone_at is null and n.number ~ '^\\+?[1-9][0-9]{1,14}$'
    order by i.id limit 1`.execute(db);
  return rows[0];
}

/** Inboxes with this id or name. */
export async function findInboxes(
  db: Queryable,
  teamId: Id,
  text: string,
): Promise<readonly Row<'mirror.inboxes', 'id' | 'name'>[]> {
  return await db
    .selectFrom('mirror.inboxes')
    .select(['id', 'name'])
    .where('team_id', '=', teamId)
    .where('gone_at', 'is', null)
    .where(sql<boolean>`(id::text = ${text} or lower(name) = lower(${text}))`)
    .execute();
}

/** Counts the requests that are not over, by kind and state. */
export async function tallyRequests(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly RequestCount[]> {
  const { rows } = await sql<RequestCount>`
    select t.team, r.field, case when r.state = 'waiting' and h.local_id is not null then 'held' else r.state end as state,
      count(*)::int as count, min(round(extract(epoch from coalesce(o.opened_at, e.edited_at, m.edited_at)) * 1000)::float8) as "sinceMs"
    from sync.teams t
    join sync.requests r on r.team_id = t.team_id
    left join sync.edits e on e.team_id = r.team_id and e.local_id = r.local_id and e.ended_at is null
    left join sync.held_fields h on h.team_id = r.team_id and h.local_id = r.local_id and (h.decision is null or h.decision = 'rejected')
    left join mirror.scheduled_messages m on m.team_id = r.team_id and m.local_id = r.local_id
    left join sync.changes o on o.team_id = r.team_id and o.local_id = r.local_id and o.state = 'open'
    where t.team = any (${teams}::text[])
    group by 1, 2, 3 order by 1, 2, 3`.execute(db);
  return rows;
}
