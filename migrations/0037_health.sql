-- How well it goes, for whoever asks by SQL: requests by endpoint, how fresh each group of a team is, what people decided.

alter table sync.runs add column endpoints jsonb not null default '{}';
comment on column sync.runs.endpoints is 'By endpoint, such as "GET /v1/users/get": requests (retries included), of these throttled (answered 429) and failed (another error, or no answer), ms of all of them, slowest_ms, and slowest_request_id, the X-Request-Id of that one. Empty with requests: the run is older than the record.';

-- The schedule is text for people; how old the mirror may be by it is reckoned by the daemon.
alter table sync.due add column stale_after interval;
comment on column sync.due.stale_after is 'What is older than this is stale: three times the longest time between two runs of the schedule. NULL: no daemon has told it a schedule.';

create index runs_by_time on sync.runs (started_at);
comment on index sync.runs_by_time is 'What ran lately.';
create index changes_of_decisions on sync.changes (change_id) where kind in ('approve', 'reject', 'resolve');
comment on index sync.changes_of_decisions is 'What people decided.';

create or replace view report.runs with (security_invoker) as
select v.* from (
  select r.run_id, r.team, r.team_id, r.command, r.started_at, r.finished_at, r.finished_at - r.started_at as duration, r.outcome,
         r.reasons, r.counts, r.waiting, r.requests, r.request_ids, r.groups, r.endpoints,
         extract(epoch from r.finished_at - r.started_at)::float8 as duration_seconds
  from sync.runs r
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.runs is 'All runs, with what each one moved: a row per run.';
comment on column report.runs.endpoints is 'By endpoint: requests, of these throttled (429) and failed, ms of all of them, slowest_ms, and the slowest one''s X-Request-Id. report.usage has it as columns.';
comment on column report.runs.duration_seconds is 'How long it took, in seconds.';

create view report.freshness with (security_invoker) as
select v.* from (
  select t.team_id, d.team, d.run_group, nullif(d.schedule, '') as schedule, d.started_at as last_attempt, d.outcome as last_outcome,
         d.complete_at as last_success, floor(a.age)::bigint as age_seconds,
         extract(epoch from d.stale_after)::bigint as stale_after_seconds, a.age <= extract(epoch from d.stale_after) as fresh,
         case when a.age > extract(epoch from d.stale_after) then a.since + d.stale_after end as stale_since,
         nullif(d.due_at, 'infinity') as next_run, d.failures
  from sync.due d
  left join sync.teams t on t.team = d.team
  -- A run that was complete in the future was so before the clock was set back: it tells nothing any more.
  cross join lateral (select case when d.complete_at <= now() + interval '1 minute' then d.complete_at else d.since end as since) s
  cross join lateral (select s.since, greatest(0, extract(epoch from now() - s.since)) as age) a
  where d.run_group <> 'edits'
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.freshness is 'How old the mirror is: a row per team and group of what it holds (users, listings, counts).';
comment on column report.freshness.team_id is 'The team; empty: no run has got as far as to know it.';
comment on column report.freshness.team is 'Name of the team in the configuration.';
comment on column report.freshness.run_group is 'users, listings (tags and contact fields) or counts.';
comment on column report.freshness.schedule is 'The daemon''s schedule for it, with its time zone; empty: no daemon has one.';
comment on column report.freshness.last_attempt is 'When its last run began.';
comment on column report.freshness.last_outcome is 'How that run ended: complete, partial, failed or refused.';
comment on column report.freshness.last_success is 'When its last complete run ended; empty: there was none.';
comment on column report.freshness.age_seconds is 'Seconds since then; where there was none, since the group became known.';
comment on column report.freshness.stale_after_seconds is 'It is stale when older than this: three times the longest time between two runs of the schedule.';
comment on column report.freshness.fresh is 'Whether it is not older than that; empty: no daemon has a schedule for it, so nobody promised anything.';
comment on column report.freshness.stale_since is 'Since when it is stale; empty: it is not.';
comment on column report.freshness.next_run is 'When it is done next; empty: nobody has set a time.';
comment on column report.freshness.failures is 'How many of its runs in a row have failed.';

create view report.sync_health with (security_invoker) as
select t.team_id, t.team, d.started_at as last_attempt,
       case when d.started_at > coalesce(d.finished_at, '-infinity') then 'running' else d.outcome end as last_outcome,
       d.complete_at as last_success, coalesce(w.runs, 0) as runs, coalesce(w.complete_runs, 0) as complete_runs,
       round(w.complete_runs::numeric / nullif(w.runs, 0), 4)::float8 as success_rate, w.p50_seconds, w.p95_seconds,
       coalesce(w.requests, 0) as requests, coalesce(w.throttled, 0) as throttled
from sync.teams t
left join sync.due d on d.team = t.team and d.run_group = 'users'
left join (
  select r.team, count(*) filter (where k.counts) as runs,
    count(*) filter (where k.counts and r.outcome = 'complete') as complete_runs,
    percentile_cont(0.5) within group (order by k.seconds) filter (where k.counts) as p50_seconds,
    percentile_cont(0.95) within group (order by k.seconds) filter (where k.counts) as p95_seconds,
    sum(r.requests) as requests, sum(e.throttled)::bigint as throttled
  from sync.runs r
  cross join lateral (
    select r.command in ('reconcile', 'daemon') and 'users' = any (r.groups) and r.finished_at is not null as counts,
      extract(epoch from r.finished_at - r.started_at)::float8 as seconds
  ) k
  cross join lateral (select sum((j.value ->> 'throttled')::bigint) as throttled from jsonb_each(r.endpoints) j) e
  where r.started_at > now() - interval '7 days'
  group by r.team
) w on w.team = t.team
where (select mirror.sees_all_teams()) or t.team_id in (select mirror.seen_teams());
comment on view report.sync_health is 'How well the runs of the last seven days went: a row per team.';
comment on column report.sync_health.team_id is 'The team.';
comment on column report.sync_health.team is 'Name of the team in the configuration.';
comment on column report.sync_health.last_attempt is 'When the last run of the users began, however long ago.';
comment on column report.sync_health.last_outcome is 'How it ended: complete, partial, failed or refused; running: it has not.';
comment on column report.sync_health.last_success is 'When the last complete run of the users ended, however long ago.';
comment on column report.sync_health.runs is 'How many runs of the users (reconcile or daemon) ended, of those that began in the last seven days.';
comment on column report.sync_health.complete_runs is 'How many of these were complete.';
comment on column report.sync_health.success_rate is 'The share of these, from 0 to 1; empty: there was no run.';
comment on column report.sync_health.p50_seconds is 'Half of these runs took no longer than this.';
comment on column report.sync_health.p95_seconds is '95 of 100 of these runs took no longer than this.';
comment on column report.sync_health.requests is 'Requests of all runs of these days, retries included.';
comment on column report.sync_health.throttled is 'How many of them the service answered with 429: too many.';

-- What a run before the record of endpoints sent is said without one, rather than guessed.
create view report.usage with (security_invoker) as
select v.* from (
  select r.team_id, r.team, (r.started_at at time zone 'UTC')::date as day, e.endpoint, count(*) as runs,
    sum(e.requests)::bigint as requests, sum(e.throttled)::bigint as throttled, sum(e.failed)::bigint as failed,
    round(sum(e.ms) / nullif(sum(e.requests), 0))::bigint as mean_ms, max(e.slowest_ms) as slowest_ms
  from sync.runs r
  cross join lateral (
    select j.key as endpoint, (j.value ->> 'requests')::bigint as requests, (j.value ->> 'throttled')::bigint as throttled,
      (j.value ->> 'failed')::bigint as failed, (j.value ->> 'ms')::numeric as ms, (j.value ->> 'slowest_ms')::bigint as slowest_ms
    from jsonb_each(r.endpoints) j
    union all
    select null, r.requests, null, null, null, null where r.endpoints = '{}' and r.requests > 0
  ) e
  group by r.team_id, r.team, (r.started_at at time zone 'UTC')::date, e.endpoint
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.usage is 'What the runs asked of the service: a row per team, day (UTC) and endpoint. Of what is no run, such as musterd plan, nothing is recorded.';
comment on column report.usage.team_id is 'The team.';
comment on column report.usage.team is 'Name of the team in the configuration.';
comment on column report.usage.day is 'The day, in UTC, on which the runs began.';
comment on column report.usage.endpoint is 'Method and path, such as "GET /v1/users/get"; empty: requests of runs before this was recorded.';
comment on column report.usage.runs is 'How many runs sent any of them.';
comment on column report.usage.requests is 'Requests, retries included.';
comment on column report.usage.throttled is 'How many of them were answered with 429: too many.';
comment on column report.usage.failed is 'How many got another error, or no answer.';
comment on column report.usage.mean_ms is 'How long one took on average, in ms.';
comment on column report.usage.slowest_ms is 'How long the slowest took, in ms.';

-- A body that is bound needs no path, and becomes a part of the statement that calls it.
create function mirror.field_text(value jsonb) returns text
language sql stable parallel safe
begin atomic
  select case jsonb_typeof(value) when 'object' then btrim(concat_ws(' ', value ->> 'first', value ->> 'last')) else value #>> '{}' end;
end;
comment on function mirror.field_text(jsonb) is 'The value of a field as text, without quotes around it: a name is its two halves, joined.';
grant execute on function mirror.field_text(jsonb) to public;

create view report.decisions with (security_invoker) as
select v.* from (
  select c.change_id, c.team_id, c.opened_at as decided_at, c.kind as decision, c.user_id, u.name, f.field,
         c.base -> f.field as base_value, c.new -> f.field as mirror_value, c.old -> f.field as service_value,
         mirror.field_text(c.base -> f.field) as base_text, mirror.field_text(c.new -> f.field) as mirror_text,
         mirror.field_text(c.old -> f.field) as service_text,
         c.decided_by, c.decided_role, c.decided_why, c.batch, c.run_id
  from sync.changes c
  left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
  where c.kind in ('approve', 'reject', 'resolve')
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.decisions is 'What people decided about what was held: a row per field of a user.';
comment on column report.decisions.change_id is 'Number of the change in the ledger.';
comment on column report.decisions.team_id is 'The team.';
comment on column report.decisions.decided_at is 'When it was decided.';
comment on column report.decisions.decision is 'approve: it may pass. reject: it is not sent. resolve: which value it is to have.';
comment on column report.decisions.user_id is 'The service''s id of the user.';
comment on column report.decisions.name is 'The name as the service joins it today.';
comment on column report.decisions.field is 'The field: name is the pair of first and last name. Empty: a person agreed that the user has left.';
comment on column report.decisions.base_value is 'The value last agreed on, then.';
comment on column report.decisions.mirror_value is 'The mirror''s value then.';
comment on column report.decisions.service_value is 'The service''s value then.';
comment on column report.decisions.base_text is 'The value last agreed on, as text; of a name its two halves, joined.';
comment on column report.decisions.mirror_text is 'The mirror''s value, as text; of a name its two halves, joined.';
comment on column report.decisions.service_text is 'The service''s value, as text; of a name its two halves, joined.';
comment on column report.decisions.decided_by is 'Who decided: for whom it was done where that was said, else the role that was connected.';
comment on column report.decisions.decided_role is 'The role that was connected.';
comment on column report.decisions.decided_why is 'The reason that was given.';
comment on column report.decisions.batch is 'The batch, import, undo or plan that it was about; empty: the field alone.';
comment on column report.decisions.run_id is 'The run that applied a plan; empty: a person decided outside of any run.';

-- A day without a count is there, with nothing in it, as in report.tag_growth.
create or replace view report.contact_counts_daily with (security_invoker) as
select t.team_id, s.segment, d.day, a.count, a.lowest, a.highest, a.samples, a.count - earlier.count as change,
       a.first, a.count as last, case when a.samples > 0 then (earlier.counted_at at time zone 'UTC')::date end as previous_day
from unnest(case when (select mirror.sees_all_teams()) then array(
  with recursive every as (
    (select c.team_id from mirror.contact_counts c order by c.team_id limit 1)
    union all
    select (select c.team_id from mirror.contact_counts c where c.team_id > e.team_id order by c.team_id limit 1)
    from every e where e.team_id is not null
  )
  select e.team_id from every e where e.team_id is not null
) else array(select distinct mirror.seen_teams()) end) as t (team_id)
cross join lateral unnest(array(
  with recursive named as (
    (select c.segment from mirror.contact_counts c where c.team_id = t.team_id order by c.segment limit 1)
    union all
    select (
      select c.segment from mirror.contact_counts c
      where c.team_id = t.team_id and c.segment > n.segment order by c.segment limit 1
    ) from named n where n.segment is not null
  )
  select n.segment from named n where n.segment is not null
)) as s (segment)
cross join lateral unnest(array(
  select b.first + n from (
    select (select (c.counted_at at time zone 'UTC')::date from mirror.contact_counts c
            where c.team_id = t.team_id and c.segment = s.segment order by c.counted_at limit 1) as first,
           (select (c.counted_at at time zone 'UTC')::date from mirror.contact_counts c
            where c.team_id = t.team_id and c.segment = s.segment order by c.counted_at desc limit 1) as last
    offset 0
  ) b cross join lateral generate_series(0, b.last - b.first) n
)) as d (day)
cross join lateral (
  select (array_agg(c.count order by c.counted_at desc))[1] as count, (array_agg(c.count order by c.counted_at))[1] as first,
         min(c.count) as lowest, max(c.count) as highest, count(*) as samples
  from mirror.contact_counts c
  where c.team_id = t.team_id and c.segment = s.segment
    and c.counted_at >= d.day::timestamp at time zone 'UTC' and c.counted_at < (d.day + 1)::timestamp at time zone 'UTC'
) a
left join lateral (
  select c.count, c.counted_at from mirror.contact_counts c
  where c.team_id = t.team_id and c.segment = s.segment and c.counted_at < d.day::timestamp at time zone 'UTC'
  order by c.counted_at desc limit 1
) earlier on true;
comment on view report.contact_counts_daily is 'How many contacts each segment had: a row per team, segment and day (UTC), from its first count to its last. A day without a count has no numbers.';
comment on column report.contact_counts_daily.count is 'The last count of the day, as "last"; empty: nothing was counted that day.';
comment on column report.contact_counts_daily.samples is 'How often was counted that day; 0: there is nothing to say of it.';
comment on column report.contact_counts_daily.change is 'Difference of the last count to the last one before the day: of previous_day.';
comment on column report.contact_counts_daily.first is 'The first count of the day.';
comment on column report.contact_counts_daily.last is 'The last count of the day.';
comment on column report.contact_counts_daily.previous_day is 'The last day before it with a count, against which it is compared; more than a day ago: days between were not counted.';

-- Whoever may read the runs may read how they went, and whoever may read the ledger what was decided.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant select on %s to %s', p.place, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from (values ('report.runs'::regclass, 'report.freshness, report.sync_health, report.usage'),
                 ('report.changes', 'report.decisions')) as p (as_for, place)
    join pg_class c on c.oid = p.as_for
    cross join lateral aclexplode(c.relacl) a
    where a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute granted;
  end loop;

  for granted in
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v
    cross join lateral aclexplode(v.relacl) a
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where v.oid = any (array['report.runs', 'report.freshness', 'report.sync_health', 'report.usage', 'report.decisions']::regclass[])
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
