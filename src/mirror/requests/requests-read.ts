/** Reads what is asked of the service besides edits of users. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { RequestKind, RequestReason, Requests, RequestState, Wanted } from '../../model/requests.ts';
import { usualTimes } from '../../model/message-request.ts';
import type { Queryable } from '../db/database.ts';

interface RequestRow {
  readonly kind: RequestKind;
  readonly local_id: string;
  readonly id: Id | null;
  readonly wanted: Wanted | null;
  readonly base: Wanted | null;
  readonly edit_id: Id | null;
  readonly xid: string | null;
  readonly reason: RequestReason | null;
  readonly decision: 'approved' | 'spent' | 'rejected' | null;
  readonly held_base: Wanted | null;
  readonly change_id: Id | null;
  readonly sent: Wanted | null;
  readonly sent_edit: Id;
  readonly has_left: boolean;
  readonly age_ms: number;
  readonly recipients: number | null;
  readonly due_ms: number | null;
  readonly base_due_ms: number | null;
  readonly day: string;
  readonly messages: number;
  readonly day_recipients: number;
}

function toState(row: RequestRow): RequestState {
  const { kind, id, wanted, base, due_ms: dueInMs } = row;
  return {
    kind,
    localId: row.local_id,
    id,
    wanted,
    base,
    edit: row.edit_id,
    transaction: row.xid,
    hold: row.reason === null ? null : { reason: row.reason, decision: row.decision, base: row.held_base },
    open:
      row.change_id === null
        ? null
        : {
            changeId: row.change_id,
            sent: row.sent,
            edit: row.sent_edit,
            hasLeft: row.has_left,
            ageMs: row.age_ms,
          },
    message:
      dueInMs === null
        ? null
        : {
            recipients: row.recipients,
            dueInMs,
            baseDueInMs: row.base_due_ms,
            day: row.day,
            others: { messages: row.messages, recipients: row.day_recipients },
          },
  };
}

/** Cancels come first, then what is due soonest, then the order in which things were asked for. */
export async function readRequests(db: Queryable, teamId: Id): Promise<Requests> {
  const { rows } = await sql<RequestRow>`
    select r.field as kind, r.local_id, r.id, r.wanted, r.base, e.edit_id, e.xid::text as xid,
      case when h.until > clock_timestamp() then 'asked' else h.reason end as reason, h.decision, h.base_value as held_base,
      c.change_id, c.new -> r.field as sent, (c.edits ->> r.field)::bigint as sent_edit, c.sent_at is not null as has_left,
      (extract(epoch from clock_timestamp() - coalesce(c.sent_at, c.opened_at)) * 1000)::float8 as age_ms,
      d.recipients::float8 as recipients, (extract(epoch from r.execute_at - clock_timestamp()) * 1000)::float8 as due_ms,
      (extract(epoch from (r.base ->> 'execute_at')::timestamptz - clock_timestamp()) * 1000)::float8 as base_due_ms,
      d.day::text as day, o.messages, o.recipients as day_recipients
    from sync.requests r
    join sync.teams t on t.team_id = r.team_id
    left join mirror.teams m on m.team_id = r.team_id
    left join sync.edits e on e.team_id = r.team_id and e.local_id = r.local_id and e.ended_at is null
    left join sync.held_fields h on h.team_id = r.team_id and h.local_id = r.local_id
    left join sync.changes c on c.team_id = r.team_id and c.local_id = r.local_id and c.state = 'open'
    cross join lateral (
      select (r.execute_at at time zone coalesce(t.writes ->> 'timezone', 'UTC'))::date as day,
        coalesce(r.recipients, case when r.wanted ? 'list_id' then m.list_size end) as recipients
    ) d
    cross join lateral (
      select count(*)::int as messages, coalesce(sum(coalesce(s.recipients, m.list_size)), 0)::float8 as recipients
      from mirror.scheduled_messages s
      where s.team_id = r.team_id and s.local_id <> r.local_id and s.state <> 'cancelled' and (s.base is not null or s.state = 'unknown')
        and (s.execute_at at time zone coalesce(t.writes ->> 'timezone', 'UTC'))::date = d.day
    ) o
    where r.team_id = ${teamId} and (e.edit_id is not null or c.change_id is not null)
    order by r.wanted is not null, r.execute_at, e.edit_id`.execute(db);
  const [known] = (
    await sql<{
      new_tags: number;
      learned: {
        local_ids?: Requests['localIds'];
        grid_minutes?: number;
        margin_minutes?: number;
      } | null;
    }>`
      select (
          select count(*)::int from sync.changes c
          where c.team_id = t.team_id and c.kind = 'push' and c.opened_at > clock_timestamp() - interval '1 day'
            and c.sent_at is not null and c.outcome ->> 'tag' = 'confirmed') as new_tags,
        (select l.value from sync.learned l where l.team = t.team and l.topic = 'schedule') as learned
      from sync.teams t where t.team_id = ${teamId}`.execute(db)
  ).rows;
  const learned = known?.learned;
  return {
    all: rows.map(toState),
    newTags: known?.new_tags ?? 0,
    localIds: learned?.local_ids ?? null,
    times: {
      gridMinutes: learned?.grid_minutes ?? usualTimes.gridMinutes,
      marginMinutes: learned?.margin_minutes ?? usualTimes.marginMinutes,
    },
  };
}

/** Messages that the service has and of which nothing is asked, the ones due soonest first. */
export async function readDueMessages(
  db: Queryable,
  teamId: Id,
  most: number,
): Promise<readonly { readonly localId: string; readonly id: Id }[]> {
  const { rows } = await sql<{ local_id: string; id: Id }>`
    select local_id, id from mirror.scheduled_messages
    where team_id = ${teamId} and id is not null and state in ('scheduled', 'waiting', 'held', 'refused') and execute_at > clock_timestamp()
      and not exists (select from sync.changes c where c.team_id = ${teamId} and c.local_id = scheduled_messages.local_id and c.state = 'open')
    order by read_at is not null and execute_at > clock_timestamp() + interval '1 hour', execute_at, read_at nulls first
    limit ${most}`.execute(db);
  return rows.map(({ local_id, id }) => ({ localId: local_id, id }));
}
