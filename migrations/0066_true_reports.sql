-- Reports name the role that a user has in the mirror, and say whether the service has it; what was there when the mirror
-- began did not come; and a user's name is called user_name everywhere.

alter table sync.user_periods add column role_arrived_at timestamptz default '-infinity';
comment on column sync.user_periods.role_arrived_at is 'When the service took the role. -infinity: it had it already. infinity: it is an edit that had not arrived when it ended, or has not yet. NULL: not known, the edit is older than this record.';
comment on column sync.user_periods.role is 'Name of the role that the service gave last. That of role_id is in sync.role_names.';
comment on column sync.user_periods.side is 'Where the change came from with which it begins. mirror: an edit, or a person gave the value of before back. service: musterd wrote what the service has. NULL: not known, it was so when the mirror began, or when the table was made.';
comment on column mirror.users.role is 'The role''s name, as the team listing last gave it: once role_id is edited, still that of the role before. report.roster goes by role_id. Read-only.';

-- What was written before: the first run of a team took over who was there, and the ledger knows which roles arrived.
update sync.user_periods p set side = null
from (select o.team_id, (array_agg(o.run_id order by o.valid_from))[1] as run_id from sync.user_periods o group by o.team_id) f
where p.team_id = f.team_id and p.run_id = f.run_id and p.side = 'service' and p.present
  and not exists (
    select from sync.user_periods o where o.team_id = p.team_id and o.user_id = p.user_id and o.valid_from < p.valid_from);
with moves as (
  select p.team_id, p.user_id, p.valid_from, p.role_id, p.side,
    lead(p.valid_from, 1, 'infinity') over (partition by p.team_id, p.user_id order by p.valid_from) as until
  from sync.user_periods p where p.role_moved
),
edits as (
  select m.team_id, m.user_id, m.valid_from, m.until, case
    when u.role_id = b.role_id and m.until = 'infinity' then (
      select coalesce(min(c.closed_at), m.valid_from) from sync.changes c
      where c.team_id = m.team_id and c.user_id = m.user_id and c.opened_at >= m.valid_from
        and c.kind in ('push', 'settle') and c.new -> 'role_id' = to_jsonb(m.role_id))
    when m.until = 'infinity' then 'infinity'
    else (
      select min(c.closed_at) from sync.changes c
      where c.team_id = m.team_id and c.user_id = m.user_id and c.opened_at between m.valid_from and m.until
        and c.new -> 'role_id' = to_jsonb(m.role_id) and (c.kind = 'settle' or c.outcome ->> 'role_id' = 'confirmed'))
    end as arrived_at
  from moves m
  join mirror.users u on u.team_id = m.team_id and u.id = m.user_id
  left join sync.user_base b on b.team_id = m.team_id and b.id = m.user_id
  where m.side = 'mirror'
)
update sync.user_periods p set role_arrived_at = e.arrived_at
from edits e
where p.team_id = e.team_id and p.user_id = e.user_id and p.valid_from >= e.valid_from and p.valid_from < e.until;

-- As in 0040. Whom a run adds before any run of the users was complete was there already, and a role waits as long as its edit lasts.
create or replace function mirror.note_periods() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  begins timestamptz := now();
  run    constant bigint := case when tg_argv[0] = 'service' then nullif(current_setting('musterd.run', true), '')::bigint end;
  origin constant text := case
    when run is null and tg_op = 'UPDATE' then 'mirror'
    when tg_op = 'INSERT' and exists (
      select from sync.runs r where r.run_id = run and not exists (
        select from sync.runs c where c.team = r.team and c.outcome = 'complete' and 'users' = any (c.groups))) then null
    else tg_argv[0] end;
  person constant text := case when run is null then sync.actor() end;
begin
  if origin = 'mirror' then
    select greatest(max(t.edited_at), statement_timestamp()) into begins from touched t;
  end if;
  -- On a first load nobody was there, and nobody is looked for.
  if tg_op = 'INSERT' and run is not null and not exists (
    select from (select t.team_id, min(t.id) as first, max(t.id) as last from touched t group by t.team_id) r
    where exists (select from sync.user_periods o where o.team_id = r.team_id and o.user_id between r.first and r.last)
  ) then
    insert into sync.user_periods (team_id, user_id, valid_from, present, name, first_name, last_name, email, phone, role_id,
      role, resolved, created_at, updated_at, edited_at, edited_by, side, run_id)
    select t.team_id, t.id, begins, true, t.name, t.first_name, t.last_name, t.email, t.phone, t.role_id,
      t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by, origin, run
    from touched t where t.gone_at is null;
    return null;
  end if;
  with moved as materialized (
    select t.team_id, t.id, tg_op <> 'DELETE' and t.gone_at is null as present, t.name, t.first_name, t.last_name, t.email, t.phone,
      t.role_id, t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by, p.place, p.valid_from,
      p.present and (p.role_id is distinct from t.role_id or t.role_id is null and p.role is distinct from t.role) as role_moved,
      exists (
        select from sync.edits e
        where e.team_id = t.team_id and e.user_id = t.id and e.field = 'role_id' and e.ended_at is null and e.new_value = to_jsonb(t.role_id)
      ) as role_waits
    from touched t
    left join lateral (
      select o.ctid as place, o.valid_from, o.present, o.name, o.first_name, o.last_name, o.email, o.phone, o.role_id, o.role,
        o.resolved, o.created_at, o.updated_at, o.edited_at, o.edited_by
      from sync.user_periods o
      where o.team_id = t.team_id and o.user_id = t.id order by o.valid_from desc limit 1
    ) p on true
    where case when tg_op <> 'DELETE' and t.gone_at is null
      then p.present is distinct from true or
        (p.name, p.first_name, p.last_name, p.email, p.phone, p.role_id, p.role, p.resolved, p.created_at, p.updated_at, p.edited_at, p.edited_by)
          is distinct from
        (t.name, t.first_name, t.last_name, t.email, t.phone, t.role_id, t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by)
      else p.present end
  ),
  closed as (
    update sync.user_periods o set valid_to = greatest(begins, o.valid_from + interval '1 microsecond')
    where o.ctid = any (array(select m.place from moved m where m.place is not null))
    returning true
  )
  insert into sync.user_periods (team_id, user_id, valid_from, present, name, first_name, last_name, email, phone, role_id, role,
    resolved, created_at, updated_at, edited_at, edited_by, side, run_id, changed_by, actor, role_moved, role_arrived_at)
  select m.team_id, m.id, greatest(begins, m.valid_from + interval '1 microsecond'), m.present, m.name, m.first_name, m.last_name,
    m.email, m.phone, m.role_id, m.role, m.resolved, m.created_at, m.updated_at, m.edited_at, m.edited_by,
    origin, run, case when run is null then session_user end,
    case when person is not null then sync.named_editor(session_user, person) end, m.present and coalesce(m.role_moved, false),
    case when m.role_waits then 'infinity' else '-infinity' end::timestamptz
  from moved m where (select count(*) from closed) >= 0; -- first the end of one, then the beginning of the next
  return null;
end
$$;

-- The periods since the user had another role.
create function sync.note_role_arrival() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  update sync.user_periods p set role_arrived_at = new.ended_at
  where p.team_id = new.team_id and p.user_id = new.user_id and p.role_arrived_at = 'infinity'
    and p.role_id = (select b.role_id from sync.user_base b where b.team_id = new.team_id and b.id = new.user_id)
    and p.valid_from > coalesce((
      select max(o.valid_from) from sync.user_periods o
      where o.team_id = new.team_id and o.user_id = new.user_id and to_jsonb(o.role_id) is distinct from new.new_value), '-infinity');
  return null;
end
$$;
revoke execute on function sync.note_role_arrival() from public;
comment on function sync.note_role_arrival() is 'Keeps since when the service has a role that was edited here.';
create trigger note_role_arrival after update of ended_how on sync.edits
for each row when (new.field = 'role_id' and new.ended_how = 'agreed') execute function sync.note_role_arrival();
comment on trigger note_role_arrival on sync.edits is 'Keeps since when the service has a role that was edited here.';

create view sync.role_names with (security_invoker) as
select v.team_id, v.role_id, v.name,
  coalesce(lag(v.valid_to) over (partition by v.team_id, v.role_id order by v.valid_to), '-infinity') as valid_from, v.valid_to
from (
  select r.team_id, r.role_id, r.name, 'infinity'::timestamptz as valid_to from mirror.roles r
  union all
  select c.team_id, c.id, c.old ->> 'name', c.changed_at from sync.listing_changes c where c.resource = 'roles' and c.old ? 'name'
) v;
comment on view sync.role_names is 'What each role was called, and from when to when: a row per role and name (team_id, role_id, valid_from).';
comment on column sync.role_names.team_id is 'The team.';
comment on column sync.role_names.role_id is 'The service''s id of the role.';
comment on column sync.role_names.name is 'Its name; NULL: the service did not say.';
comment on column sync.role_names.valid_from is 'Since when it was called that; -infinity: since it is known.';
comment on column sync.role_names.valid_to is 'Until when, itself no longer a part of it; infinity: it is called that now.';

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
comment on column report.roster.role is 'Name of the role that role_id says; empty: nobody has had that role yet.';
comment on column report.roster.role_arrived is 'Whether the service has this role; false: it was edited here, and waits.';

create or replace view report.roster_history with (security_invoker) as
select p.team_id, t.name as team, p.user_id, p.valid_from, p.valid_to, p.name, p.first_name, p.last_name, p.email, p.phone,
       p.role_id, case when p.role_id is null then p.role else r.name end as role, p.resolved, p.created_at, p.updated_at,
       p.edited_at, p.edited_by, p.name as user_name, p.role_arrived_at < p.valid_to as role_arrived
from sync.user_periods p
left join mirror.teams t on t.team_id = p.team_id
left join sync.role_names r on r.team_id = p.team_id and r.role_id = p.role_id and r.valid_from < p.valid_to and r.valid_to >= p.valid_to
where p.present and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on column report.roster_history.role is 'Name of the role that role_id says, as it was called at the end of the period; empty: nobody had that role yet.';
comment on column report.roster_history.role_arrived is 'Whether the service had this role by the end of the period; false: it was an edit that waited. Empty: not known, the edit is older than the record.';

drop function report.roster_as_of(timestamptz);
create function report.roster_as_of(at timestamptz)
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
comment on function report.roster_as_of(timestamptz) is 'The users who were in the team at that time, as report.roster showed them then; the name of the team is today''s, and a role that nobody had had yet is called by the first name that it got. Of times before the history was recorded it shows only users who have not changed since: see report.roster_history. A change counts from when it was made, also where its transaction was committed later: what is asked about a time at which a transaction was still open can be answered otherwise once it has ended.';
grant execute on function report.roster_as_of(timestamptz) to public;

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
comment on column report.role_changes.old_role is 'Name of the role before, as it was called then.';
comment on column report.role_changes.new_role is 'Its name, as it was called then; empty: nobody had that role yet.';
comment on column report.role_changes.role_arrived is 'Whether the service has had the new role. False: an edit that waits, was taken back or was replaced before it arrived. Empty: not known, the edit is older than the record.';

comment on view report.roster_changes is 'Who changed what in the roster: a row per field and change (team_id, user_id, changed_at, field). One who came or went has one row, of the field present. Who was there when the mirror began did not come.';
comment on column report.roster_changes.field is 'The column of report.roster, or present: whether the user was in the team. role is the name that the service gave with the user: after an edit of role_id it follows once a run has read it.';

-- Of what was there when the mirror began nothing has become yet.
create or replace view report.listing_history with (security_invoker) as
select v.* from (
  select t.team_id, 'tags' as resource, t.id, t.tag as name, 'added' as kind, 'tag' as field, null::text as old_value,
         case when e.id is null then t.tag else e.old ->> 'tag' end as new_value, t.first_seen_at as changed_at
  from mirror.tags t
  join (select b.team_id, min(b.first_seen_at) as at from mirror.tags b group by b.team_id) f on f.team_id = t.team_id and f.at < t.first_seen_at
  left join lateral (
    select c.id, c.old from sync.listing_changes c
    where c.team_id = t.team_id and c.resource = 'tags' and c.id = t.id and c.old ? 'tag' order by c.change_id limit 1
  ) e on true
  union all
  select t.team_id, 'contact_fields', t.id, t.title, 'added', 'title', null,
         case when e.id is null then t.title else e.old ->> 'title' end, t.first_seen_at
  from mirror.contact_fields t
  join (select b.team_id, min(b.first_seen_at) as at from mirror.contact_fields b group by b.team_id) f on f.team_id = t.team_id and f.at < t.first_seen_at
  left join lateral (
    select c.id, c.old from sync.listing_changes c
    where c.team_id = t.team_id and c.resource = 'contact_fields' and c.id = t.id and c.old ? 'title' order by c.change_id limit 1
  ) e on true
  union all
  select t.team_id, 'roles', t.role_id, t.name, 'added', 'name', null,
         case when e.id is null then t.name else e.old ->> 'name' end, t.first_seen_at
  from mirror.roles t
  join (select b.team_id, min(b.first_seen_at) as at from mirror.roles b group by b.team_id) f on f.team_id = t.team_id and f.at < t.first_seen_at
  left join lateral (
    select c.id, c.old from sync.listing_changes c
    where c.team_id = t.team_id and c.resource = 'roles' and c.id = t.role_id and c.old ? 'name' order by c.change_id limit 1
  ) e on true
  union all
  select c.team_id, c.resource, c.id, coalesce(t.tag, n.title, r.name, o.name), c.kind, f.field, c.old ->> f.field,
         c.new ->> f.field, c.changed_at
  from sync.listing_changes c
  left join lateral jsonb_object_keys(c.new) as f (field) on true
  left join mirror.tags t on c.resource = 'tags' and t.team_id = c.team_id and t.id = c.id
  left join mirror.contact_fields n on c.resource = 'contact_fields' and n.team_id = c.team_id and n.id = c.id
  left join mirror.roles r on c.resource = 'roles' and r.team_id = c.team_id and r.role_id = c.id
  left join mirror.teams o on c.resource = 'teams' and o.team_id = c.team_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.listing_history is 'What became of tags, contact fields, roles and the name of the team: a row per column that moved, and one where it went or came back as it was. What was there when the mirror began was not added.';
comment on view report.tag_history is 'What became of each tag: a row per column that moved, and one where it went or came back as it was. What was there when the mirror began was not added.';

create or replace view report.tag_growth with (security_invoker) as
select v.* from (
  with moves as (
    select m.team_id, m.day, sum(m.found) as found, sum(m.added) as added, sum(m.changed) as changed, sum(m.gone) as gone, sum(m.back) as back
    from (
      select t.team_id, (t.first_seen_at at time zone 'UTC')::date as day, (t.first_seen_at = f.at)::int as found,
        (t.first_seen_at > f.at)::int as added, 0 as changed, 0 as gone, 0 as back
      from mirror.tags t
      join (select b.team_id, min(b.first_seen_at) as at from mirror.tags b group by b.team_id) f on f.team_id = t.team_id
      union all
      select c.team_id, (c.changed_at at time zone 'UTC')::date, 0, 0, (c.kind = 'changed')::int, (c.kind = 'gone')::int, (c.kind = 'back')::int
      from sync.listing_changes c where c.resource = 'tags'
    ) m group by m.team_id, m.day
  ),
  looks as (
    select r.team_id, (r.finished_at at time zone 'UTC')::date as day from sync.runs r
    where r.outcome = 'complete' and 'listings' = any (r.groups) and r.team_id is not null
    group by 1, 2
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
comment on column report.tag_growth.added is 'How many were seen for the first time; those that were there when the mirror began were not added.';

-- The columns stay as they are; user_name is beside name.
do $$
declare
  place text;
begin
  foreach place in array array['changes', 'pending', 'held', 'decisions'] loop
    execute format('create or replace view report.%1$I with (security_invoker) as select v.*, v.name as user_name from (%2$s) v',
                   place, rtrim(pg_get_viewdef(format('report.%I', place)::regclass), ';'));
  end loop;
  foreach place in array array['changes', 'pending', 'held', 'decisions', 'roster', 'roster_history'] loop
    execute format('comment on column report.%I.user_name is %L', place, (
      select col_description(a.attrelid, a.attnum) from pg_attribute a
      where a.attrelid = format('report.%I', place)::regclass and a.attname = 'name'));
  end loop;
end
$$;

-- Whoever may read these views needs the right to what they read now.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant select on sync.role_names to %s', case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.roster'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
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
    where v.oid = any (array['report.roster', 'report.roster_history', 'report.role_changes', 'sync.role_names']::regclass[])
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
