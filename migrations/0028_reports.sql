-- The report views read with the rights of whoever asks, so that order, limit and conditions get into them: the rows
-- of other teams are kept back by the policies of the tables, which no function in somebody's where clause gets past.
-- The question that each view asks by itself stays: it filters what a view of somebody else's over these ones shows.

create or replace view report.changes as
select v.* from (
  select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field as base_value,
         c.old -> f.field as old_value, c.new -> f.field as new_value,
         case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
         c.request_id, c.opened_at, c.closed_at, c.decided_by, c.decided_why
  from sync.changes c
  left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());

create index changes_by_time on sync.changes (opened_at);
comment on index sync.changes_by_time is 'What moved lately.';
create index changes_by_team on sync.changes (team_id, change_id);
comment on index sync.changes_by_team is 'What moved last in a team, however much moved in others since.';

-- Teams, segments and days are looked up one by one in the key, and each day is read by itself: nothing is gathered over
-- all counts, and conditions get in. Whoever does not see all teams is spared the counts of others from the start.
-- Arrays, because Postgres expects ten elements of one, and thousands of rows of what they are made of.
create or replace view report.contact_counts_daily as
select t.team_id, s.segment, d.day, a.count, a.lowest, a.highest, a.samples, a.count - earlier.count as change
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
  select (array_agg(c.count order by c.counted_at desc))[1] as count,
         min(c.count) as lowest, max(c.count) as highest, count(*) as samples
  from mirror.contact_counts c
  where c.team_id = t.team_id and c.segment = s.segment
    and c.counted_at >= d.day::timestamp at time zone 'UTC' and c.counted_at < (d.day + 1)::timestamp at time zone 'UTC'
) a
left join lateral (
  select c.count from mirror.contact_counts c
  where c.team_id = t.team_id and c.segment = s.segment and c.counted_at < d.day::timestamp at time zone 'UTC'
  order by c.counted_at desc limit 1
) earlier on true
where a.samples > 0;

-- Whoever may read a view needs the right to what it reads: these columns, and no others. Not the use of the schemas
-- that they are in: without it nothing but the views gets at them.
do $$
declare
  place    text;
  readable text;
begin
  for place in select quote_ident(c.relname) from pg_class c where c.relnamespace = 'report'::regnamespace and c.relkind = 'v' loop
    execute format('alter view report.%s reset (security_barrier)', place);
    execute format('alter view report.%s set (security_invoker = true)', place);
  end loop;

  for readable in
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v
    cross join lateral aclexplode(v.relacl) a
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where v.relnamespace = 'report'::regnamespace and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
      and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute readable;
  end loop;
end
$$;
