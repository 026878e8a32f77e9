-- The bodies are bound to their tables here and now, so that no search_path and no lack of USAGE on a schema
-- changes what they mean. They run with the rights of whoever asks, in a view too.
create or replace function mirror.sees_all_teams() returns boolean
language sql stable parallel safe
begin atomic
  select not row_security_active('mirror.team_roles'::regclass)
    or exists (select from mirror.team_roles r where r.all_teams);
end;
comment on function mirror.sees_all_teams() is 'Whether the current role sees all teams: it is listed so, or row-level security does not bind it.';

create or replace function mirror.seen_teams() returns setof bigint
language sql stable parallel safe
begin atomic
  select r.team_id from mirror.team_roles r where not r.all_teams;
end;
comment on function mirror.seen_teams() is 'The teams that are listed for the current role.';

create or replace function mirror.seen_team_names() returns setof text
language sql stable parallel safe
begin atomic
  select t.team from sync.teams t where t.team_id in (select mirror.seen_teams());
end;
comment on function mirror.seen_team_names() is 'The names in the configuration of the teams that are listed for the current role.';

-- Anybody can set musterd.writing. It counts for those who can write the bookkeeping: the owner of the tables, and
-- the role of a daemon. Whoever may write down what both sides agreed on needs no trigger to pass. The triggers ask
-- this in their conditions, which run with the rights of whoever writes, and cost musterd no call of a function.
create or replace function mirror.is_musterd() returns boolean
language sql stable parallel safe
begin atomic
  select current_setting('musterd.writing', true) is not distinct from 'on'
    and has_table_privilege('sync.user_base'::regclass, 'update');
end;
comment on function mirror.is_musterd() is 'Whether this is a transaction of musterd: it says so, and its role may write the bookkeeping.';

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
comment on function sync.session_sees(bigint) is 'Whether the session''s role sees the team, whoever runs the function that asks: see mirror.team_roles.';

-- Each table of teams has this policy. A sub-select that depends on no row is evaluated once per statement. Not forced: the
-- owner, which is musterd itself, pays nothing and can still take a backup with pg_dump.
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

-- A name that is no role (any more) gives nothing, and USAGE counts only what is inherited: whoever creates a role is a
-- member of it, with no more than the right to grant it on.
grant select on mirror.team_roles to public;
alter table mirror.team_roles enable row level security;
drop policy if exists own_rows on mirror.team_roles;
create policy own_rows on mirror.team_roles for select
  using (role_name = 'public' or pg_has_role(to_regrole(quote_ident(role_name)), 'USAGE'));
comment on policy own_rows on mirror.team_roles is 'A role sees what is listed for it, and writes nothing.';
