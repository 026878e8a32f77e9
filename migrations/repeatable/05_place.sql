drop function if exists sync.place();

create or replace function sync.known_team(of_team text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select jsonb_build_object('team_id', t.team_id, 'four_eyes', coalesce(t.four_eyes, false), 'phone_country', t.phone_country,
      'team', (select jsonb_build_object('name', m.name, 'list_size', m.list_size, 'members', m.members) from mirror.teams m where m.team_id = t.team_id),
      'learned', (
        select jsonb_object_agg(l.topic, jsonb_build_object('value', l.value,
          'ageMs', extract(epoch from clock_timestamp() - l.learned_at) * 1000))
        from sync.learned l where l.team = of_team and not starts_with(l.topic, 'rejected ')),
      'missing', array(select r from (select 'users' union all select mirror.listed_tables()) l (r)
        where exists (select from sync.absences a where a.team_id = t.team_id and a.resource = r)),
      'rejected', array(select substr(l.topic, 10) from sync.learned l where l.team = of_team and starts_with(l.topic, 'rejected ')),
      'has_stale', exists (select from sync.user_base b where b.team_id = t.team_id and b.older_since is not null),
      'has_intents', exists (select from sync.changes c where c.team_id = t.team_id and c.state = 'open'),
      'may_lack_roles', coalesce((select r.outcome <> 'complete' or r.run_id <= coalesce((
          select c.run_id from sync.changes c
          where c.team_id = r.team_id and c.kind <> 'adopt' and c.new ?| '{role_id,role}'::text[]
          order by c.run_id desc limit 1), 0)
        or exists (select from sync.runs n where n.team = r.team and n.run_id > r.run_id and n.command = 'resync')
        from sync.runs r where r.team = of_team and 'users' = any (r.groups) order by r.run_id desc limit 1), true))
    from (select of_team as team) k left join sync.teams t on t.team = k.team);
end
$$;
comment on function sync.known_team(text) is 'What the database knows about a team, by its configured name, before a run reads the service.';

-- Runs as its owner, because the page and "musterd status" call this function with the rights of a reader.
create or replace function mirror.known_place() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  known  jsonb := (select l.value from sync.learned l where l.team = '' and l.topic = 'place');
  server text;
begin
  -- The identifier of the server stays NULL if the owner of this function has no right to read it.
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    select c.system_identifier::text into server from pg_control_system() c;
  end if;
  return jsonb_build_object(
    'place', known,
    'identifier', server,
    'database', (select d.oid::text from pg_database d where d.datname = current_database()),
    'until', coalesce(known -> 'left', to_jsonb((
      select r.finished_at from sync.runs r where r.finished_at is not null order by r.run_id desc limit 1))));
end
$$;
comment on function mirror.known_place() is 'The recorded home of this mirror (place), and the server and the database in which the mirror is now. until: the end of the last run at home.';

-- Replaces the place only if no other process has changed it. A move by a person is recorded in the ledger of each team.
create or replace function sync.keep_place(was jsonb, now_at jsonb, moved jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if pg_trigger_depth() > 0 or not has_table_privilege(session_user, 'sync.user_base', 'UPDATE') then
    raise exception '% has no right to record the address of this mirror', session_user using errcode = 'insufficient_privilege';
  end if;
  if was is null then
    insert into sync.learned (team, topic, value) values ('', 'place', now_at) on conflict do nothing;
  else
    update sync.learned l set value = now_at, learned_at = clock_timestamp()
    where l.team = '' and l.topic = 'place' and l.value = was;
  end if;
  if not found then
    return false;
  end if;
  insert into sync.changes (team_id, kind, old, new, closed_at, decided_by, decided_role, decided_why)
  select t.team_id, 'place', jsonb_build_object('place', moved -> 'from'), jsonb_build_object('place', moved -> 'to'),
    clock_timestamp(), sync.decider(), session_user, moved ->> 'why'
  from sync.teams t where moved is not null order by t.team_id;
  return true;
end
$$;
comment on function sync.keep_place(jsonb,jsonb,jsonb) is 'Records the home of this mirror, if the recorded place is still the place that was read before (was). If a person moved the mirror, it adds the move to the ledger. Only for roles that may write the bookkeeping.';
