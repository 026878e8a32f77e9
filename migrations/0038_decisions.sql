-- Whom a decision and an edit are put down to, why a field waits again once a hold that was asked for is over, and what a
-- plan's file is sealed with.

alter table sync.held_fields add column batch_reason text check (batch_reason in ('limit', 'review'));
comment on column sync.held_fields.batch_reason is 'Of a field in a batch that somebody asked to hold: why it waited before, and will again when that is over.';

create or replace view report.held with (security_invoker) as
select v.* from (
  select h.team_id, h.user_id, u.name, h.field,
         case when o.is_over then coalesce(h.batch_reason, 'limit') else h.reason end as reason, h.base_value,
         case when u.id is not null then
           case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                        when 'email' then to_jsonb(u.email)
                        when 'phone' then to_jsonb(u.phone)
                        when 'role_id' then to_jsonb(u.role_id) end
         end as mirror_value,
         h.shown_value as service_value,
         case when o.is_over then 'was held on request for a while' else h.detail end
           || case when h.batch is not null and (o.is_over or h.reason in ('limit', 'review'))
                          and h.shown_value is distinct from h.service_value
                   then '; the service has changed it since' else '' end as detail,
         h.since, h.run_id, case when not o.is_over then h.until end as until,
         h.mirror_value as mirror_value_then, h.service_value as service_value_then, h.batch,
         h.decided_at, h.decided_by, h.decided_why
  from sync.held_fields h
  cross join lateral (
    select h.reason = 'asked' and h.batch is not null and h.until <= clock_timestamp()
  ) o (is_over)
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  where h.decision is null or h.until <= clock_timestamp()
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());

-- Whoever may read the view needs the right to the column that it reads now.
do $$
declare
  reader text;
begin
  for reader in
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.held'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
  loop
    execute format('grant select (batch_reason) on sync.held_fields to %s', reader);
  end loop;
end
$$;

alter table sync.teams add column plan_key uuid not null default gen_random_uuid();
comment on column sync.teams.plan_key is 'What the files of plans are sealed with ("musterd plan --out"): who may not read it writes none that "musterd apply" takes.';

-- As sync.deciding_names() takes who decides: who may write the bookkeeping is believed, and of a role that is no longer
-- there nobody knows whether it might.
create function sync.named_editor(role text, person text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when nullif(btrim(person), '') is null then role
    when has_table_privilege(to_regrole(quote_ident(role))::oid, 'sync.held_fields', 'UPDATE') then btrim(person)
    else role || ' for ' || btrim(person)
  end
$$;
comment on function sync.named_editor(text, text) is 'Who edited, in words: the role that was connected, and for whom it said it did (musterd.actor). Of a role that may write the bookkeeping, as musterd''s, that person alone.';

comment on column sync.changes.edited_by is 'By field of a push: who made the edit that it carries, the person for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom. Not there: nobody knows, since the edit is older than the record or was made past the triggers.';
comment on column report.changes.edited_by is 'Of a push: who made the edit that it carries, the person for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom. Empty: nobody knows.';
comment on column sync.user_periods.side is 'Where the change came from with which it begins. mirror: an edit, or a person gave the value of before back. service: musterd wrote what the service has. NULL: not known, it was so when the table was made.';
comment on column sync.user_periods.actor is 'Without a run: for whom it was done, where the transaction says so (musterd.actor). "role for person": another role than musterd''s said for whom.';
comment on column report.roster_changes.edited_by is 'Who changed it here: the person for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom. NULL: a run did.';
comment on column report.role_changes.edited_by is 'Who changed it here: the person for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom. NULL: a run did.';

-- As in 0032, but what musterd writes outside of any run is what a person decided here.
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

-- As in 0030, but it is the work of no run, and what somebody asked to hold waits for what it waited for before.
create or replace function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing  constant text := coalesce(current_setting('musterd.writing', true), '');
  run      constant text := coalesce(current_setting('musterd.run', true), '');
  teams    bigint[];
  stranger bigint;
  own      bigint[];
  decider  constant text := sync.decider();
begin
  perform sync.require_approver();
  select array_agg(distinct h.team_id) into teams
  from sync.held_fields h
  where h.batch = lower(decide.batch) and (decide.team is null or h.team_id = decide.team) and sync.session_sees(h.team_id);
  if teams is null then
    raise exception 'Nothing is held in a batch %', decide.batch
      using errcode = 'no_data_found', hint = 'report.held has the batches that wait.';
  end if;
  if cardinality(teams) > 1 then
    raise exception 'Batch % is held in % teams', decide.batch, cardinality(teams)
      using errcode = 'invalid_parameter_value', hint = 'Say which one: team => 41.';
  end if;
  select o.id into stranger
  from unnest(decide.only_users) as o (id)
  where not exists (
    select from sync.held_fields h
    where h.team_id = teams[1] and h.batch = lower(decide.batch) and h.user_id = o.id
  )
  limit 1;
  if stranger is not null then
    raise exception 'User % is not in batch %', stranger, decide.batch using errcode = 'invalid_parameter_value';
  end if;

  -- A daemon that listens looks at what may go now. In the order in which a run locks: users, then held fields.
  update sync.due d set mark = null from sync.teams t
  where t.team_id = teams[1] and d.team = t.team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = teams[1];
  if decide.revert then
    perform from mirror.users u
    where u.team_id = teams[1] and u.id in (
      select h.user_id from sync.held_fields h where h.team_id = teams[1] and h.batch = lower(decide.batch)
        and (decide.only_users is null or h.user_id = any (decide.only_users)))
    order by u.id for update;
  end if;
  perform from sync.held_fields h
  where h.team_id = teams[1] and h.batch = lower(decide.batch)
    and (decide.only_users is null or h.user_id = any (decide.only_users))
  order by h.user_id, h.field for update;

  -- A value that is not the held one any more is not approved anyway.
  if decide.approves and exists (select from sync.teams t where t.team_id = teams[1] and t.four_eyes) then
    select array_agg(distinct h.user_id order by h.user_id) into own
    from sync.held_fields h
    join sync.own_edits(teams[1], array(
      select distinct f.user_id from sync.held_fields f
      where f.team_id = teams[1] and f.batch = lower(decide.batch) and f.user_id is not null
        and (decide.only_users is null or f.user_id = any (decide.only_users))
    )) o on o.user_id = h.user_id and o.field = h.field
    where h.team_id = teams[1] and h.batch = lower(decide.batch);
    if own is not null then
      raise exception '% edited what is to be approved, of % users: %', decider, cardinality(own),
        array_to_string(own[1:10], ', ') || case when cardinality(own) > 10 then ', …' else '' end
        using errcode = 'invalid_parameter_value',
              hint = 'Somebody else has to approve them (push.fourEyes). What others edited can be approved by itself: only_users, or --only.';
    end if;
  end if;

  -- What is given back is nobody's edit: the triggers let it pass, and nothing after it. No run does it, whatever the
  -- session says.
  perform set_config('musterd.writing', 'on', true), set_config('musterd.run', '', true);
  return query
  with named as materialized (
    select h.*, case
        when h.user_id is null then case when decide.approves then 'approved' else 'left' end
        when u.id is null or u.gone_at is not null then 'gone'
        when h.reason = 'asked' and h.until > clock_timestamp() then 'asked'
        when h.reason not in ('limit', 'review', 'asked') then 'held'
        when h.mirror_value is distinct from v.mirror_value then 'moved'
        when decide.revert and b.id is null then 'moved'
        when not decide.approves then 'rejected'
        when (h.base_value, h.service_value) is distinct from (v.base_value, h.shown_value) then 'moved'
        else 'approved'
      end as outcome
    from sync.held_fields h
    left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
    left join sync.user_base b on b.team_id = h.team_id and b.id = h.user_id
    left join lateral (values
      ('name', jsonb_build_object('first', u.first_name, 'last', u.last_name), jsonb_build_object('first', b.first_name, 'last', b.last_name)),
      ('email', to_jsonb(u.email), to_jsonb(b.email)),
      ('phone', to_jsonb(u.phone), to_jsonb(b.phone)),
      ('role_id', to_jsonb(u.role_id), to_jsonb(b.role_id))
    ) as v (field, mirror_value, base_value) on v.field = h.field
    where h.team_id = teams[1] and h.batch = lower(decide.batch)
      and (decide.only_users is null or h.user_id = any (decide.only_users))
  ),
  done as (
    select n.team_id, n.user_id, n.field, n.base_value, n.service_value, n.mirror_value, n.shown_value from named n
    where n.outcome in ('approved', 'rejected')
      -- What was approved already is not approved for another day.
      and not (n.outcome = 'approved' and n.decision is not null and n.until > clock_timestamp())
  ),
  withdrawn as (
    update mirror.users u set
      first_name = case when 'name' = any (r.fields) then b.first_name else u.first_name end,
      last_name = case when 'name' = any (r.fields) then b.last_name else u.last_name end,
      name_split = case when 'name' = any (r.fields) then 'guessed' else u.name_split end,
      email = case when 'email' = any (r.fields) then b.email else u.email end,
      phone = case when 'phone' = any (r.fields) then b.phone else u.phone end,
      role_id = case when 'role_id' = any (r.fields) then b.role_id else u.role_id end,
      edited_at = clock_timestamp(), edited_by = session_user
    from (select d.user_id, array_agg(d.field) as fields from done d group by d.user_id) r, sync.user_base b
    where decide.revert and u.team_id = teams[1] and u.id = r.user_id and b.team_id = u.team_id and b.id = u.id
    returning u.id
  ),
  ended as (
    delete from sync.held_fields h using done d
    where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field and h.user_id in (select w.id from withdrawn w)
  ),
  written as (
    update sync.held_fields h set
      reason = case when not decide.approves then 'rejected' when h.reason = 'asked' then coalesce(h.batch_reason, 'limit') else h.reason end,
      batch = case when decide.approves then h.batch end,
      detail = case when decide.approves then h.detail else coalesce(decide.reason, '') end,
      service_value = h.shown_value,
      decision = case when decide.approves then 'approved' end,
      until = case when not decide.approves then null
                   when h.user_id is null then 'infinity'::timestamptz
                   else clock_timestamp() + interval '24 hours' end,
      decided_at = clock_timestamp(), decided_by = decider, decided_role = session_user, decided_why = coalesce(decide.reason, '')
    from done d
    where not decide.revert and h.team_id = d.team_id and coalesce(h.user_id, -1) = coalesce(d.user_id, -1) and h.field = d.field
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, closed_at, decided_by, decided_role, decided_why, batch)
    select d.team_id, d.user_id, case when decide.approves then 'approve' else 'reject' end,
      jsonb_object_agg(d.field, d.base_value), jsonb_object_agg(d.field, d.shown_value),
      jsonb_object_agg(d.field, d.mirror_value), clock_timestamp(), decider, session_user, coalesce(decide.reason, ''),
      lower(decide.batch)
    from done d where d.user_id is not null group by d.team_id, d.user_id
  )
  select n.team_id, n.user_id, n.field, n.outcome from named n order by n.user_id, n.field;
  perform set_config('musterd.writing', writing, true), set_config('musterd.run', run, true);
end
$$;
