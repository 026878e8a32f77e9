-- Who decided and for whom, about which batch, and that nobody approves what they edited themselves.

alter table sync.teams add column four_eyes boolean not null default false;
comment on column sync.teams.four_eyes is 'Nobody approves what they edited themselves: push.fourEyes of the settings, as the last run or command had it.';

alter table sync.held_fields add column decided_role text;
alter table sync.absences add column decided_role text;
alter table sync.changes add column decided_role text, add column batch text;
comment on column sync.held_fields.decided_by is 'Who decided: for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom.';
comment on column sync.held_fields.decided_role is 'The role that was connected.';
comment on column sync.absences.decided_by is 'Who approved it or left it out: for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom.';
comment on column sync.absences.decided_role is 'The role that was connected.';
comment on column sync.changes.decided_by is 'Who decided: for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom.';
comment on column sync.changes.decided_role is 'Of a decision: the role that was connected.';
comment on column sync.changes.batch is 'Of an approval or a rejection: the batch, the import or the file of a plan that it was about.';
create index changes_by_batch on sync.changes (team_id, batch) where batch is not null;
comment on index sync.changes_by_batch is 'Whether the file of a plan was applied already.';

-- Everybody may say for whom something is done (musterd.actor). It is believed of those who could write the bookkeeping
-- themselves; of others it counts besides their role, never instead of it.
create function sync.deciding_names() returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when s.actor is null then array[session_user::text]
    when has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then array[s.actor]
    else array[session_user::text, s.actor]
  end
  from (select nullif(btrim(current_setting('musterd.actor', true)), '') as actor) s
$$;
comment on function sync.deciding_names() is 'Who decides: the role that is connected, and for whom it says it does (musterd.actor). Of a role that may write the bookkeeping, as musterd''s, that person alone.';

create function sync.decider() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array_to_string(sync.deciding_names(), ' for ')
$$;
comment on function sync.decider() is 'Who decides, in words: see sync.deciding_names().';

create function sync.last_edits(team bigint, users bigint[])
returns table (user_id bigint, field text, xid xid8, edited_at timestamptz, edited_by text, actor text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select v.user_id, v.field, e.xid, coalesce(e.edited_at, v.edited_at), coalesce(e.edited_by, v.edited_by), e.actor
  from (
    select u.id as user_id, u.edited_at, u.edited_by, f.field, f.value
    from mirror.users u
    cross join lateral (values
      ('name', jsonb_build_object('first', u.first_name, 'last', u.last_name)),
      ('email', to_jsonb(u.email)),
      ('phone', to_jsonb(u.phone)),
      ('role_id', to_jsonb(u.role_id))
    ) as f (field, value)
    where u.team_id = last_edits.team and u.id = any (last_edits.users)
  ) v
  left join (
    select distinct on (s.user_id, s.field) s.user_id, s.field, s.xid, s.edited_at, s.edited_by, s.actor, s.new_value
    from sync.edits s
    where s.team_id = last_edits.team and s.user_id = any (last_edits.users) and s.field <> 'name_split'
    order by s.user_id, s.field, s.edit_id desc
  ) e on e.user_id = v.user_id and e.field = v.field and e.new_value is not distinct from v.value
$$;
comment on function sync.last_edits(bigint, bigint[]) is 'Who edited the values that these users'' fields have now, when, and in which transaction. Where their last edit is not on record, as with the triggers off: who is said to have edited the user.';

create function sync.own_edits(team bigint, users bigint[]) returns table (user_id bigint, field text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  with names as materialized (select array_agg(lower(n.name)) as of from unnest(sync.deciding_names()) as n (name)),
  -- What musterd wrote in between, or brought to an agreement, is nobody's edit: others' begin anew after it.
  edits as materialized (
    select s.user_id, s.field, s.edit_id, s.edited_by, s.actor, s.old_value, s.new_value,
      s.old_value is not distinct from v.base_value
        or lag(s.new_value) over w is distinct from s.old_value as is_first
    from sync.edits s
    join sync.user_base b on b.team_id = s.team_id and b.id = s.user_id
    join lateral (values
      ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name)),
      ('email', to_jsonb(b.email)),
      ('phone', to_jsonb(b.phone)),
      ('role_id', to_jsonb(b.role_id))
    ) as v (field, base_value) on v.field = s.field
    where s.team_id = own_edits.team and s.user_id = any (own_edits.users)
    window w as (partition by s.user_id, s.field order by s.edit_id)
  ),
  firsts as (select f.user_id, f.field, max(f.edit_id) as edit_id from edits f where f.is_first group by f.user_id, f.field)
  select e.user_id, e.field
  from sync.last_edits(own_edits.team, own_edits.users) e, names n
  where array[lower(btrim(e.edited_by)), lower(btrim(e.actor))] && n.of
  union
  select e.user_id, e.field
  from edits e join firsts f on f.user_id = e.user_id and f.field = e.field and f.edit_id <= e.edit_id, names n
  where array[lower(btrim(e.edited_by)), lower(btrim(e.actor))] && n.of
$$;
comment on function sync.own_edits(bigint, bigint[]) is 'The fields of these users which whoever decides now has edited since both sides agreed on them.';

create or replace function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing  text := coalesce(current_setting('musterd.writing', true), '');
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

  -- What is given back is nobody's edit: the triggers let it pass, and nothing after it.
  perform set_config('musterd.writing', 'on', true);
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
      reason = case when not decide.approves then 'rejected' when h.reason = 'asked' then 'limit' else h.reason end,
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
  perform set_config('musterd.writing', writing, true);
end
$$;

create or replace function sync.decide_batch(batch text, approves boolean, only_ids bigint[], reason text, revert boolean, team bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
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
    return query select * from sync.decide(decide_batch.batch, approves, only_ids, reason, revert, team);
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

comment on function sync.approve(text, bigint[], text, bigint) is 'Lets the fields of a batch pass the limits, all of them or those of some users: once, within a day, with the values of mirror, base and service that were held. Refused where the settings ask for four eyes and whoever decides edited one of them. Says of each row: approved; moved: it is not as it was held, and is left; asked, held: something else holds it; gone: the user has left. Of a batch of missing rows: agrees that they are gone, for as long as they are missing and the settings ask for the same; those that only_users leaves out wait on. user_id is the id of the row then, and field says what it is: users, tags or contact_fields.';
