-- What every run asks. A function in plpgsql keeps its plans for as long as the session lasts, so that a statement need
-- not be planned anew each time, and has no name that a PgBouncer would have to know of.

create function sync.place() returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  server bigint;
begin
  -- Whoever may not ask for the server does without.
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    select c.system_identifier into server from pg_control_system() c;
  end if;
  return hashtextextended(concat_ws(' ', (select d.oid from pg_database d where d.datname = current_database()), server), 0);
end
$$;
comment on function sync.place() is 'Stands for this database: numbers of transactions are another one''s once it was restored elsewhere.';

create function sync.versions(of_team bigint) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(' ', sync.place(),
    (select coalesce(bit_xor(hash_record_extended(row(u.id, u.xmin), 0)), 0) from mirror.users u where u.team_id = of_team),
    (select coalesce(bit_xor(hash_record_extended(row(b.id, b.xmin), 0)), 0) from sync.user_base b where b.team_id = of_team));
end
$$;
comment on function sync.versions(bigint) is 'Stands for the rows of a team in mirror.users and sync.user_base: a row that was written, by whomever, has another xmin than before.';

create function sync.rest(of_team bigint, out versions text, out schema text, out noted bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  versions := sync.versions(of_team);
  schema := (select m.name from sync.migrations m order by m.name desc limit 1);
  noted := array(
    select a.id from sync.absences a where a.team_id = of_team and a.resource = 'users'
    union select c.user_id from sync.changes c where c.team_id = of_team and c.state = 'open'
    union select h.user_id from sync.held_fields h where h.team_id = of_team
    union select s.id from sync.stale_rows s where s.team_id = of_team);
end
$$;
comment on function sync.rest(bigint) is 'What stands for the rows of a team, for the schema, and the users who are noted as not at rest.';

create function sync.listing_rests(of_team bigint, out resource text, out schema text, out print text, out "isLacking" boolean) returns setof record
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  here bigint := sync.place();
begin
  schema := (select m.name from sync.migrations m order by m.name desc limit 1);
  for resource in select unnest(array['tags', 'contact_fields']) loop
    print := concat_ws(' ', here, case resource
      when 'tags' then
        (select coalesce(bit_xor(hash_record_extended(row(t.id, t.xmin), 0)), 0) from mirror.tags t where t.team_id = of_team)
      else
        (select coalesce(bit_xor(hash_record_extended(row(f.id, f.xmin), 0)), 0) from mirror.contact_fields f where f.team_id = of_team)
      end);
    "isLacking" := exists (select from sync.absences a where a.team_id = of_team and a.resource = listing_rests.resource);
    return next;
  end loop;
end
$$;
comment on function sync.listing_rests(bigint) is 'The same of each listing of a team, and whether rows of it are missing.';

create function sync.known_team(of_team text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select jsonb_build_object('team_id', t.team_id, 'four_eyes', coalesce(t.four_eyes, false),
      'team', (select jsonb_build_object('name', m.name, 'list_size', m.list_size) from mirror.teams m where m.team_id = t.team_id),
      'learned', (
        select jsonb_object_agg(l.topic, jsonb_build_object('value', l.value,
          'ageMs', extract(epoch from clock_timestamp() - l.learned_at) * 1000))
        from sync.learned l where l.team = of_team),
      'missing', array(select r from unnest('{users,tags,contact_fields}'::text[]) r
        where exists (select from sync.absences a where a.team_id = t.team_id and a.resource = r)),
      'rejected', array(select distinct r.resource from sync.rejected_rows r where r.team_id = t.team_id),
      'has_stale', exists (select from sync.stale_rows s where s.team_id = t.team_id),
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
comment on function sync.known_team(text) is 'What is known of a team by its configured name before the service is asked.';

create function sync.take_places(of_team text, wanted float8, capacity float8, burst float8, period_ms float8,
  latest_ms float8, counted_ms float8, reported jsonb) returns float8
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  due_ms float8;
begin
  for tries in 1..2 loop
    update sync.rate_limits r
    set (next_at, counted) = (
      select to_timestamp((d.due + wanted * period_ms) / 1000), d.counted
      from (select extract(epoch from clock_timestamp())::float8 * 1000) n (now)
      cross join lateral (
        select greatest(n.now, least(extract(epoch from r.next_at)::float8 * 1000, n.now + latest_ms),
            max(c.until + (burst - 1 - greatest(0, capacity + wanted - c.later)) * period_ms)
              filter (where c.later > capacity and wanted > 0)) as due,
          coalesce(jsonb_object_agg(c.key, jsonb_build_array(c.places, c.until)), '{}') as counted
        from (
          select a.key, a.places, a.until, sum(a.places) over (order by a.until desc)::float8 as later
          from (
            select o.key, (o.value ->> 0)::int as places, (o.value ->> 1)::float8 as until
            from jsonb_each(r.counted) o where not reported ? o.key
            union all
            select w.key, (w.value ->> 0)::int, n.now + (w.value ->> 1)::float8
            from jsonb_each(reported) w) a
          where a.places > 0 and a.until > n.now and a.until < n.now + counted_ms) c) d)
    where r.team = of_team
    returning (extract(epoch from r.next_at)::float8 - extract(epoch from clock_timestamp())::float8) * 1000 - wanted * period_ms
    into due_ms;
    exit when found;
    insert into sync.rate_limits (team, next_at) values (of_team, clock_timestamp()) on conflict do nothing;
  end loop;
  return coalesce(due_ms, 0);
end
$$;
comment on function sync.take_places(text, float8, float8, float8, float8, float8, float8, jsonb) is 'Takes places of a team at its pace and within its limit, by the database''s clock, and notes what counts of one process. Returns in how many ms the first of them is due.';
