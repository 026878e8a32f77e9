-- A body with "begin atomic" needs no search_path, and Postgres inlines it into the statement that calls it.
create or replace function mirror.field_text(value jsonb) returns text
language sql stable parallel safe
begin atomic
  select case when jsonb_typeof(value) = 'object' and value ? 'first' then btrim(concat_ws(' ', value ->> 'first', value ->> 'last'))
    else value #>> '{}' end;
end;
comment on function mirror.field_text(jsonb) is 'The value of a field as text, without quotes around it: a name is its two halves, joined.';

-- The cast never fails, because it accepts every text that the pattern accepts. Postgres can inline a single expression.
create or replace function mirror.read_time(value text) returns timestamptz
language sql stable parallel safe
begin atomic
  select case when value ~* '^(?!0000)(\d{4}-(((0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]))|((0[13-9]|1[0-2])-(29|30))|((0[13578]|1[02])-31))|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?( ?(Z|[+-](0\d|1[0-4]):?[0-5]\d))?)?$'
    then (value || case when value ~* '(Z|[+-]\d\d:?\d\d)$' then '' when length(value) = 10 then ' 00:00Z' else 'Z' end)::timestamptz end;
end;
comment on function mirror.read_time(text) is 'The time in a text by ISO 8601, in UTC if it has no zone; NULL: the text is not such a time.';

-- Runs as its owner, because the page calls this function with the rights of a reader.
create or replace function mirror.daemons()
returns table (team text, host text, pid bigint, by_systemd boolean, started_at timestamptz, seen_at timestamptz, ended_at timestamptz, how text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select l.team, p.host, p.pid, p.by_systemd, p.started_at, p.seen_at, p.ended_at, p.how
  from sync.learned l
  join sync.teams t on t.team = l.team and sync.session_sees(t.team_id)
  cross join lateral jsonb_each(l.value) e (process, said)
  cross join lateral jsonb_to_record(e.said)
    as p (host text, pid bigint, by_systemd boolean, started_at timestamptz, seen_at timestamptz, ended_at timestamptz, how text)
  where l.topic = 'daemon'
$$;
comment on function mirror.daemons() is 'The daemons of the teams that the session sees. seen_at: when the daemon last reported that it runs, which it does every minute. ended_at and how: when and how it ended (asked: it was asked to stop; failed: it gave up); both are empty if it runs, or ended without a report.';

create or replace view sync.role_names with (security_invoker) as
select v.team_id, v.role_id, v.name,
  coalesce(lag(v.valid_to) over (partition by v.team_id, v.role_id order by v.valid_to), '-infinity') as valid_from, v.valid_to
from (
  select r.team_id, r.role_id, r.name, 'infinity'::timestamptz as valid_to from mirror.roles r
  union all
  select c.team_id, c.id, c.old ->> 'name', c.changed_at from sync.listing_changes c where c.resource = 'roles' and c.old ? 'name'
) v;
comment on view sync.role_names is 'The names of each role over time: a row per role and name (team_id, role_id, valid_from).';
comment on column sync.role_names.team_id is 'The team.';
comment on column sync.role_names.role_id is 'The service''s id of the role.';
comment on column sync.role_names.name is 'Name of the role; NULL: the service did not give a name.';
comment on column sync.role_names.valid_from is 'Since when it had this name; -infinity: since the role is known.';
comment on column sync.role_names.valid_to is 'Until when it had this name (exclusive); infinity: it has the name now.';

create or replace view report.roster with (security_invoker) as
select v.* from (
  select u.team_id, t.name as team, u.id as user_id, u.name, u.first_name, u.last_name, u.email, u.phone, u.role_id,
    case when u.role_id is null then u.role else r.name end as role, u.resolved, u.created_at, u.updated_at, u.edited_at, u.edited_by,
    u.name as user_name, b.id is null or u.role_id is not distinct from b.role_id as role_arrived
  from mirror.users u
  left join mirror.teams t on t.team_id = u.team_id
  left join mirror.roles r on r.team_id = u.team_id and r.role_id = u.role_id
  left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  where u.gone_at is null
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.roster is 'The users who are in the team now: a row per user (team_id, user_id).';
comment on column report.roster.team_id is 'The team. In mirror.teams.team_id.';
comment on column report.roster.team is 'Name of the team.';
comment on column report.roster.first_name is 'First name; a guess if mirror.users.name_split says so.';
comment on column report.roster.role is 'Name of the role with role_id; empty: no user has had that role yet.';
comment on column report.roster.resolved is 'False: only the team listing knows this member.';
comment on column report.roster.updated_at is 'Last change on the service.';
comment on column report.roster.edited_at is 'Last edit in the mirror.';
comment on column report.roster.edited_by is 'Who made the last edit in the mirror.';
comment on column report.roster.role_arrived is 'Whether the service has this role; false: the role was edited in the mirror, and has not reached the service.';

-- Makes a view of each listing. Roles that may read report.tags may read each new view. Only roles that may read the roster
-- may read report.inbox_members, because it has names and addresses.
do $$
declare
  listed text;
  noun   text;
  one    record;
  before constant oid[] := array(select c.oid from pg_class c where c.relnamespace in ('mirror'::regnamespace, 'report'::regnamespace));
begin
  for listed in select t from mirror.listed_tables() t loop
    noun := regexp_replace(listed, '(?<=x|s|ch|sh)es$|s$', '');
    -- The view keeps its present columns in their order, and new columns come last. Otherwise it could not be replaced.
    execute format('create or replace view report.%I with (security_invoker) as
      select v.* from (select %s from mirror.%1$I t) v
      where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams())', listed, (
        select string_agg(format(case
            when c.name = noun || '_id' then 't.id as %1$I'
            when c.name = 'present' then 't.gone_at is null as %1$I'
            when c.nr > 5 + (select count(*) from mirror.listed_columns(listed)) then 'mirror.read_time(t.%2$I) as %1$I'
            else 't.%1$I' end, c.name, left(c.name, -length('_at'))), ', ' order by there.attnum, c.nr)
        from unnest(array['team_id', noun || '_id'] || array(select mirror.listed_columns(listed)) || array['first_seen_at', 'gone_at', 'present']
          || array(select l || '_at' from mirror.listed_columns(listed) l where l in ('created', 'updated'))) with ordinality c (name, nr)
        left join pg_attribute there on there.attrelid = to_regclass(format('report.%I', listed)) and there.attname = c.name));
    execute format('comment on view report.%I is %L', listed, format('All %s ever seen: a row per %s (team_id, %s_id).',
      replace(listed, '_', ' '), replace(noun, '_', ' '), noun));
    for one in
      select a.attname as name, coalesce(w.words, c.words) as words
      from pg_attribute a
      left join (values ('team_id', 'The team.'), (noun || '_id', format('The service''s id of the %s. In mirror.%s.id.', replace(noun, '_', ' '), listed)),
          ('first_seen_at', 'When a run first saw it.'), ('gone_at', 'When it was proven gone.'), ('present', 'Whether it is still there.'),
          ('created_at', 'Creation time; empty: the service gives none, or none that can be read.'),
          ('updated_at', 'Time of the last change; empty: the service gives none, or none that can be read.'),
          ('created', 'Creation time, as the service writes it; created_at is the time.'),
          ('updated', 'Time of the last change, as the service writes it; updated_at is the time.')) w (name, words) on w.name = a.attname
      left join lateral (
        select col_description(t.attrelid, t.attnum) as words from pg_attribute t
        where t.attrelid = to_regclass(format('mirror.%I', listed)) and t.attname = a.attname) c on true
      where a.attrelid = to_regclass(format('report.%I', listed)) and a.attnum > 0 and not a.attisdropped
    loop
      execute format('comment on column report.%I.%I is %L', listed, one.name, one.words);
    end loop;
  end loop;
  create or replace view mirror.inbox_members with (security_invoker) as
  select i.team_id, i.id as inbox_id, m.user_id
  from mirror.inboxes i
  cross join lateral (select distinct e.id::bigint as user_id from jsonb_array_elements_text(i.members) e (id)) m
  where i.gone_at is null;
  comment on view mirror.inbox_members is 'Who has access to which inbox: a row per member (team_id, inbox_id, user_id). Read-only.';
  comment on column mirror.inbox_members.team_id is 'The team. In mirror.teams.team_id.';
  comment on column mirror.inbox_members.inbox_id is 'The inbox. In mirror.inboxes.id.';
  comment on column mirror.inbox_members.user_id is 'The user. In mirror.users.id, unless the service names a user whom the team does not list.';

  create or replace view report.inbox_members with (security_invoker) as
  select i.team_id, i.id as inbox_id, i.name as inbox, m.user_id, u.name as user_name, u.email, u.id is not null and u.gone_at is null as present
  from mirror.inboxes i
  cross join lateral (select distinct e.id::bigint as user_id from jsonb_array_elements_text(i.members) e (id)) m
  left join mirror.users u on u.team_id = i.team_id and u.id = m.user_id
  where i.gone_at is null and ((select mirror.sees_all_teams()) or i.team_id in (select mirror.seen_teams()));
  comment on view report.inbox_members is 'Who has access to which inbox: a row per member (team_id, inbox_id, user_id).';
  comment on column report.inbox_members.inbox_id is 'The service''s id of the inbox. In report.inboxes.inbox_id.';
  comment on column report.inbox_members.inbox is 'Name of the inbox.';
  comment on column report.inbox_members.user_id is 'The service''s id of the user.';
  comment on column report.inbox_members.user_name is 'The name as the service joins it today; empty: the team does not list this user.';
  comment on column report.inbox_members.email is 'Email address of the user.';
  comment on column report.inbox_members.present is 'Whether the user is in the team.';

  create or replace view report.teams with (security_invoker) as
  select t.team_id, t.name as team, t.list_size, t.members, t.changed_at
  from mirror.teams t
  where (select mirror.sees_all_teams()) or t.team_id in (select mirror.seen_teams());
  comment on view report.teams is 'The teams that this database mirrors: a row per team (team_id).';
  comment on column report.teams.team_id is 'The service''s id of the team.';
  comment on column report.teams.team is 'Name of the team.';
  comment on column report.teams.list_size is 'How many recipients a list of this team may have.';
  comment on column report.teams.members is 'How many members the team lists.';
  comment on column report.teams.changed_at is 'When any of this last changed.';

  for one in
    select c.oid::regclass as made, case when c.relname in (select mirror.listed_tables()) then to_regclass(format('mirror.%I', c.relname)) end as behind,
      case a.grantee when 0 then 'public' else a.grantee::regrole::text end as reader
    from pg_class c
    join pg_class t on t.oid = case when c.oid::regclass = 'report.inbox_members'::regclass then 'report.roster' else 'report.tags' end::regclass
    cross join lateral aclexplode(t.relacl) a
    where c.relnamespace in ('mirror'::regnamespace, 'report'::regnamespace) and c.oid <> all (before)
      and a.privilege_type = 'SELECT' and a.grantee <> t.relowner
  loop
    execute format('grant select on %s to %s', concat_ws(', ', one.made, one.behind), one.reader);
  end loop;
end
$$;

-- A day without a count has a row without numbers, as in report.tag_growth.
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
comment on view report.contact_counts_daily is 'How many contacts each segment had: a row per segment and day, in UTC (team_id, segment, day), from its first count to its last. A day without a count has no numbers.';
comment on column report.contact_counts_daily.segment is 'Name of the segment.';
comment on column report.contact_counts_daily.day is 'The day, in UTC.';
comment on column report.contact_counts_daily.count is 'The last count of the day, the same as in the column last; empty: nothing was counted that day.';
comment on column report.contact_counts_daily.lowest is 'The lowest count of the day.';
comment on column report.contact_counts_daily.highest is 'The highest count of the day.';
comment on column report.contact_counts_daily.samples is 'How many counts there were that day; 0: there were none, so the other columns are empty.';
comment on column report.contact_counts_daily.change is 'The last count of the day minus the last count of previous_day.';
comment on column report.contact_counts_daily.first is 'The first count of the day.';
comment on column report.contact_counts_daily.last is 'The last count of the day.';
comment on column report.contact_counts_daily.previous_day is 'The last earlier day with a count, to which change refers. If it is not the day before, the days between were not counted.';

-- A requested hold shows who asked for it, and the reason that holds the field afterwards. Without one, its row disappears.
create or replace view report.held with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.reason, v.base_value, v.mirror_value, v.service_value,
  case when v.reason = 'asked' then coalesce(v.asked_why, '') else v.detail end
    || case when v.moved then '; the service has changed it since' else '' end as detail,
  v.since, v.run_id, case when v.reason = 'asked' then v.until end as until, v.mirror_value_then, v.service_value_then,
  v.batch, v.decided_at, v.decided_by, v.decided_why,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
  mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
  mirror.field_text(v.service_value_then) as service_text_then, v.edit_id, v.name as user_name,
  case when v.reason = 'asked' then nullif(v.beneath, 'asked') end as held_before, case when v.reason = 'asked' then v.asked_by end as asked_by,
  v.edited_at, v.edited_by, v.edited_in, v.state
from (
  select h.team_id, h.user_id, u.name, h.field, sync.held_because(case when m.moved then 'conflict' else h.reason end, null, h.until) as reason, h.base_value,
    case sync.held_because(h.reason, h.decision, h.until) when 'rejected' then 'rejected' else 'held' end as state,
    case when u.id is not null then (select f.value from (values {fields (FIELD, VALUE(u.))}) f (field, value) where f.field = h.field) end as mirror_value,
    h.shown_value as service_value, h.detail, h.since, h.run_id, h.until, h.asked_by, h.asked_why,
    sync.held_because(case when m.moved then 'conflict' else h.reason end, h.decision, null) as beneath, m.moved, h.mirror_value as mirror_value_then, h.service_value as service_value_then,
    case when h.decision is null and not m.moved then h.batch end as batch, c.closed_at as decided_at, c.decided_by, c.decided_why, h.edit_id,
    e.edited_at, sync.named_editor(e.edited_by, e.actor) as edited_by, e.xid::text as edited_in
  from sync.held_fields h
  cross join lateral (select not h.alone and h.reason in ('limit', 'review') and h.decision is null and h.shown_value is distinct from h.service_value) m (moved)
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  -- Only the columns that are read: a role with this view gets the right to each.
  left join lateral (
    select l.edit_id, l.edited_at, l.edited_by, l.actor, l.xid from sync.edits l
    where l.team_id = h.team_id and l.user_id = h.user_id and l.field = h.field and l.ended_at is null offset 0
  ) e on true
  left join lateral (
    select r.closed_at, r.decided_by, r.decided_why from sync.changes r
    where (h.decision = 'rejected' or h.shown_value is distinct from h.service_value)
      and r.team_id = h.team_id and r.user_id = h.user_id and r.decision_id is not null and (r.edits ->> h.field)::bigint = h.edit_id
    order by r.change_id desc limit 1
  ) c on true
  where (u.gone_at is null and h.decision is null or h.decision = 'rejected') and not (h.reason = 'asked' and h.until <= clock_timestamp())
    and (e.edit_id is null or e.edit_id = h.edit_id or h.until > clock_timestamp())
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.held is 'The fields that wait for a person, with the values of mirror and service, now and when the hold began: a row per field of a user (team_id, user_id, field).'
  ' Approved fields, fields that were edited again, and undecided fields of users who have left wait for no person, and are not listed.';
comment on column report.held.field is 'The field: name is the pair of first and last name.';
comment on column report.held.reason is 'Why it is held, or was before a person rejected it. limit: more than the settings let pass. review: a person is to see it first. conflict: both sides have changed it. refused: the service refused the value. ineffective: the service took it, and shows its own. unsupported: the service has no way to take it. returned: the user had left, and came back. asked: a person asked for it.';
comment on column report.held.base_value is 'The value last agreed on.';
comment on column report.held.mirror_value is 'The mirror''s value now.';
comment on column report.held.service_value is 'The service''s value as a run last saw it.';
comment on column report.held.detail is 'What led to the hold, in words.';
comment on column report.held.run_id is 'The run that held it; empty if a person did. In report.runs.run_id.';
comment on column report.held.until is 'When a hold that a person asked for ends.';
comment on column report.held.mirror_value_then is 'The mirror''s value when the hold began.';
comment on column report.held.service_value_then is 'The service''s value when the hold began.';
comment on column report.held.batch is 'The hash of the fields that were stopped together, to give to "musterd approve" or sync.approve(). Empty: each field is decided separately ("musterd resolve").';
comment on column report.held.decided_at is 'When a person rejected the edit, or approved it, if the approval became void because the service''s value changed.';
comment on column report.held.decided_by is 'Who rejected or approved the edit.';
comment on column report.held.mirror_text is 'The mirror''s value now, as text; a name is its two halves, joined.';
comment on column report.held.service_text is 'The service''s value as a run last saw it, as text; a name is its two halves, joined.';
comment on column report.held.mirror_text_then is 'The mirror''s value when the hold began, as text; a name is its two halves, joined.';
comment on column report.held.service_text_then is 'The service''s value when the hold began, as text; a name is its two halves, joined.';
comment on column report.held.edit_id is 'The edit that is held, to give to "musterd resolve --edit". Empty: none, as when a person asked to hold the field.';
comment on column report.held.held_before is 'If a person asked for the hold: why the field was held before, and will be held again afterwards; empty: it was not held.';
comment on column report.held.asked_by is 'Who asked for the hold; empty: no person did, or it is not known.';
comment on column report.held.edited_by is 'Who edited the field, in the words of report.pending. Empty: it is not known, or the field was not edited.';
comment on column report.held.edited_in is 'The transaction of the edit. Fields with the same transaction were edited together, for example by one import.';
comment on column report.held.state is 'held: a person has to decide. rejected: a person rejected the edit, and the mirror still has its value.';

-- Postgres inlines this function into the query that calls it.
create or replace function sync.edit_fate(team bigint, users bigint, of_field text, edit bigint)
returns table (state text, detail text, reason text, request_id text)
language sql stable parallel safe rows 1
begin atomic
  select case
      when e.ended_how = 'agreed' then 'confirmed'
      when e.ended_at is not null then 'ended'
      when p.change_id is not null then case p.outcome when 'unknown' then 'unknown' else 'sending' end
      else coalesce(h.state, 'waiting') end,
    case
      when e.ended_how = 'overruled' then 'the value of the service was taken in its place'
      when e.ended_how = 'replaced' then 'somebody has edited the field again'
      when e.ended_how = 'forgotten' then 'the user is in the team no longer'
      when e.ended_how = 'withdrawn' then 'it was taken back here'
      when p.outcome = 'unknown' then 'it was sent, and no answer came: a run reads it back'
      when p.change_id is null then nullif(concat_ws(' ', nullif(h.detail, ''), '(batch ' || h.batch || ')'), '') end,
    case when p.change_id is null then h.reason end,
    coalesce(p.request_id, case when h.reason = 'refused' or e.ended_how = 'agreed' then (
      select c.request_id from sync.changes c
      where c.team_id = team and c.user_id = users and c.kind = 'push' and (c.edits ->> of_field)::bigint = edit
        and (e.ended_at is null or c.outcome ->> of_field = 'confirmed')
      order by c.change_id desc limit 1) end)
  from (select * from sync.edits o where o.team_id = team and o.edit_id = edit offset 0) e
  left join report.held h on h.team_id = team and h.user_id = users and h.field = of_field and e.ended_at is null
  left join lateral (
    select c.change_id, c.request_id, c.outcome ->> of_field as outcome from sync.changes c
    where c.team_id = team and c.user_id = users and c.state = 'open' and c.kind = 'push' and (c.edits ->> of_field)::bigint = edit
      and (h.state is null or h.state = 'rejected' and coalesce(c.outcome ->> of_field, 'unknown') = 'unknown') limit 1
  ) p on true;
end;
comment on function sync.edit_fate(bigint,bigint,text,bigint) is 'The state of an edit now; no row: the state is not known.';

create or replace view report.pending with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.base_value, v.mirror_value, v.state, v.reason, v.edited_at, v.edited_by,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text, v.name as user_name, v.detail
from (
  select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
         coalesce(case w.state when 'held' then w.state end, s.state, w.state, 'waiting') as state, w.reason,
         case when coalesce(w.state, s.state) is not null then null when u.gone_at is not null then 'the user has left the team'
              when not u.resolved then 'no lookup of the service answers for the user' end as detail, e.edited_at, sync.named_editor(e.edited_by, e.actor) as edited_by
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values {fields (FIELD, VALUE(b.), VALUE(u.))}) as f (field, base_value, mirror_value)
  left join report.held w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  left join sync.edits e on e.team_id = u.team_id and e.user_id = u.id and e.field = f.field and e.ended_at is null
  left join sync.changes c on c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
  cross join lateral (select case when c.new ? f.field and coalesce((c.edits ->> f.field)::bigint = e.edit_id, true)
    then case c.outcome ->> f.field when 'unknown' then 'unknown' else 'sending' end end) s (state)
  where ({columns u.COLUMN}) is distinct from ({columns b.COLUMN})
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.pending is 'Edits in the mirror that are not yet on the service: a row per field of a user (team_id, user_id, field).';
comment on column report.pending.field is 'The edited field: name is the pair of first and last name.';
comment on column report.pending.base_value is 'The value that the service had when both sides last agreed.';
comment on column report.pending.mirror_value is 'The edited value.';
comment on column report.pending.state is 'waiting: a run sends it without a decision. held: a person has to decide. sending: it is being sent. unknown: it was sent, and the answer was lost. rejected: a person rejected it.';
comment on column report.pending.reason is 'Why the edit is held, or was held before a person rejected it, as in report.held.reason.';
comment on column report.pending.edited_by is 'Who edited the field: the person whom a command of musterd was given, else the role that was connected. "role for person" means that another role named the person. Empty: it is not known.';
comment on column report.pending.base_text is 'The value when both sides last agreed, as text; a name is its two halves, joined.';
comment on column report.pending.mirror_text is 'The edited value, as text; a name is its two halves, joined.';
comment on column report.pending.detail is 'What the edit waits for; empty if it only waits for the next run. For held edits, see report.held.detail.';

create or replace view report.runs with (security_invoker) as
select v.* from (
  select r.run_id, r.team, r.team_id, r.command, r.started_at, r.finished_at, r.finished_at - r.started_at as duration, r.outcome,
         r.reasons, r.counts, r.waiting, r.requests, r.request_ids, r.groups, r.endpoints,
         extract(epoch from r.finished_at - r.started_at)::float8 as duration_seconds,
         (select string_agg(k.key || ' ' || (k.value #>> '{}'), ', ' order by k.key) from jsonb_each(r.counts) k) as counts_text
  from sync.runs r
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.runs is 'All runs, with the numbers of rows that each one read and moved: a row per run (run_id).';
comment on column report.runs.run_id is 'Number of the run.';
comment on column report.runs.team_id is 'The service''s id of the team.';
comment on column report.runs.command is 'reconcile, daemon, resolve or resync.';
comment on column report.runs.started_at is 'When the run began.';
comment on column report.runs.finished_at is 'When the run ended.';
comment on column report.runs.duration is 'How long the run took.';
comment on column report.runs.outcome is 'complete, partial, failed, refused, or running.';
comment on column report.runs.reasons is 'Why the run is not complete.';
comment on column report.runs.counts is 'How many rows were read and moved, by kind.';
comment on column report.runs.waiting is 'How many held fields, and users in a batch, waited for a person when the run ended.';
comment on column report.runs.requests is 'Requests that the run sent, retries included.';
comment on column report.runs.request_ids is 'X-Request-Id of each write to the service.';
comment on column report.runs.groups is 'What the run did: users, listings, counts, or only edits.';
comment on column report.runs.endpoints is 'By endpoint: requests, how many of them were throttled (429) or failed, ms of all requests, slowest_ms, and the X-Request-Id of the slowest request. report.usage has this as columns.';
comment on column report.runs.duration_seconds is 'How long the run took, in seconds.';
comment on column report.runs.counts_text is 'How many rows were read and moved, as text.';

-- New columns come last, so that the view can be replaced and keeps its grants. The text of a name joins its two halves.
create or replace view report.changes with (security_invoker) as
select v.change_id, v.team_id, v.user_id, v.name, v.run_id, v.kind, v.field, v.base_value, v.old_value, v.new_value, v.outcome,
       v.request_id, v.opened_at, v.closed_at, v.decided_by, v.decided_why, v.edited_by, v.old_text, v.new_text,
       mirror.field_text(v.base_value) as base_text, v.name as user_name, v.edit_id, v.batch, v.edited_at, v.decision_id from (
  select c.change_id, c.team_id, c.user_id, u.name, c.run_id, w.kind, coalesce(c.batch, w.way ->> 'batch') as batch, f.field, c.base -> f.field as base_value,
         w.old as old_value, w.new as new_value,
         case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
         c.request_id, c.opened_at, c.closed_at, coalesce(c.decided_by, w.way ->> 'decided_by') as decided_by, c.decided_why,
         coalesce(c.edited_by ->> f.field, (select sync.named_editor(e.edited_by, e.actor) from sync.edits e where e.team_id = c.team_id and e.edit_id = f.edit_id)) as edited_by,
         (select e.edited_at from sync.edits e where e.team_id = c.team_id and e.edit_id = f.edit_id) as edited_at,
         mirror.field_text(w.old) as old_text, mirror.field_text(w.new) as new_text, f.edit_id, coalesce(c.decision_id, (w.way ->> 'decision_id')::bigint) as decision_id
  from sync.changes c
  left join lateral (
    select k as field, (c.edits ->> k)::bigint as edit_id from jsonb_object_keys(c.old || c.new) k offset 0
  ) f on true
  -- If a person gave up an edit, old is the mirror's value. new is the value last agreed on or, if resolved, the service's.
  -- way is the decision that let a push pass.
  cross join lateral (
    select case when g.given then 'discard' else c.kind end as kind, case when g.given then c.new when c.kind = 'hold' then c.base else c.old end -> f.field as old,
      case when c.kind = 'hold' then c.old when not g.given then c.new when c.kind = 'resolve' then c.old else c.base end -> f.field as new,
      case when c.kind = 'push' then (select jsonb_build_object('batch', r.batch, 'decided_by', r.decided_by, 'decision_id', r.decision_id) from sync.changes r where r.team_id = c.team_id and r.user_id = c.user_id and r.change_id < c.change_id and r.kind in ('approve', 'resolve') and (r.edits ->> f.field)::bigint = f.edit_id order by r.change_id desc limit 1) end as way
    from (select c.kind in ('reject', 'resolve') and coalesce(c.outcome ->> f.field = 'withdrawn', false) as given) g
  ) w
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.changes is 'The ledger: a row per field that moved (change_id, field); a change without a field has one row as well.';
comment on column report.changes.change_id is 'Number of the change.';
comment on column report.changes.user_id is 'The user; empty if the change is about the mirror itself, or about a message, a tag or a read conversation.';
comment on column report.changes.name is 'The name as the service joins it today.';
comment on column report.changes.run_id is 'The run that made the change; empty if a person decided outside of any run. In report.runs.run_id.';
comment on column report.changes.kind is 'adopt, return, pull, push, settle, hold, tombstone or forget; discard: a person gave an edit up: withdrew it, rejected it and set the mirror back, or took the service''s value; approve, reject, resolve or undo: a person decided; place: a person said where the mirror is at home; call: a command sent a message, a tag or a read conversation at once.';
comment on column report.changes.field is 'The field, or message, tag or conversation_read; empty for a tombstone or forget, which is about the whole user.';
comment on column report.changes.base_value is 'The value on which both sides had last agreed before.';
comment on column report.changes.new_value is 'The new value; of a hold, the mirror''s value, which is held.';
comment on column report.changes.outcome is 'For a push: confirmed, ineffective, changed, missing, refused, unsent or unknown. For a call: answered; confirmed, if it was seen on the service; refused, unsent or unknown. For a discard: withdrawn. For a hold: its reason then, as in report.held.reason. For a resolved field: edited, if it got a value that neither side had.';
comment on column report.changes.request_id is 'X-Request-Id of the answer.';
comment on column report.changes.opened_at is 'When the change was recorded.';
comment on column report.changes.closed_at is 'When the outcome of the change became known.';
comment on column report.changes.decided_by is 'Who decided; of a push, who approved or resolved its edit.';
comment on column report.changes.edited_by is 'Who made the edit that it is about: the person whom a command of musterd was given, else the role that was connected. "role for person" means that another role named the person. Empty: it is not known.';
comment on column report.changes.old_text is 'The value that was replaced, as text; a name is its two halves, joined.';
comment on column report.changes.new_text is 'The new value, as text; a name is its two halves, joined.';
comment on column report.changes.base_text is 'The value on which both sides had last agreed before, as text; a name is its two halves, joined.';
comment on column report.changes.user_name is 'The name as the service joins it today.';
comment on column report.changes.edit_id is 'The edit that a push or a decision is about; empty: there is no edit, or it is older than the numbers of edits. In report.decisions.edit_id.';
comment on column report.changes.edited_at is 'When the edit (edit_id) was made.';
comment on column report.changes.decision_id is 'Number of the decision, also of the one that let a push pass; everything that was decided at once has the same number. In report.decisions.decision_id.';
comment on column report.changes.batch is 'The batch, import, undo or plan that a decision was about; empty: it was about the field only.';

create or replace view report.roster_history with (security_invoker) as
select p.team_id, t.name as team, p.user_id, p.valid_from, p.valid_to, p.name, p.first_name, p.last_name, p.email, p.phone,
       p.role_id, case when p.role_id is null then p.role else r.name end as role, p.resolved, p.created_at, p.updated_at,
       p.edited_at, p.edited_by, p.name as user_name, p.role_arrived_at < p.valid_to as role_arrived
from sync.user_periods p
left join mirror.teams t on t.team_id = p.team_id
left join sync.role_names r on r.team_id = p.team_id and r.role_id = p.role_id and r.valid_from < p.valid_to and r.valid_to >= p.valid_to
where p.present and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.roster_history is 'The users of the team as they were: a row per user and period in which nothing of the row changed (team_id, user_id, valid_from). It begins with the first run, or with the last change of the user before the history was recorded.';
comment on column report.roster_history.team is 'Name of the team today.';
comment on column report.roster_history.valid_from is 'Since when the user had these values.';
comment on column report.roster_history.valid_to is 'Until when the user had these values (exclusive); infinity: the user has them now.';
comment on column report.roster_history.name is 'The name as the service joined it.';
comment on column report.roster_history.first_name is 'First name.';
comment on column report.roster_history.role is 'Name of the role with role_id, as it was called at the end of the period; empty: no user had that role yet.';
comment on column report.roster_history.resolved is 'False: only the team listing knew this member.';
comment on column report.roster_history.updated_at is 'Last change on the service, as it was known then.';
comment on column report.roster_history.edited_at is 'Last edit in the mirror until the end of the period.';
comment on column report.roster_history.edited_by is 'Who made the last edit in the mirror until then.';
comment on column report.roster_history.user_name is 'The name as the service joined it.';
comment on column report.roster_history.role_arrived is 'Whether the service had this role by the end of the period; false: it was an edit that waited. Empty: not known, the edit is older than the record.';

create or replace view report.roster_changes with (security_invoker) as
select p.team_id, p.user_id, p.name as user_name, p.valid_from as changed_at, f.field, f.old_value, f.new_value, p.side,
       coalesce(p.actor, p.changed_by) as edited_by, p.changed_by as connected_as, p.run_id
from sync.user_periods p
left join lateral (
  select o.present, o.name, o.first_name, o.last_name, o.email, o.phone, o.role_id, o.role, o.resolved from sync.user_periods o
  where o.team_id = p.team_id and o.user_id = p.user_id and o.valid_from < p.valid_from order by o.valid_from desc limit 1
) o on true
cross join lateral (values
  ('present', coalesce(o.present, false)::text, p.present::text, true),
  ('name', o.name, p.name, o.present and p.present),
  ('first_name', o.first_name, p.first_name, o.present and p.present),
  ('last_name', o.last_name, p.last_name, o.present and p.present),
  ('email', o.email, p.email, o.present and p.present),
  ('phone', o.phone, p.phone, o.present and p.present),
  ('role_id', o.role_id::text, p.role_id::text, o.present and p.present),
  ('role', o.role, p.role, o.present and p.present),
  ('resolved', o.resolved::text, p.resolved::text, o.present and p.present)
) as f (field, old_value, new_value, counts)
where p.side is not null and f.counts and f.old_value is distinct from f.new_value
  and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.roster_changes is 'Who changed what in the roster: a row per field and change (team_id, user_id, changed_at, field). A user who came or went has one row, for the field present. Users who were there when the mirror began do not count as having come.';
comment on column report.roster_changes.user_name is 'The name as the service joined it then.';
comment on column report.roster_changes.changed_at is 'Since when the new value was in the mirror.';
comment on column report.roster_changes.field is 'The column of report.roster, or present: whether the user was in the team. role is the name that the service gave with the user: after an edit of role_id, it changes once a run has read the new name.';
comment on column report.roster_changes.old_value is 'The old value, as text; NULL: none.';
comment on column report.roster_changes.new_value is 'The new value, as text; NULL: none.';
comment on column report.roster_changes.run_id is 'The run that made the change. In report.runs.run_id.';

create or replace view report.role_changes with (security_invoker) as
select p.team_id, p.user_id, p.name as user_name, p.valid_from as changed_at, o.role_id as old_role_id,
       case when o.role_id is null then o.role else b.name end as old_role, p.role_id as new_role_id,
       case when p.role_id is null then p.role else a.name end as new_role, p.side, coalesce(p.actor, p.changed_by) as edited_by,
       p.changed_by as connected_as, p.run_id, p.role_arrived_at < 'infinity' as role_arrived
from sync.user_periods p
cross join lateral (
  select o.role_id, o.role from sync.user_periods o
  where o.team_id = p.team_id and o.user_id = p.user_id and o.valid_from < p.valid_from order by o.valid_from desc limit 1
) o
left join sync.role_names b on b.team_id = p.team_id and b.role_id = o.role_id and b.valid_from <= p.valid_from and b.valid_to > p.valid_from
left join sync.role_names a on a.team_id = p.team_id and a.role_id = p.role_id and a.valid_from <= p.valid_from and a.valid_to > p.valid_from
where p.role_moved and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.role_changes is 'Who got another role: a row per user and change (team_id, user_id, changed_at).';
comment on column report.role_changes.user_name is 'The name as the service joined it then.';
comment on column report.role_changes.changed_at is 'Since when the new role was in the mirror.';
comment on column report.role_changes.old_role_id is 'The service''s id of the old role.';
comment on column report.role_changes.old_role is 'Name of the old role, as it was called then.';
comment on column report.role_changes.new_role_id is 'The service''s id of the new role.';
comment on column report.role_changes.new_role is 'Name of the new role, as it was called then; empty: no user had that role yet.';
comment on column report.role_changes.run_id is 'The run that made the change. In report.runs.run_id.';
comment on column report.role_changes.role_arrived is 'Whether the service has had the new role. False: an edit that waits, was taken back or was replaced before it arrived. Empty: not known, the edit is older than the record.';

create or replace view report.roles with (security_invoker) as
select v.* from (
  select r.team_id, r.role_id, r.name as role, r.members, r.first_seen_at, r.gone_at, r.gone_at is null as present
  from mirror.roles r
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.roles is 'All roles that a user has or has had: a row per role (team_id, role_id).';
comment on column report.roles.role_id is 'The service''s id of the role: what role_id of mirror.users is set to.';
comment on column report.roles.role is 'Name of the role.';
comment on column report.roles.members is 'How many users have the role.';
comment on column report.roles.first_seen_at is 'When a run first saw a user with the role.';
comment on column report.roles.gone_at is 'Since when no user has the role.';
comment on column report.roles.present is 'Whether any user has the role.';

create index if not exists runs_of_listings on sync.runs (team_id, finished_at) where outcome = 'complete' and 'listings' = any (groups);
comment on index sync.runs_of_listings is 'Finds the first run that read the listings to their end, however long ago.';

-- Rows that existed when the mirror began do not count as added. The mirror began with its first complete run, as for
-- users; before that run, or if no run is on record, with its first row. For roles, which have no listing, it began with
-- the first user who had a role.
do $do$
begin
  execute (select format($view$
    create or replace view report.listing_history with (security_invoker) as
    select v.* from (
      with looks as materialized (
        select n.team_id, (
          select min(r.finished_at) from sync.runs r
          where r.team_id = n.team_id and r.outcome = 'complete' and 'listings' = any (r.groups)) as at
        from sync.teams n
      )
      %1$s
      select t.team_id, 'roles' as resource, t.role_id as id, t.name, 'added' as kind, 'name' as field, null::text as old_value,
             case when e.id is null then t.name else e.old ->> 'name' end as new_value, t.first_seen_at as changed_at
      from mirror.roles t
      join (select b.team_id, min(b.first_seen_at) as at from mirror.roles b group by b.team_id) f on f.team_id = t.team_id and f.at < t.first_seen_at
      left join lateral (
        select c.id, c.old from sync.listing_changes c
        where c.team_id = t.team_id and c.resource = 'roles' and c.id = t.role_id and c.old ? 'name' order by c.change_id limit 1
      ) e on true
      union all
      select c.team_id, c.resource, c.id, coalesce(%2$s, r.name, o.name), c.kind, f.field, c.old ->> f.field,
             c.new ->> f.field, c.changed_at
      from sync.listing_changes c
      left join lateral jsonb_object_keys(c.new) as f (field) on true
      %3$s
      left join mirror.roles r on c.resource = 'roles' and r.team_id = c.team_id and r.role_id = c.id
      left join mirror.teams o on c.resource = 'teams' and o.team_id = c.team_id
    ) v
    where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams())$view$,
    string_agg(format($added$
      select t.team_id, %1$L as resource, t.id, t.%2$I as name, 'added' as kind, %2$L as field, null::text as old_value,
             case when e.id is null then t.%2$I else e.old ->> %2$L end as new_value, t.first_seen_at as changed_at
      from mirror.%1$I t
      join (select b.team_id, min(b.first_seen_at) as at from mirror.%1$I b group by b.team_id) f on f.team_id = t.team_id
      left join looks l on l.team_id = t.team_id
      left join lateral (
        select c.id, c.old from sync.listing_changes c
        where c.team_id = t.team_id and c.resource = %1$L and c.id = t.id and c.old ? %2$L order by c.change_id limit 1
      ) e on true
      where coalesce(l.at, f.at) < t.first_seen_at
      union all$added$, l.listed, l.name), ''),
    string_agg(format('%1$I.%2$I', l.listed, l.name), ', '),
    string_agg(format('left join mirror.%1$I on c.resource = %1$L and %1$I.team_id = c.team_id and %1$I.id = c.id', l.listed), ' '))
  from (select t as listed, (select c from mirror.listed_columns(t) c limit 1) as name from mirror.listed_tables() t) l);
end
$do$;
comment on view report.listing_history is 'The changes of the rows of each listing, of roles and of the name of the team: a row per column that changed, and one row if an item went, or came back unchanged. Rows that were there when the mirror began do not count as added.';
comment on column report.listing_history.resource is 'The table of the listing, roles or teams.';
comment on column report.listing_history.id is 'The service''s id of the row, role or team.';
comment on column report.listing_history.name is 'The name that the row, role or team has now.';
comment on column report.listing_history.kind is 'added, changed, gone or back.';
comment on column report.listing_history.field is 'The column that changed, such as tag, color, title or name; empty if the item went, or came back unchanged.';
comment on column report.listing_history.new_value is 'The new value; for a row that was added, its name at that time.';

create or replace view report.tag_history with (security_invoker) as
select h.team_id, h.id as tag_id, h.name as tag, h.kind, h.field, h.old_value, h.new_value, h.changed_at
from report.listing_history h
where h.resource = 'tags' and ((select mirror.sees_all_teams()) or h.team_id in (select mirror.seen_teams()));
comment on view report.tag_history is 'The changes of each tag: a row per column that changed, and one row if the tag went, or came back unchanged. Rows that were there when the mirror began do not count as added.';
comment on column report.tag_history.tag_id is 'The service''s id of the tag. In report.tags.tag_id.';
comment on column report.tag_history.tag is 'The name that the tag has now.';
comment on column report.tag_history.kind is 'added, changed, gone or back.';
comment on column report.tag_history.field is 'The column that changed: tag or color; empty if the tag went, or came back unchanged.';
comment on column report.tag_history.new_value is 'The new value; for a tag that was added, its name at that time.';

create or replace view report.tag_growth with (security_invoker) as
select v.* from (
  with looks as (
    select r.team_id, (r.finished_at at time zone 'UTC')::date as day, min(r.finished_at) as at from sync.runs r
    where r.outcome = 'complete' and 'listings' = any (r.groups) and r.team_id is not null
    group by 1, 2
  ),
  began as (
    select f.team_id, coalesce(l.at, f.at) as at
    from (select b.team_id, min(b.first_seen_at) as at from mirror.tags b group by b.team_id) f
    left join (select k.team_id, min(k.at) as at from looks k group by k.team_id) l on l.team_id = f.team_id
  ),
  moves as (
    select m.team_id, m.day, sum(m.found) as found, sum(m.added) as added, sum(m.changed) as changed, sum(m.gone) as gone, sum(m.back) as back
    from (
      select t.team_id, (t.first_seen_at at time zone 'UTC')::date as day, (t.first_seen_at <= b.at)::int as found,
        (t.first_seen_at > b.at)::int as added, 0 as changed, 0 as gone, 0 as back
      from mirror.tags t
      join began b on b.team_id = t.team_id
      union all
      select c.team_id, (c.changed_at at time zone 'UTC')::date, 0, 0, (c.kind = 'changed')::int, (c.kind = 'gone')::int, (c.kind = 'back')::int
      from sync.listing_changes c where c.resource = 'tags'
    ) m group by m.team_id, m.day
  ),
  days as (
    select f.team_id, f.first + n as day
    from (select m.team_id, min(m.day) as first from moves m group by m.team_id) f
    cross join lateral generate_series(0, (now() at time zone 'UTC')::date - f.first) n
  )
  select d.team_id, d.day,
    case when s.seen then (sum(coalesce(m.found + m.added + m.back - m.gone, 0)) over (partition by d.team_id order by d.day))::bigint end as tags,
    case when s.seen then coalesce(m.added, 0) end as added, case when s.seen then coalesce(m.changed, 0) end as changed,
    case when s.seen then coalesce(m.gone, 0) end as gone, case when s.seen then coalesce(m.back, 0) end as back
  from days d
  left join moves m on m.team_id = d.team_id and m.day = d.day
  left join looks l on l.team_id = d.team_id and l.day = d.day
  cross join lateral (select m.day is not null or l.day is not null) as s (seen)
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.tag_growth is 'How many tags there were at the end of each day (UTC), and what changed that day: a row per team and day (team_id, day), from the first tag to today. A day on which no run read the tags has no numbers.';
comment on column report.tag_growth.day is 'The day.';
comment on column report.tag_growth.tags is 'How many tags there were at the end of the day; empty: no run read the tags that day.';
comment on column report.tag_growth.added is 'How many tags were seen for the first time. Tags that existed when the mirror began do not count.';
comment on column report.tag_growth.changed is 'How many changes of name or colour there were.';
comment on column report.tag_growth.gone is 'How many tags were proven gone.';
comment on column report.tag_growth.back is 'How many tags were shown again after having been gone.';

create or replace view report.freshness with (security_invoker) as
select v.* from (
  select t.team_id, d.team, d.run_group, nullif(d.schedule, '') as schedule, d.started_at as last_attempt, d.outcome as last_outcome,
         d.complete_at as last_success, floor(a.age)::bigint as age_seconds,
         extract(epoch from d.stale_after)::bigint as stale_after_seconds, a.age <= extract(epoch from d.stale_after) as fresh,
         case when a.age > extract(epoch from d.stale_after) then a.since + d.stale_after end as stale_since,
         nullif(d.due_at, 'infinity') as next_run, d.failures
  from sync.due d
  left join sync.teams t on t.team = d.team
  -- Ignores a complete run in the future, because it was recorded before the clock was set back.
  cross join lateral (select case when d.complete_at <= now() + interval '1 minute' then d.complete_at else d.since end as since) s
  cross join lateral (select s.since, greatest(0, extract(epoch from now() - s.since)) as age) a
  where d.run_group <> 'edits'
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.freshness is 'How old the mirror is: a row per team and group of tables (team, run_group).';
comment on column report.freshness.team_id is 'The team; empty: no run has read the team yet.';
comment on column report.freshness.run_group is 'users, listings (tags, contact fields, inboxes and surveys) or counts.';
comment on column report.freshness.schedule is 'The daemon''s schedule for the group, with its time zone; empty: no daemon has a schedule for the group.';
comment on column report.freshness.last_attempt is 'When the last run of the group began.';
comment on column report.freshness.last_outcome is 'How the last run of the group ended: complete, partial, failed or refused.';
comment on column report.freshness.last_success is 'When the last complete run of the group ended; empty: there was no complete run.';
comment on column report.freshness.age_seconds is 'Seconds since last_success; if that is empty, since the group was first recorded.';
comment on column report.freshness.stale_after_seconds is 'The group is stale if age_seconds is more than this: three times the longest time between two runs of the schedule.';
comment on column report.freshness.fresh is 'True if age_seconds is at most stale_after_seconds; empty: no daemon has a schedule for the group.';
comment on column report.freshness.stale_since is 'Since when the group is stale; empty: it is not stale.';
comment on column report.freshness.next_run is 'When the next run of the group is due; empty: no time is set.';
comment on column report.freshness.failures is 'How many of the last runs of the group have failed, in a row.';

create or replace view report.sync_health with (security_invoker) as
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
comment on view report.sync_health is 'How the runs of the last seven days ended, and how long they took: a row per team (team).';
comment on column report.sync_health.last_attempt is 'When the last run that reads all users began, however long ago.';
comment on column report.sync_health.last_outcome is 'How the last run ended: complete, partial, failed or refused; running: it has not ended.';
comment on column report.sync_health.last_success is 'When the last complete run that reads all users ended, however long ago.';
comment on column report.sync_health.runs is 'How many runs that read all users (reconcile or daemon) began in the last seven days and have ended.';
comment on column report.sync_health.complete_runs is 'How many of these runs were complete.';
comment on column report.sync_health.success_rate is 'complete_runs as a share of runs, from 0 to 1; empty: there was no run.';
comment on column report.sync_health.p50_seconds is 'Half of these runs took no longer than this.';
comment on column report.sync_health.p95_seconds is '95 of 100 of these runs took no longer than this.';
comment on column report.sync_health.requests is 'Requests of all runs of the last seven days, retries included.';
comment on column report.sync_health.throttled is 'How many of these requests the service answered with 429 (too many requests).';

-- The endpoint is empty for runs from before endpoints were recorded, because it could only be guessed.
create or replace view report.usage with (security_invoker) as
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
comment on view report.usage is 'The requests of runs to the service: a row per team, day and endpoint (team, day, endpoint); days in UTC. Requests outside of runs, such as those of musterd plan, are not recorded.';
comment on column report.usage.day is 'The day, in UTC, on which the runs began.';
comment on column report.usage.endpoint is 'Method and path, such as "GET /v1/users/get"; empty: requests of runs before this was recorded.';
comment on column report.usage.runs is 'How many runs sent a request to the endpoint that day.';
comment on column report.usage.requests is 'Requests, retries included.';
comment on column report.usage.throttled is 'How many of these requests were answered with 429 (too many requests).';
comment on column report.usage.failed is 'How many of these requests got another error, or no answer.';
comment on column report.usage.mean_ms is 'How long one took on average, in ms.';
comment on column report.usage.slowest_ms is 'How long the slowest took, in ms.';

create or replace view report.decisions with (security_invoker) as
select v.change_id, v.team_id, v.decided_at, v.decision, v.user_id, v.name, v.field, v.base_value, v.mirror_value, v.service_value,
  v.base_text, v.mirror_text, v.service_text, v.decided_by, v.decided_role, v.decided_why, v.batch, v.run_id, v.decision_id, v.edit_id,
  v.state, v.detail, v.name as user_name, v.reason, v.deed, v.held_since from (
  select c.change_id, c.team_id, c.opened_at as decided_at, c.kind as decision, c.user_id, u.name, f.field,
         c.base -> f.field as base_value, c.new -> f.field as mirror_value, c.old -> f.field as service_value,
         mirror.field_text(c.base -> f.field) as base_text, mirror.field_text(c.new -> f.field) as mirror_text,
         mirror.field_text(c.old -> f.field) as service_text,
         c.decided_by, c.decided_role, c.decided_why, c.batch, c.run_id,
         c.decision_id, f.edit_id,
         case when c.kind = 'reject' and c.outcome ->> f.field = 'withdrawn' then 'withdraw' when c.kind <> 'resolve' then c.kind
           when c.outcome ->> f.field = 'withdrawn' then 'service' when c.outcome ->> f.field = 'edited' then 'value' else 'mirror' end as deed,
         (select max(case k.kind when 'hold' then k.opened_at else k.closed_at end) from sync.changes k
           where k.team_id = c.team_id and k.user_id = c.user_id and k.change_id < c.change_id and k.new ? f.field
             and ((k.edits ->> f.field)::bigint = f.edit_id or k.kind = 'hold' and c.outcome ->> f.field = 'edited')
             and (k.kind = 'hold' or k.kind = 'push' and k.outcome ->> f.field in ('refused', 'ineffective', 'changed'))) as held_since,
         case
           when f.field is null then case when u.gone_at is not null then 'confirmed' when a.id is not null then 'waiting' else 'ended' end
           when g.given then 'ended' else x.state end as state, case when not g.given then x.detail end as detail, x.reason
  from sync.changes c
  -- The cast to edit_id comes before the joins: in a join condition, row-level security would keep Postgres from the index.
  left join lateral (
    select k as field, (c.edits ->> k)::bigint as edit_id from jsonb_object_keys(c.old || c.new) k offset 0
  ) f on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
  left join lateral sync.edit_fate(c.team_id, c.user_id, f.field, f.edit_id) x on true
  cross join lateral (select c.kind = 'resolve' and coalesce(c.outcome ->> f.field = 'withdrawn', false) as given) g
  left join sync.absences a on f.field is null and a.team_id = c.team_id and a.resource = 'users' and a.id = c.user_id
    and a.verdict = 'approved'
  where c.kind in ('approve', 'reject', 'resolve', 'undo') and (c.user_id is not null or c.decision_id is not null)
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.decisions is 'What people decided about held fields, and the state of the edits now: a row per decision and field (change_id, field).';
comment on column report.decisions.change_id is 'Number of the change in the ledger. In report.changes.change_id.';
comment on column report.decisions.decided_at is 'When the person decided.';
comment on column report.decisions.decision is 'approve: the edit may be sent. reject: the edit is not sent. resolve: the value of the field was chosen. undo: up to 0.1.0, an earlier decision was taken back.';
comment on column report.decisions.user_id is 'The service''s id of the user; empty: the decision was about a message, a tag or a read conversation, which was possible up to 0.1.0.';
comment on column report.decisions.name is 'The name as the service joins it today.';
comment on column report.decisions.field is 'The field: name is the pair of first and last name. Empty: a person agreed that the user has left.';
comment on column report.decisions.base_value is 'The value last agreed on when the person decided.';
comment on column report.decisions.mirror_value is 'The mirror''s value when the person decided.';
comment on column report.decisions.service_value is 'The service''s value when the person decided.';
comment on column report.decisions.mirror_text is 'The mirror''s value when the person decided, as text; a name is its two halves, joined.';
comment on column report.decisions.service_text is 'The service''s value when the person decided, as text; a name is its two halves, joined.';
comment on column report.decisions.decided_by is 'Who decided: the role that was connected; "role for person" if it named a person; "person, said by role" if it was the login that owns the mirror.';
comment on column report.decisions.decided_role is 'The role that was connected.';
comment on column report.decisions.batch is 'The batch, import, undo or plan that the decision was about; empty: it was about the field only.';
comment on column report.decisions.run_id is 'The run that applied a plan; empty: a person decided outside of any run. In report.runs.run_id.';
comment on column report.decisions.decision_id is 'Number of the decision. Everything that was decided at once has the same number.';
comment on column report.decisions.edit_id is 'The edit that the decision is about; empty: there is no edit, or it is older than the numbers of edits.';
comment on column report.decisions.state is 'The state of the edit now. confirmed: both sides have it. waiting: a run sends it without a decision. sending: it is being sent. unknown: it was sent, and the answer was lost. held: a person has to decide, also if an approved edit is held again. rejected: a person rejected it. ended: it was taken back, edited again or given up. Empty: it is not known.';
comment on column report.decisions.detail is 'The reason for the state, in words.';
comment on column report.decisions.user_name is 'The name as the service joins it today.';
comment on column report.decisions.deed is 'What the decision did: approve; reject; withdraw, which includes a rejection that set the mirror back to the value last agreed on; mirror, service or value, which says whose value was chosen; undo.';
comment on column report.decisions.held_since is 'Since when the edit had been held, for its last reason; empty: it was not held, or that is not on record.';
comment on column report.decisions.reason is 'Why the edit is held, or was held before it was rejected, as in report.held.reason.';

create or replace view report.missing with (security_invoker) as
select a.team_id, a.batch, a.resource, count(*) as rows, min(a.detail) as detail, min(a.withheld_at) as since
from sync.absences a
where a.batch is not null and ((select mirror.sees_all_teams()) or a.team_id in (select mirror.seen_teams()))
group by a.team_id, a.batch, a.resource;
comment on view report.missing is 'Missing rows that no run marks as gone before a person agrees: a row per batch (team_id, batch, resource).';
comment on column report.missing.batch is 'The hash to give to "musterd approve" or sync.approve().';
comment on column report.missing.resource is 'users, or the table of a listing.';
comment on column report.missing.rows is 'How many rows the batch has.';
comment on column report.missing.detail is 'Why no run marks these rows as gone without a person.';

create or replace view report.contact_counts with (security_invoker) as
select c.team_id, c.segment, c.counted_at, c.count
from mirror.contact_counts c
where (select mirror.sees_all_teams()) or c.team_id in (select mirror.seen_teams());
comment on view report.contact_counts is 'How many contacts each segment had: a row per count (team_id, segment, counted_at).';
comment on column report.contact_counts.segment is 'Name of the segment in the configuration.';
comment on column report.contact_counts.counted_at is 'When the service answered.';
comment on column report.contact_counts.count is 'Number of contacts.';

create or replace function report.roster_as_of(at timestamptz)
returns table (team_id bigint, team text, user_id bigint, name text, first_name text, last_name text, email text, phone text,
  role_id bigint, role text, resolved boolean, created_at timestamptz, updated_at timestamptz, edited_at timestamptz, edited_by text,
  user_name text, role_arrived boolean)
language sql stable parallel safe
begin atomic
  select p.team_id, t.name, p.user_id, p.name, p.first_name, p.last_name, p.email, p.phone, p.role_id,
    case when p.role_id is null then p.role else r.name end, p.resolved, p.created_at, p.updated_at, p.edited_at, p.edited_by,
    p.name, p.role_arrived_at <= at
  from sync.user_periods p
  left join mirror.teams t on t.team_id = p.team_id
  left join sync.role_names r on r.team_id = p.team_id and r.role_id = p.role_id and r.valid_from <= at and r.valid_to > at
  where p.present and p.team_id = any (array(select s.team_id from mirror.teams s)) and p.valid_from <= at and p.valid_to > at
    and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
end;
comment on function report.roster_as_of(timestamp with time zone) is 'The users who were in the team at that time, as report.roster showed them then. The name of the team is today''s, and a role that no user had yet has the first name that it got later. For times before the history was recorded, it shows only users who have not changed since: see report.roster_history. A change counts from when it was made, even if its transaction was committed later. So the result for a time at which a transaction was still open can change when that transaction ends.';

-- If a column of a report has no comment of its own, it gets the comment that all columns with its name share.
do $$
declare
  one text;
begin
  for one in
    select format('comment on column %s.%I is %L', a.attrelid::regclass, a.attname, w.words)
    from (values ('team_id', 'The team.'), ('team', 'Name of the team in the configuration.'), ('since', 'Since when it waits.'),
      ('user_id', 'The service''s id of the user. In mirror.users.id.'), ('role_id', 'The service''s id of the role.'),
      ('name', 'The name as the service joins it.'), ('user_name', 'The name as the service joins it.'), ('last_name', 'Last name.'),
      ('email', 'Email address.'), ('phone', 'Phone number.'), ('created_at', 'When the user joined the team.'),
      ('changed_at', 'When a run saw it.'), ('edited_at', 'When the field was edited.'), ('old_value', 'The value that was replaced.'),
      ('base_text', 'The value last agreed on, as text; a name is its two halves, joined.'), ('decided_why', 'The reason that was given.'),
      ('connected_as', 'The database role that was connected; NULL: a run did.'),
      ('edited_by', 'Who changed it here: the person whom a command of musterd was given, else the role that was connected. "role for person" means that another role named the person. NULL: a run did.'),
      ('side', 'From which side the change came. mirror: an editor made it here. service: it was made there, and musterd brought it.')) w (name, words)
    join pg_attribute a on a.attname = w.name and a.attnum > 0 and col_description(a.attrelid, a.attnum) is null
    join pg_class c on c.oid = a.attrelid and c.relkind = 'v' and c.relnamespace = 'report'::regnamespace and c.relowner = (select r.relowner from pg_class r where r.oid = 'report.roster'::regclass)
  loop
    execute one;
  end loop;
end
$$;
