-- Many rows at once, as a first load writes them.

-- That a run is on record was looked up for each row of the ledger again, though nothing else writes them than the run.
-- That one stays which the ledger refers to is looked up where one is deleted.
alter table sync.changes drop constraint changes_run_id_fkey;
create function sync.keep_runs() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$ begin
  if exists (select from sync.changes c where c.run_id = old.run_id) then
    raise foreign_key_violation using message = format('the ledger refers to run %s', old.run_id);
  end if;
  return old;
end $$;
revoke execute on function sync.keep_runs() from public;
comment on function sync.keep_runs() is 'Keeps the runs that the ledger refers to.';
create trigger keep_runs before delete on sync.runs for each row execute function sync.keep_runs();
comment on trigger keep_runs on sync.runs is 'Keeps the runs that the ledger refers to.';

-- As in 0038, but for a first load.
create or replace function mirror.note_periods() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  begins timestamptz := now();
  run    constant bigint := case when tg_argv[0] = 'service' then nullif(current_setting('musterd.run', true), '')::bigint end;
  origin constant text := case when run is null and tg_op = 'UPDATE' then 'mirror' else tg_argv[0] end;
  person constant text := case when run is null then nullif(btrim(current_setting('musterd.actor', true)), '') end;
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
      p.present and (p.role_id is distinct from t.role_id or t.role_id is null and p.role is distinct from t.role) as role_moved
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
    resolved, created_at, updated_at, edited_at, edited_by, side, run_id, changed_by, actor, role_moved)
  select m.team_id, m.id, greatest(begins, m.valid_from + interval '1 microsecond'), m.present, m.name, m.first_name, m.last_name,
    m.email, m.phone, m.role_id, m.role, m.resolved, m.created_at, m.updated_at, m.edited_at, m.edited_by,
    origin, run, case when run is null then session_user end,
    case when person is not null then sync.named_editor(session_user, person) end, m.present and coalesce(m.role_moved, false)
  from moved m where (select count(*) from closed) >= 0; -- first the end of one, then the beginning of the next
  return null;
end
$$;
