/** A year of a team as people, pages and reports look at it, made by SQL in seconds: `large-mirror.ts`, and what became of it. */
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { fillMirror, type LargeTeam, largeTeam } from './large-mirror.ts';

export interface YearTeam extends LargeTeam {
  /** Of each user: how often something of the roster was another way than before. */
  readonly periods: number;
}

/** 100,000 users with three periods each, half a million changes, a run and five counts each quarter of an hour. */
export const yearTeam: YearTeam = { ...largeTeam, periods: 3 };

/** Every twentieth user came later, every thousandth left; every tenth got another role at their last change. */
const roster = ({ teamId, periods, days }: YearTeam) => `
  delete from sync.user_periods where team_id = ${teamId};
  insert into sync.user_periods (team_id, user_id, valid_from, valid_to, present, name, first_name, last_name, email, phone, role_id, role,
    resolved, created_at, updated_at, edited_at, edited_by, side, run_id, changed_by, actor, role_moved)
  select u.team_id, u.id, t.at, case when k = ${periods} then 'infinity' else t.next end, k < ${periods} or u.gone_at is null,
    u.name, u.first_name, u.last_name, case when k < ${periods} and u.id % 3 = 0 then 'old.' || u.email else u.email end,
    case when k < ${periods} then (15560000000 + u.id * 10 + k)::text else u.phone end,
    case when k < ${periods} and u.id % 10 = 0 then 1 + (u.id + 1) % 4 else u.role_id end,
    case when k < ${periods} and u.id % 10 = 0 then (array['Administrator', 'Agent', 'Analyst', 'Guest'])[1 + (u.id + 1) % 4] else u.role end,
    true, u.created_at, t.at, null, null,
    case when k = 1 and u.id % 20 <> 0 then null when u.id % 2 = 0 then 'mirror' else 'service' end,
    case when u.id % 2 = 1 then (select min(run_id) from sync.runs where team_id = ${teamId}) end,
    case when u.id % 2 = 0 and k > 1 then current_user end, case when u.id % 4 = 0 and k > 1 then 'kim@hr' end,
    k = ${periods} and u.id % 10 = 0 and u.gone_at is null
  from mirror.users u cross join generate_series(1, ${periods}) k
  cross join lateral (
    select b.began + (k - 1) * b.step as at, b.began + k * b.step as next from (
      select now() - interval '1 day' * ${days} * (case when u.id % 20 = 0 then 0.6 else 1 end) + (u.id % 10007) * interval '1 minute' as began,
        interval '1 day' * ${days} * 0.6 / ${periods} as step
    ) b
  ) t
  where u.team_id = ${teamId} and (k > 1 or t.at < now());`;

/** The tags came over the year; each fiftieth went, and each tenth of those that stayed was renamed. */
const tags = ({ teamId, tags: count, days }: YearTeam) => `
  update mirror.tags set first_seen_at = now() - interval '1 day' * (${days} * (1 - id::float8 / ${count})),
    gone_at = case when id % 50 = 0 then now() - interval '1 day' * (${days} * 0.5 * (1 - id::float8 / ${count})) end
  where team_id = ${teamId};
  insert into sync.listing_changes (team_id, resource, id, kind, old, new, changed_at)
  select team_id, 'tags', id, 'changed', jsonb_build_object('tag', 'Former ' || id), jsonb_build_object('tag', tag), now() - interval '1 day' * (id % ${days})
  from mirror.tags where team_id = ${teamId} and id % 10 = 1;`;

/** Some runs were partial, failed or refused; and nothing was counted on three days. */
const runs = ({ teamId, days }: YearTeam) => `
  update sync.runs set outcome = case run_id % 300 when 0 then 'failed' when 1 then 'refused' else 'partial' end, reasons = array['a page did not arrive'],
    finished_at = started_at + interval '30 s'
  where team_id = ${teamId} and run_id % 100 < 2;
  update sync.runs set counts = jsonb_build_object('users_read', 100, 'pulled', run_id % 5) where team_id = ${teamId} and run_id % 100 >= 2;
  delete from mirror.contact_counts where team_id = ${teamId}
    and counted_at between now() - interval '1 day' * ${days} * 0.3 and now() - interval '1 day' * (${days} * 0.3 - 3);`;

/** Fifty-five phones wait in a batch, edited by somebody; the next fifty-five users were decided about. */
const waiting = ({ teamId, users }: YearTeam) => `
  update mirror.users set phone = '1777' || id, edited_at = now() - interval '3 hours', edited_by = 'office'
  where team_id = ${teamId} and id between 5 and ${Math.min(59, users)};
  insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, since, run_id, batch)
  select u.team_id, u.id, 'phone', 'limit', to_jsonb(b.phone), to_jsonb(u.phone), to_jsonb(b.phone), to_jsonb(b.phone),
    '55 users would be pushed, more than the limit of 40', now() - interval '2 hours', (select max(run_id) from sync.runs where team_id = ${teamId}), 'b7f30d1c22ab'
  from mirror.users u join sync.user_base b using (team_id, id)
  where u.team_id = ${teamId} and u.id between 5 and ${Math.min(59, users)};
  insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, application, actor, authors, old_value, new_value)
  select pg_current_xact_id(), ${teamId}, n, 'phone', now() - interval '3 hours', 'office', 'psql', 'kim@hr', '{office,kim@hr}',
    to_jsonb((15550000000 + n)::text), to_jsonb('1777' || n)
  from generate_series(5, ${Math.min(59, users)}) n;
  update sync.held_fields h set edit_id = e.edit_id from sync.edits e
  where e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null;
  insert into sync.changes (team_id, user_id, kind, base, old, new, opened_at, closed_at, decided_by, decided_role, decided_why, batch)
  select ${teamId}, n, (array['approve', 'reject', 'resolve'])[1 + n % 3], '{"phone": "1"}', '{"phone": "1"}', '{"phone": "2"}',
    now() - n * interval '1 hour', now() - n * interval '1 hour', 'lee', current_user, 'checked', 'c' || n / 5
  from generate_series(60, ${Math.min(114, users)}) n;`;

/** Nothing is analysed. */
export async function fillYear(db: Database, team: YearTeam = yearTeam): Promise<void> {
  await fillMirror(db, [team]);
  await runSqlText(
    db,
    `begin; set local musterd.writing = 'on'; set local session_replication_role = replica;
     ${roster(team)} ${tags(team)} ${runs(team)} ${waiting(team)} commit`,
  );
}
