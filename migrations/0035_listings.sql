-- What became of tags, contact fields, roles and the name of the team. A first sight is no row here: first_seen_at says
-- it, so that a first load of twenty thousand tags writes none.

create table sync.listing_changes (
  change_id  bigint generated always as identity primary key,
  team_id    bigint not null,
  resource   text not null check (resource in ('tags', 'contact_fields', 'roles', 'teams')),
  id         bigint not null,
  kind       text not null check (kind in ('changed', 'gone', 'back')),
  old        jsonb not null default '{}',
  new        jsonb not null default '{}',
  changed_at timestamptz not null
);
create index listing_changes_by_row on sync.listing_changes (team_id, resource, id, change_id);
comment on table sync.listing_changes is 'The ledger of tags, contact fields, roles and the team itself; report.listing_history reads it.';
comment on column sync.listing_changes.change_id is 'Number of the change.';
comment on column sync.listing_changes.team_id is 'The team.';
comment on column sync.listing_changes.resource is 'tags, contact_fields, roles or teams.';
comment on column sync.listing_changes.id is 'The service''s id of the tag, field, role or team.';
comment on column sync.listing_changes.kind is 'changed: it has another name, or a tag another colour. gone: it was proven gone, or nobody has the role any more. back: shown again after having been gone; what it has become meanwhile is in old and new.';
comment on column sync.listing_changes.old is 'By column: the value that was replaced.';
comment on column sync.listing_changes.new is 'By column: the value that replaced it.';
comment on column sync.listing_changes.changed_at is 'When a run saw it.';
comment on index sync.listing_changes_by_row is 'What became of one of them.';
alter table sync.listing_changes enable row level security;
create policy seen_teams on sync.listing_changes
  using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
comment on policy seen_teams on sync.listing_changes is 'A role sees and writes the rows of its teams: see mirror.team_roles.';
insert into sync.listing_changes (team_id, resource, id, kind, changed_at)
select team_id, 'tags', id, 'gone', gone_at from mirror.tags where gone_at is not null
union all
select team_id, 'contact_fields', id, 'gone', gone_at from mirror.contact_fields where gone_at is not null
order by 5, 3;

create table mirror.roles (
  team_id       bigint not null,
  role_id       bigint not null,
  name          text,
  members       bigint not null,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  primary key (team_id, role_id)
);
comment on table mirror.roles is 'The roles that users of the team have, as the last run that moved any of them saw it. Read-only: the service has no listing of roles.';
comment on column mirror.roles.team_id is 'The team.';
comment on column mirror.roles.role_id is 'The service''s id of the role.';
comment on column mirror.roles.name is 'Its name, as most of those have it who have the role; NULL: the service does not say.';
comment on column mirror.roles.members is 'How many users have it, by what both sides last agreed on: an edit that waits counts for nothing.';
comment on column mirror.roles.first_seen_at is 'When a run first saw somebody with it.';
comment on column mirror.roles.gone_at is 'Since when nobody has it.';
alter table mirror.roles enable row level security;
create policy seen_teams on mirror.roles
  using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
comment on policy seen_teams on mirror.roles is 'A role sees and writes the rows of its teams: see mirror.team_roles.';
-- As src/mirror/roles.ts does it.
insert into mirror.roles (team_id, role_id, name, members)
select team_id, role_id, (array_agg(name order by members desc, name) filter (where name is not null))[1], sum(members)
from (
  select b.team_id, b.role_id, case when h.field is null then nullif(u.role, '') end as name, count(*) as members
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id and b.role_id is not null
  left join sync.held_fields h on h.team_id = u.team_id and h.user_id = u.id and h.field = 'role_id'
  where u.gone_at is null and u.resolved
  group by 1, 2, 3
) n group by team_id, role_id;

create index changes_of_roles on sync.changes (team_id, run_id desc) where kind <> 'adopt' and new ?| '{role_id,role}'::text[];
comment on index sync.changes_of_roles is 'The last run that moved a role.';
create index runs_of_users on sync.runs (team, run_id desc) where 'users' = any (groups);
comment on index sync.runs_of_users is 'The last run that looked at the users: whether it could count the roles.';

create trigger refuse_edit before insert or update or delete on mirror.roles
  for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Roles are read-only here: a user gets another one by role_id of mirror.users.');
create trigger refuse_truncate before truncate on mirror.roles
  for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Roles are read-only here.');
comment on trigger refuse_edit on mirror.roles is 'Refuses edits: the service gives no way to do the same.';
comment on trigger refuse_truncate on mirror.roles is 'Refuses edits: the service gives no way to do the same.';

-- Written down by whatever writes the listing, in its transaction. The statement is planned each time: a plan made for
-- one row would be kept for the session, and compare each row with each where thousands have changed.
create function mirror.note_listing() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moves text := case tg_table_name when 'teams' then 'false' else '(n.gone_at is null) is distinct from (o.gone_at is null)' end;
  gone  text := case tg_table_name when 'teams' then 'null::timestamptz' else 'n.gone_at' end;
  olds  text;
  news  text;
begin
  if not exists (select from listed) then
    return null;
  end if;
  select string_agg(format('case when n.%1$I is distinct from o.%1$I then jsonb_build_object(%1$L, o.%1$I) else ''{}'' end', c.name), ' || '),
         string_agg(format('case when n.%1$I is distinct from o.%1$I then jsonb_build_object(%1$L, n.%1$I) else ''{}'' end', c.name), ' || ')
    into olds, news
  from unnest(tg_argv[1:]) as c (name);
  execute format($query$
    insert into sync.listing_changes (team_id, resource, id, kind, old, new, changed_at)
    select n.team_id, %1$L, n.%2$I, case when not %3$s then 'changed' when %4$s is null then 'back' else 'gone' end,
      v.old, v.new, coalesce(case when %3$s then %4$s end, statement_timestamp())
    from listed n
    join unlisted o on o.team_id = n.team_id and o.%2$I = n.%2$I
    cross join lateral (select %5$s, %6$s) as v (old, new)
    where %3$s or v.new <> '{}'
    order by n.%2$I
  $query$, tg_table_name, tg_argv[0], moves, gone, olds, news);
  return null;
end
$$;
revoke execute on function mirror.note_listing() from public;
comment on function mirror.note_listing() is 'Keeps what became of the rows of a listing: see sync.listing_changes.';

create trigger note_listing after update on mirror.tags referencing old table as unlisted new table as listed
for each statement execute function mirror.note_listing('id', 'tag', 'color');
create trigger note_listing after update on mirror.contact_fields referencing old table as unlisted new table as listed
for each statement execute function mirror.note_listing('id', 'title');
create trigger note_listing after update on mirror.roles referencing old table as unlisted new table as listed
for each statement execute function mirror.note_listing('role_id', 'name');
create trigger note_listing after update on mirror.teams referencing old table as unlisted new table as listed
for each statement execute function mirror.note_listing('team_id', 'name');
comment on trigger note_listing on mirror.tags is 'Keeps what became of each tag.';
comment on trigger note_listing on mirror.contact_fields is 'Keeps what became of each field.';
comment on trigger note_listing on mirror.roles is 'Keeps what became of each role.';
comment on trigger note_listing on mirror.teams is 'Keeps what the team was called.';

-- An edit to a role that nobody has is told at once, with those that there are. Only where the whole statement's roles
-- hold such a one is it asked whose role was edited.
create or replace function mirror.note_edits() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
declare
  unknown record;
begin
  insert into sync.user_edits (xid, team_id, user_id, edited_at, edited_by, application, actor,
    old_first_name, new_first_name, old_last_name, new_last_name, old_name_split, new_name_split,
    old_email, new_email, old_phone, new_phone, old_role_id, new_role_id)
  select pg_current_xact_id(), n.team_id, n.id, clock_timestamp(), session_user,
    nullif(current_setting('application_name'), ''), nullif(current_setting('musterd.actor', true), ''),
    case when c.name then o.first_name end, case when c.name then n.first_name end,
    case when c.name then o.last_name end, case when c.name then n.last_name end,
    case when c.split then o.name_split end, case when c.split then n.name_split end,
    nullif(o.email, n.email), nullif(n.email, o.email), nullif(o.phone, n.phone), nullif(n.phone, o.phone),
    nullif(o.role_id, n.role_id), nullif(n.role_id, o.role_id)
  from edited n
  join unedited o on o.team_id = n.team_id and o.id = n.id
  cross join lateral (
    select (n.first_name, n.last_name) is distinct from (o.first_name, o.last_name),
      n.name_split is distinct from o.name_split
  ) as c (name, split)
  where c.name or c.split or (n.email, n.phone, n.role_id) is distinct from (o.email, o.phone, o.role_id);

  if exists (select n.team_id, n.role_id from edited n where n.role_id is not null
             except select r.team_id, r.role_id from mirror.roles r where r.gone_at is null) then
    for unknown in
      select n.team_id, string_agg(distinct n.role_id::text, ', ') as ids,
        (select string_agg(r.role_id || coalesce(' (' || r.name || ')', ''), ', ' order by r.role_id)
         from mirror.roles r where r.team_id = n.team_id and r.gone_at is null) as known
      from edited n
      join unedited o on o.team_id = n.team_id and o.id = n.id
      where n.role_id is distinct from o.role_id
        and (n.team_id, n.role_id) not in (select r.team_id, r.role_id from mirror.roles r where r.gone_at is null)
      group by n.team_id
    loop
      continue when unknown.known is null;
      raise warning 'Nobody in team % has the role %: the service may not know it', unknown.team_id, unknown.ids
        using hint = 'Roles that somebody has: ' || unknown.known || '.';
    end loop;
  end if;
  return null;
end
$$;

create view report.roles with (security_invoker) as
select v.* from (
  select r.team_id, r.role_id, r.name as role, r.members, r.first_seen_at, r.gone_at, r.gone_at is null as present
  from mirror.roles r
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.roles is 'All roles that anybody has had.';
comment on column report.roles.team_id is 'The team.';
comment on column report.roles.role_id is 'The service''s id of the role: what role_id of mirror.users is set to.';
comment on column report.roles.role is 'Name of the role.';
comment on column report.roles.members is 'How many users have it.';
comment on column report.roles.first_seen_at is 'When a run first saw somebody with it.';
comment on column report.roles.gone_at is 'Since when nobody has it.';
comment on column report.roles.present is 'Whether somebody has it.';

create view report.listing_history with (security_invoker) as
select v.* from (
  select t.team_id, 'tags' as resource, t.id, t.tag as name, 'added' as kind, 'tag' as field, null::text as old_value,
         case when e.id is null then t.tag else e.old ->> 'tag' end as new_value, t.first_seen_at as changed_at
  from mirror.tags t
  left join lateral (
    select c.id, c.old from sync.listing_changes c
    where c.team_id = t.team_id and c.resource = 'tags' and c.id = t.id and c.old ? 'tag' order by c.change_id limit 1
  ) e on true
  union all
  select t.team_id, 'contact_fields', t.id, t.title, 'added', 'title', null,
         case when e.id is null then t.title else e.old ->> 'title' end, t.first_seen_at
  from mirror.contact_fields t
  left join lateral (
    select c.id, c.old from sync.listing_changes c
    where c.team_id = t.team_id and c.resource = 'contact_fields' and c.id = t.id and c.old ? 'title' order by c.change_id limit 1
  ) e on true
  union all
  select t.team_id, 'roles', t.role_id, t.name, 'added', 'name', null,
         case when e.id is null then t.name else e.old ->> 'name' end, t.first_seen_at
  from mirror.roles t
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
comment on view report.listing_history is 'What became of tags, contact fields, roles and the name of the team, a row per column that moved.';
comment on column report.listing_history.team_id is 'The team.';
comment on column report.listing_history.resource is 'tags, contact_fields, roles or teams.';
comment on column report.listing_history.id is 'The service''s id of the tag, field, role or team.';
comment on column report.listing_history.name is 'What it is called now.';
comment on column report.listing_history.kind is 'added, changed, gone or back.';
comment on column report.listing_history.field is 'The column that moved: tag, color, title or name; empty where it went or came back as it was.';
comment on column report.listing_history.old_value is 'The value that was replaced.';
comment on column report.listing_history.new_value is 'The value that replaced it; of what was added, its name then.';
comment on column report.listing_history.changed_at is 'When a run saw it.';

create view report.tag_history with (security_invoker) as
select h.team_id, h.id as tag_id, h.name as tag, h.kind, h.field, h.old_value, h.new_value, h.changed_at
from report.listing_history h
where h.resource = 'tags' and ((select mirror.sees_all_teams()) or h.team_id in (select mirror.seen_teams()));
comment on view report.tag_history is 'What became of each tag, a row per column that moved.';
comment on column report.tag_history.team_id is 'The team.';
comment on column report.tag_history.tag_id is 'The service''s id of the tag.';
comment on column report.tag_history.tag is 'What it is called now.';
comment on column report.tag_history.kind is 'added, changed, gone or back.';
comment on column report.tag_history.field is 'The column that moved: tag or color; empty where it went or came back as it was.';
comment on column report.tag_history.old_value is 'The value that was replaced.';
comment on column report.tag_history.new_value is 'The value that replaced it; of what was added, its name then.';
comment on column report.tag_history.changed_at is 'When a run saw it.';

-- A day on which no run read the tags to their end, and none saw any of them move, is there with nothing in it.
create view report.tag_growth with (security_invoker) as
select v.* from (
  with moves as (
    select m.team_id, m.day, sum(m.added) as added, sum(m.changed) as changed, sum(m.gone) as gone, sum(m.back) as back
    from (
      select t.team_id, (t.first_seen_at at time zone 'UTC')::date as day, 1 as added, 0 as changed, 0 as gone, 0 as back
      from mirror.tags t
      union all
      select c.team_id, (c.changed_at at time zone 'UTC')::date, 0, (c.kind = 'changed')::int, (c.kind = 'gone')::int, (c.kind = 'back')::int
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
    case when s.seen then (sum(coalesce(m.added + m.back - m.gone, 0)) over (partition by d.team_id order by d.day))::bigint end as tags,
    case when s.seen then coalesce(m.added, 0) end as added, case when s.seen then coalesce(m.changed, 0) end as changed,
    case when s.seen then coalesce(m.gone, 0) end as gone, case when s.seen then coalesce(m.back, 0) end as back
  from days d
  left join moves m on m.team_id = d.team_id and m.day = d.day
  left join looks l on l.team_id = d.team_id and l.day = d.day
  cross join lateral (select m.day is not null or l.day is not null) as s (seen)
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.tag_growth is 'How many tags there were at the end of each day (UTC), and how it came to that. A day on which nobody looked has no numbers.';
comment on column report.tag_growth.team_id is 'The team.';
comment on column report.tag_growth.day is 'The day.';
comment on column report.tag_growth.tags is 'How many there were at its end; empty: no run read them that day.';
comment on column report.tag_growth.added is 'How many were seen for the first time.';
comment on column report.tag_growth.changed is 'How often one got another name or colour.';
comment on column report.tag_growth.gone is 'How many were proven gone.';
comment on column report.tag_growth.back is 'How many were shown again after having been gone.';

-- Whoever may read the tags may read what became of them, and the roles; and needs the right to what the views read.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant select on %s to %s', p.place, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from (values ('mirror.tags'::regclass, 'mirror.roles'),
                 ('report.tags', 'report.roles, report.listing_history, report.tag_history, report.tag_growth')) as p (as_for, place)
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
    where v.oid = any (array['report.roles', 'report.listing_history', 'report.tag_growth']::regclass[])
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
