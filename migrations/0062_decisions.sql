-- Decisions are about edits: what is approved or rejected is this edit, over what was seen of the service, and no other one
-- of the same value. Whoever could decide may still do so, and may name single edits.

create temporary table deciders on commit drop as
select a.grantee::regrole::text as name from pg_proc p cross join lateral aclexplode(p.proacl) a
where p.oid = 'sync.approve(text, bigint[], text, bigint)'::regprocedure and a.grantee not in (0, p.proowner);
drop function sync.approve(text, bigint[], text, bigint);
drop function sync.reject(text, bigint[], text, boolean, bigint);
drop function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint);
drop function sync.decide(text, boolean, bigint[], text, boolean, bigint);

-- What a decision about the fields of a batch finds, by the fate of each edit:
--
-- | the edit                               | approve    | reject     |
-- |----------------------------------------|------------|------------|
-- | lasts, and the service is as was seen  | approved   | rejected   |
-- | lasts, and the service has moved       | moved      | rejected   |
-- | was withdrawn, replaced, or is unknown | moved      | moved      |
-- | is being sent                          | on its way | on its way (†) |
-- | is held for another reason             | held       | held       |
-- | its user has left                      | gone       | gone       |
--
-- † and is rejected if it does not arrive: no part of a request that has not left carries it, and it is not sent again.
create function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint, only_edits bigint[])
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing  constant text := coalesce(current_setting('musterd.writing', true), '');
  run      constant text := coalesce(current_setting('musterd.run', true), '');
  teams    bigint[];
  stranger text;
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
  select o.what into stranger
  from (
    select 'User ' || u.id as what, u.id, null::bigint as edit_id from unnest(decide.only_users) as u (id)
    union all select 'Edit ' || e.edit_id, null, e.edit_id from unnest(decide.only_edits) as e (edit_id)
  ) o
  where not exists (
    select from sync.held_fields h
    where h.team_id = teams[1] and h.batch = lower(decide.batch) and (h.user_id = o.id or h.edit_id = o.edit_id)
  )
  limit 1;
  if stranger is not null then
    raise exception '% is not in batch %', stranger, decide.batch using errcode = 'invalid_parameter_value';
  end if;

  -- A daemon that listens looks at what may go now. In the order in which a run locks: users, then held fields.
  update sync.due d set mark = null from sync.teams t
  where t.team_id = teams[1] and d.team = t.team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = teams[1];
  if decide.revert then
    perform from mirror.users u
    where u.team_id = teams[1] and u.id in (
      select h.user_id from sync.held_fields h where h.team_id = teams[1] and h.batch = lower(decide.batch))
    order by u.id for update;
  end if;
  perform from sync.held_fields h
  where h.team_id = teams[1] and h.batch = lower(decide.batch)
  order by h.user_id, h.field for update;

  if decide.approves and exists (select from sync.teams t where t.team_id = teams[1] and t.four_eyes) then
    select array_agg(distinct h.user_id order by h.user_id) into own
    from sync.held_fields h
    join sync.edits e on e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null
      and e.edit_id = h.edit_id
    where h.team_id = teams[1] and h.batch = lower(decide.batch)
      and (decide.only_users is null or h.user_id = any (decide.only_users))
      and (decide.only_edits is null or h.edit_id = any (decide.only_edits))
      and sync.is_own(e.authors);
    if own is not null then
      raise exception '% edited what is to be approved, or may have, of % users: %', decider, cardinality(own),
        array_to_string(own[1:10], ', ') || case when cardinality(own) > 10 then ', …' else '' end
        using errcode = 'invalid_parameter_value',
              hint = 'Somebody else has to approve them (push.fourEyes). What others edited can be approved by itself: only_users, or --only.';
    end if;
  end if;

  -- What is given back is as it was before: no trigger has to let it pass. No run does it, whatever the session says.
  perform set_config('musterd.writing', 'on', true), set_config('musterd.run', '', true);
  return query
  with named as materialized (
    select h.*, e.old_split, i.is_sent, case
        when h.user_id is null then case when decide.approves then 'approved' else 'left' end
        when u.id is null or u.gone_at is not null then 'gone'
        when h.reason = 'asked' and h.until > clock_timestamp() then 'asked'
        when decide.approves and i.is_sent then 'on its way'
        when i.is_sent and e.edit_id is not null then 'rejected'
        when h.reason not in ('limit', 'review', 'asked') then 'held'
        when e.edit_id is null or e.new_value is distinct from v.mirror_value then 'moved'
        when decide.revert and b.id is null then 'moved'
        when not decide.approves then 'rejected'
        when (h.base_value, h.service_value) is distinct from (v.base_value, h.shown_value) then 'moved'
        else 'approved'
      end as outcome
    from sync.held_fields h
    left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
    left join sync.user_base b on b.team_id = h.team_id and b.id = h.user_id
    left join sync.edits e on e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null
      and e.edit_id = h.edit_id
    cross join lateral (select sync.is_under_way(h.team_id, h.user_id, h.field)) i (is_sent)
    left join lateral (values
      ('name', jsonb_build_object('first', u.first_name, 'last', u.last_name), jsonb_build_object('first', b.first_name, 'last', b.last_name)),
      ('email', to_jsonb(u.email), to_jsonb(b.email)),
      ('phone', to_jsonb(u.phone), to_jsonb(b.phone)),
      ('role_id', to_jsonb(u.role_id), to_jsonb(b.role_id))
    ) as v (field, mirror_value, base_value) on v.field = h.field
    where h.team_id = teams[1] and h.batch = lower(decide.batch)
      and (decide.only_users is null or h.user_id = any (decide.only_users))
      and (decide.only_edits is null or h.edit_id = any (decide.only_edits))
  ),
  done as (
    select n.team_id, n.user_id, n.field, n.edit_id, n.is_sent, n.old_split, n.base_value, n.service_value, n.mirror_value, n.shown_value
    from named n
    where n.outcome in ('approved', 'rejected') and not (n.outcome = 'approved' and n.decision is not null)
  ),
  withdrawn as (
    update mirror.users u set
      first_name = case when 'name' = any (r.fields) then b.first_name else u.first_name end,
      last_name = case when 'name' = any (r.fields) then b.last_name else u.last_name end,
      name_split = case when 'name' = any (r.fields) then coalesce(r.split, 'guessed') else u.name_split end,
      email = case when 'email' = any (r.fields) then b.email else u.email end,
      phone = case when 'phone' = any (r.fields) then b.phone else u.phone end,
      role_id = case when 'role_id' = any (r.fields) then b.role_id else u.role_id end,
      edited_at = clock_timestamp(), edited_by = session_user
    from (
      select d.user_id, array_agg(d.field) as fields, max(d.old_split) filter (where d.field = 'name') as split
      from done d where not d.is_sent group by d.user_id
    ) r, sync.user_base b
    where decide.revert and u.team_id = teams[1] and u.id = r.user_id and b.team_id = u.team_id and b.id = u.id
    returning u.id
  ),
  ended as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
    from done d
    where e.team_id = d.team_id and e.user_id = d.user_id and e.field = d.field and e.ended_at is null
      and e.edit_id = d.edit_id and not d.is_sent and e.user_id in (select w.id from withdrawn w)
  ),
  freed as (
    delete from sync.held_fields h using done d
    where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field and not d.is_sent
      and h.user_id in (select w.id from withdrawn w)
  ),
  written as (
    update sync.held_fields h set
      reason = case when not decide.approves then 'rejected' when h.reason = 'asked' then coalesce(h.batch_reason, 'limit') else h.reason end,
      batch = case when decide.approves then h.batch end,
      detail = case when decide.approves then h.detail else coalesce(decide.reason, '') end,
      service_value = h.shown_value,
      decision = case when decide.approves then 'approved' end,
      until = null,
      decided_at = clock_timestamp(), decided_by = decider, decided_role = session_user, decided_why = coalesce(decide.reason, '')
    from done d
    where (not decide.revert or d.is_sent) and h.team_id = d.team_id and coalesce(h.user_id, -1) = coalesce(d.user_id, -1) and h.field = d.field
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, edits, closed_at, decided_by, decided_role, decided_why, batch)
    select d.team_id, d.user_id, case when decide.approves then 'approve' else 'reject' end,
      jsonb_object_agg(d.field, d.base_value), jsonb_object_agg(d.field, d.shown_value),
      jsonb_object_agg(d.field, d.mirror_value), jsonb_object_agg(d.field, d.edit_id), clock_timestamp(), decider, session_user,
      coalesce(decide.reason, ''), lower(decide.batch)
    from done d where d.user_id is not null group by d.team_id, d.user_id
  )
  select n.team_id, n.user_id, n.field, case when n.is_sent and n.outcome = 'rejected' then 'on its way' else n.outcome end
  from named n order by n.user_id, n.field;
  perform set_config('musterd.writing', writing, true), set_config('musterd.run', run, true);
end
$$;
comment on function sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]) is 'Approves or rejects the edits of a batch: what sync.approve() and sync.reject() do.';

create function sync.decide_batch(batch text, approves boolean, only_ids bigint[], reason text, revert boolean, team bigint, only_edits bigint[])
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$#variable_conflict use_column
declare
  teams    bigint[];
  missing  text;
  stranger bigint;
  decider  constant text := sync.decider();
begin
  perform sync.require_approver();
  -- A run that looks at these rows ends first; what it replaced no longer waits under this name.
  perform from sync.absences a
  where a.batch = lower(decide_batch.batch) and (decide_batch.team is null or a.team_id = decide_batch.team)
    and sync.session_sees(a.team_id)
  order by a.team_id, a.resource, a.id for update;
  select array_agg(distinct a.team_id), min(a.resource) into teams, missing
  from sync.absences a
  where a.batch = lower(decide_batch.batch) and (decide_batch.team is null or a.team_id = decide_batch.team)
    and sync.session_sees(a.team_id);
  if teams is null then
    return query select * from sync.decide(decide_batch.batch, approves, only_ids, reason, revert, team, only_edits);
    return;
  end if;
  if cardinality(teams) > 1 then
    raise exception 'Batch % waits in % teams', decide_batch.batch, cardinality(teams)
      using errcode = 'invalid_parameter_value', hint = 'Say which one: team => 41.';
  end if;
  select o.id into stranger
  from unnest(decide_batch.only_ids) as o (id)
  where not exists (
    select from sync.absences a where a.team_id = teams[1] and a.batch = lower(decide_batch.batch) and a.id = o.id
  )
  limit 1;
  if stranger is not null then
    raise exception '% is not among the missing % of batch %', stranger, missing, decide_batch.batch
      using errcode = 'invalid_parameter_value';
  end if;

  return query
  with named as materialized (
    select a.team_id, a.resource, a.id, decide_batch.only_ids is null or a.id = any (decide_batch.only_ids) as is_chosen
    from sync.absences a where a.team_id = teams[1] and a.batch = lower(decide_batch.batch)
  ),
  -- As a run names them that finds nothing else in doubt.
  rest as (
    select substr(encode(sha256(convert_to(
        format('["%s",[%s]]', missing, string_agg(n.id::text, ',' order by n.id)), 'UTF8')), 'hex'), 1, 12) as hash,
      case count(*) when 1 then '1 missing row was' else count(*) || ' missing rows were' end || ' left out of an approval' as words
    from named n where not n.is_chosen
  ),
  written as (
    update sync.absences a set
      verdict = case when n.is_chosen then 'approved' else 'left' end,
      verdict_scope = case when n.is_chosen then a.scope end,
      batch = case when not n.is_chosen then r.hash end,
      detail = case when not n.is_chosen then r.words end,
      scope = case when not n.is_chosen then a.scope end,
      withheld_at = case when not n.is_chosen then clock_timestamp() end,
      decided_at = clock_timestamp(), decided_by = decider, decided_role = session_user,
      decided_why = coalesce(decide_batch.reason, '')
    from named n cross join rest r
    where decide_batch.approves and (a.team_id, a.resource, a.id) = (n.team_id, n.resource, n.id)
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, closed_at, decided_by, decided_role, decided_why, batch)
    select n.team_id, n.id, 'approve', clock_timestamp(), decider, session_user, coalesce(decide_batch.reason, ''),
      lower(decide_batch.batch)
    from named n where decide_batch.approves and n.is_chosen and n.resource = 'users' order by n.id
  )
  select n.team_id, n.id, n.resource, case when decide_batch.approves then 'approved' else 'left' end
  from named n where n.is_chosen order by n.id;
end
$$;
comment on function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint, bigint[]) is 'Approves or rejects what waits under a name: missing rows, or else held fields. What sync.approve() and sync.reject() do.';

create function sync.approve(batch text, only_users bigint[] default null, reason text default null, team bigint default null, only_edits bigint[] default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide_batch(batch, true, only_users, reason, false, team, only_edits)
$$;
comment on function sync.approve(text, bigint[], text, bigint, bigint[]) is 'Lets the edits of a batch pass the limits, all of them, those of some users or single ones: once, and only as long as it is the same edit over what was seen of the service. Refused where the settings ask for four eyes and whoever decides edited one of them. Says of each row: approved; moved: it is not as it was held, and is left; on its way: it is being sent; asked, held: something else holds it; gone: the user has left. Of a batch of missing rows: agrees that they are gone, for as long as they are missing and the settings ask for the same; those that only_users leaves out wait on. user_id is the id of the row then, and field says what it is: users, tags or contact_fields.';

create function sync.reject(batch text, only_users bigint[] default null, reason text default null, revert boolean default false, team bigint default null, only_edits bigint[] default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide_batch(batch, false, only_users, reason, revert, team, only_edits)
$$;
comment on function sync.reject(text, bigint[], text, boolean, bigint, bigint[]) is 'Decides that the edits of a batch are not sent, all of them, those of some users or single ones, for as long as these edits last. With revert the mirror is given back what both sides last agreed on. Says of each row: rejected; on its way: it is being sent, and what becomes of it is told by the push; left: nothing is to be rejected, as with missing rows, which stay as they are until they are approved; and what sync.approve() says.';

revoke execute on function sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]),
  sync.decide_batch(text, boolean, bigint[], text, boolean, bigint, bigint[]),
  sync.approve(text, bigint[], text, bigint, bigint[]), sync.reject(text, bigint[], text, boolean, bigint, bigint[]) from public;
do $$
declare
  one text;
begin
  for one in select d.name from deciders d loop
    execute format('grant execute on function sync.approve(text, bigint[], text, bigint, bigint[]),
      sync.reject(text, bigint[], text, boolean, bigint, bigint[]) to %s', one);
  end loop;
end
$$;

-- An approval has no end of its own, and report.held names the edit.
create or replace view report.held with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.reason, v.base_value, v.mirror_value, v.service_value, v.detail, v.since,
  v.run_id, v.until, v.mirror_value_then, v.service_value_then, v.batch, v.decided_at, v.decided_by, v.decided_why,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
  mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
  mirror.field_text(v.service_value_then) as service_text_then, v.edit_id
from (
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
         h.decided_at, h.decided_by, h.decided_why, h.edit_id
  from sync.held_fields h
  cross join lateral (
    select h.reason = 'asked' and h.batch is not null and h.until <= clock_timestamp()
  ) o (is_over)
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  where h.decision is null
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.held.edit_id is 'The edit that is held: what "musterd resolve --edit" is given. Empty: none, as where a person asked to hold the field.';

create or replace view report.pending with (security_invoker) as
select v.*, mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text from (
  select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
         case when w.field is not null and not w.is_refused then 'held'
              when u.gone_at is not null then 'gone'
              when not u.resolved then 'unresolved'
              when exists (
                select from sync.changes c where c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
              ) then 'sent'
              when w.is_refused then 'refused'
              else 'waiting' end as state,
         w.reason as held_because, u.edited_at, u.edited_by
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values
    ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name), jsonb_build_object('first', u.first_name, 'last', u.last_name)),
    ('email', to_jsonb(b.email), to_jsonb(u.email)),
    ('phone', to_jsonb(b.phone), to_jsonb(u.phone)),
    ('role_id', to_jsonb(b.role_id), to_jsonb(u.role_id))
  ) as f (field, base_value, mirror_value)
  left join (
    select h.team_id, h.user_id, h.field, h.reason, h.batch is not null
             and (h.reason in ('limit', 'review') or h.reason = 'asked' and h.until <= clock_timestamp()) as is_refused
    from sync.held_fields h where h.decision is null
  ) w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
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
    execute format('grant select (edit_id) on sync.held_fields to %s', reader);
  end loop;
end
$$;
