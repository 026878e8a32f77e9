-- Which teams a role may see, where one database mirrors several. Rights add up, as everywhere in Postgres: a
-- role sees the teams that are listed for it, for a role whose rights it has, and for "public". At first public
-- is listed with all teams; who wants to restrict anybody takes that row away, and from then on nobody sees a
-- team that is not listed for them. The owner of the tables and superusers are never restricted.

create table mirror.team_roles (
  role_name name not null,
  team_id   bigint,
  all_teams boolean not null default false,
  unique nulls not distinct (role_name, team_id),
  check (all_teams = (team_id is null))
);
comment on table mirror.team_roles is 'Which teams a role sees, and edits if it may edit: those listed for it, for a role whose rights it has, and for public. Each role sees its own rows here; the owner of the tables writes them.';
comment on column mirror.team_roles.role_name is 'A role of this server, or public for everybody.';
comment on column mirror.team_roles.team_id is 'A team that it sees; NULL with all_teams.';
comment on column mirror.team_roles.all_teams is 'It sees all teams, those that come later too. Not the same as no team_id, so that a look-up that finds nothing does not open everything.';
insert into mirror.team_roles (role_name, all_teams) values ('public', true);

-- Everybody who reads a table of the mirror asks this one, so everybody may. USAGE counts only what is
-- inherited: whoever creates a role is a member of it, with no more than the right to grant it on. A name
-- that is no role (any more) gives nothing.
grant select on mirror.team_roles to public;
alter table mirror.team_roles enable row level security;
create policy own_rows on mirror.team_roles for select
  using (role_name = 'public' or pg_has_role(to_regrole(quote_ident(role_name)), 'USAGE'));
comment on policy own_rows on mirror.team_roles is 'A role sees what is listed for it, and writes nothing.';

-- The bodies are bound to their tables here and now, so that no search_path and no lack of USAGE on a schema
-- changes what they mean. They run with the rights of whoever asks, in a view too.
create function mirror.sees_all_teams() returns boolean
language sql stable parallel safe
begin atomic
  select not row_security_active('mirror.team_roles'::regclass)
    or exists (select from mirror.team_roles r where r.all_teams);
end;
comment on function mirror.sees_all_teams() is 'Whether the current role sees all teams: it is listed so, or row-level security does not bind it.';

create function mirror.seen_teams() returns setof bigint
language sql stable parallel safe
begin atomic
  select r.team_id from mirror.team_roles r where not r.all_teams;
end;
comment on function mirror.seen_teams() is 'The teams that are listed for the current role.';

create function mirror.seen_team_names() returns setof text
language sql stable parallel safe
begin atomic
  select t.team from sync.teams t where t.team_id in (select mirror.seen_teams());
end;
comment on function mirror.seen_team_names() is 'The names in the configuration of the teams that are listed for the current role.';

-- Whoever reads a table or view calls them; the default may have been revoked.
grant execute on function mirror.sees_all_teams(), mirror.seen_teams(), mirror.seen_team_names() to public;

-- A sub-select that depends on no row is evaluated once per statement. Not forced: the owner, which is musterd
-- itself, pays nothing and can still take a backup with pg_dump, which refuses a table that it may not see whole.
do $$
declare
  place text;
begin
  foreach place in array array[
    'mirror.teams', 'mirror.users', 'mirror.user_lookups', 'mirror.tags', 'mirror.contact_fields',
    'mirror.contact_counts', 'sync.teams', 'sync.user_base', 'sync.runs', 'sync.changes', 'sync.held_fields',
    'sync.absences', 'sync.listings', 'sync.rejected_rows', 'sync.plans', 'sync.stale_rows',
    'sync.withheld_absences', 'sync.scopes'
  ] loop
    execute format($policy$
      alter table %1$s enable row level security;
      create policy seen_teams on %1$s
        using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
      comment on policy seen_teams on %1$s is 'A role sees and writes the rows of its teams: see mirror.team_roles.'
    $policy$, place);
  end loop;

  foreach place in array array['sync.leases', 'sync.due', 'sync.rate_limits', 'sync.probes', 'sync.credentials'] loop
    execute format($policy$
      alter table %1$s enable row level security;
      create policy seen_teams on %1$s
        using ((select mirror.sees_all_teams()) or team in (select mirror.seen_team_names()));
      comment on policy seen_teams on %1$s is 'A role sees and writes the rows of its teams: see mirror.team_roles.'
    $policy$, place);
  end loop;
end
$$;

-- A view reads with the rights of its owner, whom the policies do not bind. So each view asks by itself, and is
-- a barrier: no function in somebody's where clause gets to see a row before that.
do $$
declare
  place text;
begin
  foreach place in array array[
    'roster', 'tags', 'contact_fields', 'contact_counts_daily', 'pending', 'held', 'runs', 'changes'
  ] loop
    execute format($view$
      create or replace view report.%1$I with (security_barrier) as
      select v.* from (%2$s) v
      where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams())
    $view$, place, rtrim(pg_get_viewdef(format('report.%I', place)::regclass), ';'));
  end loop;
end
$$;
