/** A mirror as large as one grows, with a year of history: made by SQL, without a service. */
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';

/** One team of it. */
export interface LargeTeam {
  readonly team: string;
  readonly teamId: number;
  readonly users: number;
  /** Rows of the ledger, the first of each user included; spread evenly over the time. */
  readonly changes: number;
  readonly tags: number;
  /** Runs, and counts of each of five segments: one of each every 15 minutes. */
  readonly days: number;
  /** The history ends so many days ago. */
  readonly endedDaysAgo?: number;
}

/** As in the bounds that docs/operations.md names: 100,000 users, half a million changes, a year. */
export const largeTeam: LargeTeam = {
  team: 'default',
  teamId: 41,
  users: 100_000,
  changes: 500_000,
  tags: 20_000,
  days: 365,
};

/** The first of each thousand users has left, the second is held, the third has an edit that waits. */
const users = ({ team, teamId, users: count, tags }: LargeTeam) => `
  insert into sync.teams (team, team_id) values ('${team}', ${teamId});
  insert into mirror.teams (team_id, name) values (${teamId}, '${team}');
  insert into mirror.users (team_id, id, name, first_name, last_name, email, phone, role_id, role, created_at, updated_at,
    resolved, gone_at, raw, edited_at, edited_by)
  select ${teamId}, n, 'Robin Reed' || n, 'Robin', 'Reed' || n, 'user' || n || '@example.com', (15550000000 + n + (n % 1000 = 3)::int)::text,
    1 + n % 4, (array['Administrator', 'Agent', 'Analyst', 'Guest'])[1 + n % 4], now() - interval '2 years', now() - interval '1 year',
    true, case when n % 1000 = 1 then now() - interval '30 days' end, '{"status": 1, "language": "en", "image": null}',
    case when n % 1000 = 3 then now() end, case when n % 1000 = 3 then current_user end
  from generate_series(1, ${count}) n;
  insert into sync.due (team, run_group, schedule, due_at, since, started_at, finished_at, outcome, complete_at, stale_after)
  select '${team}', g, '*/15 * * * * UTC', now() + interval '15 min', now() - interval '1 year', now(), now(), 'complete', now(), '45 min'
  from unnest(array['users', 'listings', 'counts']) g;
  insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id, agreed_at)
  select ${teamId}, n, 'Robin Reed' || n, 'Robin', 'Reed' || n, 'user' || n || '@example.com', (15550000000 + n)::text, 1 + n % 4, now() - interval '1 year'
  from generate_series(1, ${count}) n;
  insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value)
  select ${teamId}, n, 'email', 'conflict', to_jsonb('a@example.com'::text), to_jsonb('b@example.com'::text), to_jsonb('c@example.com'::text), to_jsonb('c@example.com'::text)
  from generate_series(2, ${count}, 1000) n;
  insert into mirror.tags (team_id, id, tag, color) select ${teamId}, n, 'Tag ' || n, '#336699' from generate_series(1, ${tags}) n;
  insert into mirror.roles (team_id, role_id, name, members)
  select ${teamId}, n, (array['Administrator', 'Agent', 'Analyst', 'Guest'])[n], ${count} / 4 from generate_series(1, 4) n;
  insert into sync.listing_changes (team_id, resource, id, kind, old, new, changed_at)
  values (${teamId}, 'tags', 1, 'changed', '{"tag": "Old"}', '{"tag": "Tag 1"}', now()), (${teamId}, 'roles', 1, 'gone', '{}', '{}', now());
  insert into mirror.inboxes (team_id, id, name, members) select ${teamId}, n, 'Inbox ' || n, '[1, 2, 3]' from generate_series(1, 3) n;
  insert into mirror.surveys (team_id, id, name, question) values (${teamId}, 1, 'After a call', 'How was it?');
  insert into mirror.contact_fields (team_id, id, title) select ${teamId}, n, 'Field ' || n from generate_series(1, 60) n;`;

/** The contacts grow slowly, and by the week. Each user is adopted first; what follows is pushes and pulls by half each, of one field or two. */
const history = ({ team, teamId, users: count, changes, days, endedDaysAgo = 0 }: LargeTeam) => `
  create temp table run_of on commit drop as
  with made as (
    insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups, requests, endpoints)
    select '${team}', ${teamId}, 'daemon', at, at + interval '2 s', 'complete', '{users,listings,counts}', 11,
      '{"GET /v1/team": {"requests": 1, "throttled": 0, "failed": 0, "ms": 40, "slowest_ms": 40, "slowest_request_id": "a"},
        "GET /v1/users/get": {"requests": 10, "throttled": 1, "failed": 0, "ms": 900, "slowest_ms": 200, "slowest_request_id": "b"}}'
    from generate_series(1, ${days * 96}) n
    cross join lateral (select now() - interval '${endedDaysAgo} days' - (${days * 96} - n) * interval '15 min' as at) t
    order by n returning run_id
  ) select min(run_id) as first from made;
  insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, outcome, opened_at, sent_at, closed_at)
  select ${teamId}, u.id, r.first + (n - 1) * ${days * 96} / ${changes}, k.kind, v.old, v.old, v.new,
    case k.kind when 'push' then jsonb_build_object(v.field, 'confirmed') else '{}' end, at, case k.kind when 'push' then at end, at
  from run_of r, generate_series(1::bigint, ${changes}) n
  cross join lateral (select 1 + (n * 7919) % ${count} as id) u
  cross join lateral (select case when n <= ${count} then 'adopt' else (array['push', 'pull'])[1 + n % 2] end as kind) k
  cross join lateral (select now() - interval '${endedDaysAgo} days' - (${changes} - n) * (interval '${days} days' / ${changes}) as at) t
  cross join lateral (
    select (array['email', 'phone'])[1 + n % 2] as field,
      case when k.kind = 'adopt' then '{}' else jsonb_build_object((array['email', 'phone'])[1 + n % 2], 'old ' || n) end as old,
      case when k.kind = 'adopt' then jsonb_build_object('email', 'first ' || n, 'phone', '1555', 'role_id', 2,
        'name', jsonb_build_object('first', 'Robin', 'last', 'Reed' || u.id)) else jsonb_build_object((array['email', 'phone'])[1 + n % 2], 'new ' || n) end as new
  ) v
  order by n;
  insert into sync.changes (team_id, user_id, kind, base, old, new, closed_at, decided_by, decided_role, decided_why, batch)
  select ${teamId}, n, 'approve', '{"phone": "1"}', '{"phone": "1"}', '{"phone": "2"}', now(), 'kim', current_user, 'checked', 'b' || n
  from generate_series(4, ${count}, 1000) n;
  insert into mirror.contact_counts (team_id, segment, counted_at, count)
  select ${teamId}, s.segment, now() - interval '${endedDaysAgo} days' - n * interval '15 min', (s.most * w.share)::bigint
  from generate_series(1, ${days * 96}) n
  cross join (values ('active', 214900, 5e-6), ('all', 312456, 4e-6), ('blocked', 9214, 1e-6), ('new', 1386, 1.2e-5), ('silent', 97556, -3e-6)) s (segment, most, pace)
  cross join lateral (select 1 - n * s.pace + 0.0007 * sin(n / 107.0) + 0.003 * sin(n / 1301.0 + s.most) + 0.0011 * sin(n / 397.0)) w (share);`;

/** The teams come one after the other: the ledger of the last one is the newest. Nothing is analysed. */
export async function fillMirror(db: Database, teams: readonly LargeTeam[]): Promise<void> {
  for (const team of teams)
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on';
       ${users(team)} ${history(team)} commit`,
    );
}
