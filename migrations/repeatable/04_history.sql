-- Users added before the first complete run that reads all users count as present from the start. An edited role counts as
-- arrived once its edit has ended.
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
  -- A faster way for the first load of a team, which has no earlier periods to end.
  if tg_op = 'INSERT' and run is not null and not exists (
    select from (select t.team_id, min(t.id) as first, max(t.id) as last from touched t group by t.team_id) r
    where exists (select from sync.user_periods o where o.team_id = r.team_id and o.user_id between r.first and r.last)
  ) then
    insert into sync.user_periods (team_id, user_id, valid_from, present, name, {columns COLUMN},
      role, resolved, created_at, updated_at, edited_at, edited_by, side, run_id)
    select t.team_id, t.id, begins, true, t.name, {columns t.COLUMN},
      t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by, origin, run
    from touched t where t.gone_at is null;
    return null;
  end if;
  with moved as materialized (
    select t.team_id, t.id, tg_op <> 'DELETE' and t.gone_at is null as present, t.name, {columns t.COLUMN}, t.role,
      t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by, p.place, p.valid_from,
      p.present and (p.role_id is distinct from t.role_id or t.role_id is null and p.role is distinct from t.role) as role_moved,
      exists (
        select from sync.edits e
        where e.team_id = t.team_id and e.user_id = t.id and e.field = 'role_id' and e.ended_at is null and e.new_value = to_jsonb(t.role_id)
      ) as role_waits
    from touched t
    left join lateral (
      select o.ctid as place, o.valid_from, o.present, o.name, {columns o.COLUMN}, o.role,
        o.resolved, o.created_at, o.updated_at, o.edited_at, o.edited_by
      from sync.user_periods o
      where o.team_id = t.team_id and o.user_id = t.id order by o.valid_from desc limit 1
    ) p on true
    where case when tg_op <> 'DELETE' and t.gone_at is null
      then p.present is distinct from true or
        (p.name, {columns p.COLUMN}, p.role, p.resolved, p.created_at, p.updated_at, p.edited_at, p.edited_by)
          is distinct from
        (t.name, {columns t.COLUMN}, t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by)
      else p.present end
  ),
  closed as (
    update sync.user_periods o set valid_to = greatest(begins, o.valid_from + interval '1 microsecond')
    where o.ctid = any (array(select m.place from moved m where m.place is not null))
    returning true
  )
  insert into sync.user_periods (team_id, user_id, valid_from, present, name, {columns COLUMN}, role,
    resolved, created_at, updated_at, edited_at, edited_by, side, run_id, changed_by, actor, role_moved, role_arrived_at)
  select m.team_id, m.id, greatest(begins, m.valid_from + interval '1 microsecond'), m.present, m.name, {columns m.COLUMN}, m.role,
    m.resolved, m.created_at, m.updated_at, m.edited_at, m.edited_by,
    origin, run, case when run is null then session_user end,
    case when person is not null then sync.named_editor(session_user, person) end, m.present and coalesce(m.role_moved, false),
    case when m.role_waits then 'infinity' else '-infinity' end::timestamptz
  from moved m where (select count(*) from closed) >= 0; -- the old periods must end before the new ones are inserted
  return null;
end
$$;
comment on function mirror.note_periods() is 'Ends the periods of the users whom a statement changed, and begins new periods: see sync.user_periods.';

-- Runs in the transaction that writes the listing. The statement is planned at each call, because a plan for one row, which
-- the session would reuse, would compare every row with every other row if thousands have changed.
create or replace function mirror.note_listing() returns trigger
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
comment on function mirror.note_listing() is 'Records the changes of the rows of a listing: see sync.listing_changes.';

create or replace function sync.keep_runs() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$ begin
  if exists (select from sync.changes c where c.run_id = old.run_id) then
    raise foreign_key_violation using message = format('the ledger refers to run %s', old.run_id);
  end if;
  return old;
end $$;
comment on function sync.keep_runs() is 'Refuses to delete runs that the ledger refers to.';

-- Sets the time only in periods since the user last had another role, because only in these the role waited to arrive.
create or replace function sync.note_role_arrival() returns trigger
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
comment on function sync.note_role_arrival() is 'Records since when the service has a role that was edited in the mirror.';

do $$
declare
  listed text;
  noted  text[];
begin
  for listed, noted in
    select t, array(select 'id' union all select l.name from mirror.listed_columns(t) l (name) where l.name not in ('created', 'updated'))
    from mirror.listed_tables() t union all values ('roles', array['role_id', 'name']), ('teams', array['team_id', 'name'])
  loop
    execute format('create or replace trigger note_listing after update on mirror.%I referencing old table as unlisted new table as listed
      for each statement execute function mirror.note_listing(%s)', listed, (select string_agg(quote_literal(c), ', ') from unnest(noted) c));
    execute format('comment on trigger note_listing on mirror.%I is %L', listed, 'Records each change of a row.');
  end loop;
end
$$;

create or replace trigger users_note_periods after update on mirror.users
referencing new table as touched
for each statement when (not mirror.is_musterd()) execute function mirror.note_periods('mirror');
comment on trigger users_note_periods on mirror.users is 'Records the roster after an edit.';

create or replace trigger users_note_periods_of_deleted after delete on mirror.users
referencing old table as touched
for each statement execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_deleted on mirror.users is 'Records until when a user was in the roster.';

create or replace trigger users_note_periods_of_new after insert on mirror.users
referencing new table as touched
for each statement execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_new on mirror.users is 'Records since when a user is in the roster.';

create or replace trigger users_note_periods_of_run after update on mirror.users
referencing new table as touched
for each statement when (mirror.is_musterd()) execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_run on mirror.users is 'Records the roster after a write by musterd.';

create or replace trigger note_role_arrival after update of ended_how on sync.edits
for each row when (new.field = 'role_id' and new.ended_how = 'agreed') execute function sync.note_role_arrival();

create or replace trigger keep_runs before delete on sync.runs for each row execute function sync.keep_runs();
