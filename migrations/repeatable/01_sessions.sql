-- A body with "begin atomic" is bound to its tables when the function is created: the caller's search_path, or a missing
-- USAGE on a schema, does not change its meaning. These functions run with the caller's rights, also if a view calls them.
create or replace function mirror.sees_all_teams() returns boolean
language sql stable parallel safe
begin atomic
  select not row_security_active('mirror.team_roles'::regclass)
    or exists (select from mirror.team_roles r where r.all_teams);
end;
comment on function mirror.sees_all_teams() is 'True if the current role sees all teams: mirror.team_roles says so, or row-level security does not apply to the role.';

create or replace function mirror.seen_teams() returns setof bigint
language sql stable parallel safe
begin atomic
  select r.team_id from mirror.team_roles r where not r.all_teams;
end;
comment on function mirror.seen_teams() is 'The teams that the current role sees: those listed for it in mirror.team_roles.';

create or replace function mirror.seen_team_names() returns setof text
language sql stable parallel safe
begin atomic
  select t.team from sync.teams t where t.team_id in (select mirror.seen_teams());
end;
comment on function mirror.seen_team_names() is 'The names in the configuration of the teams that the current role sees.';

-- Any role can set musterd.writing, but the setting only counts for roles that may write the bookkeeping: the owner of the
-- tables, and the role of a daemon. Such roles need no check, because they may write the base, too. Triggers call this
-- function in their conditions, which run with the writer's rights, so that writes by musterd call no trigger function.
create or replace function mirror.is_musterd() returns boolean
language sql stable parallel safe
begin atomic
  select current_setting('musterd.writing', true) is not distinct from 'on'
    and has_table_privilege('sync.user_base'::regclass, 'update');
end;
comment on function mirror.is_musterd() is 'True in a transaction of musterd: musterd.writing is on, and the role may write the bookkeeping.';

create or replace function sync.session_sees(team bigint) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from mirror.team_roles r
    where (r.all_teams or r.team_id = team)
      and (r.role_name = 'public' or pg_has_role(session_user, to_regrole(quote_ident(r.role_name))::oid, 'USAGE'))
  ) or exists (
    select from pg_class c join pg_roles s on s.rolname = session_user
    where c.oid = 'mirror.team_roles'::regclass and (s.rolbypassrls or pg_has_role(session_user, c.relowner, 'USAGE'))
  )
$$;
comment on function sync.session_sees(bigint) is 'True if the role that logged in sees the team, also inside a function that runs as its owner: see mirror.team_roles.';

-- Each table with a team has this policy. Its sub-select depends on no row, so it is evaluated once per statement. The
-- policy does not apply to the owner, musterd itself, so that the owner reads fast, and can take a backup with pg_dump.
do $$
declare
  one record;
begin
  for one in
    select c.oid::regclass as place, min(a.attname) filter (where a.attname = 'team_id') is null as by_name
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname in ('team', 'team_id') and not a.attisdropped
    where c.relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace) and c.relkind = 'r' and c.relname <> 'team_roles'
    group by c.oid
  loop
    execute format($policy$
      alter table %1$s enable row level security;
      drop policy if exists seen_teams on %1$s;
      create policy seen_teams on %1$s using ((select mirror.sees_all_teams()) or %2$s);
      comment on policy seen_teams on %1$s is 'A role sees and writes the rows of its teams: see mirror.team_roles.'
    $policy$, one.place, case when one.by_name then 'team in (select mirror.seen_team_names())' else 'team_id in (select mirror.seen_teams())' end);
  end loop;
end
$$;

-- Rows with names of unknown roles have no effect. A row counts for roles with USAGE of its role. Membership is not
-- enough, because whoever creates a role becomes a member that may only grant it.
grant select on mirror.team_roles to public;
alter table mirror.team_roles enable row level security;
drop policy if exists own_rows on mirror.team_roles;
create policy own_rows on mirror.team_roles for select
  using (role_name = 'public' or pg_has_role(to_regrole(quote_ident(role_name)), 'USAGE'));
comment on policy own_rows on mirror.team_roles is 'A role sees the rows that list its own teams, and cannot write.';
