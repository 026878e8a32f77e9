-- A decision has a number, what became of each of its edits can be asked, and what of it has not moved since can be taken back.

alter table sync.held_fields drop column decided_role;
comment on column sync.held_fields.batch_reason is 'Of a field in a batch that somebody asked to hold, or rejected: why it waited before, and will again when that is over.';
alter table sync.changes add column decision_id bigint;
comment on column sync.changes.decision_id is 'Number of the decision: what was decided at once has the same.';
comment on column sync.changes.edits is 'By field of a push or of what a person decided: the edit that it is about. In sync.edits.edit_id.';
comment on column sync.changes.outcome is 'By field of a push: confirmed, ineffective, changed, missing, refused, unsent, unanswered or unknown. Of a rejection: withdrawn, where the mirror was given back.';
comment on column sync.changes.kind is 'adopt: first sight. return: shown again after having been gone. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left. undo: a person took one of these back. place: a person said where this mirror is at home, or that it is a copy.';
alter table sync.changes drop constraint changes_kind_check;
alter table sync.changes add constraint changes_kind_check check (kind in ('adopt', 'return', 'pull', 'push', 'settle', 'hold',
  'tombstone', 'forget', 'approve', 'reject', 'resolve', 'undo', 'place'));

-- What was decided about one batch for one reason is one decision of the time before.
update sync.changes c set decision_id = n.first_id
from (
  select d.change_id, case when d.batch is null then d.change_id
    else min(d.change_id) over (partition by d.team_id, d.kind, d.batch, d.decided_by, d.decided_role, d.decided_why) end as first_id
  from sync.changes d where d.kind in ('approve', 'reject', 'resolve')
) n
where c.change_id = n.change_id;
create index changes_by_decision on sync.changes (decision_id) where decision_id is not null;
comment on index sync.changes_by_decision is 'What was decided at once.';
drop index sync.changes_of_decisions;
create index changes_of_decisions on sync.changes (change_id) where kind in ('approve', 'reject', 'resolve', 'undo');
comment on index sync.changes_of_decisions is 'What people decided.';
-- Whoever edits does not pay for it: an edit has its place here when it ends.
create index edits_that_are_over on sync.edits (team_id, edit_id) where ended_at is not null;
comment on index sync.edits_that_are_over is 'What became of an edit.';

create function sync.new_decision() returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select nextval(pg_get_serial_sequence('sync.changes', 'change_id'))
$$;
comment on function sync.new_decision() is 'The number of a decision that is about to be made. No change has it.';

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
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing  constant text := coalesce(current_setting('musterd.writing', true), '');
  run      constant text := coalesce(current_setting('musterd.run', true), '');
  teams    bigint[];
  stranger text;
  own      bigint[];
  decider  constant text := sync.decider();
  number   constant bigint := sync.new_decision();
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
      batch_reason = case when decide.approves or h.reason not in ('limit', 'review') then h.batch_reason else h.reason end,
      detail = case when decide.approves then h.detail else coalesce(decide.reason, '') end,
      service_value = h.shown_value,
      decision = case when decide.approves then 'approved' end,
      until = null,
      decided_at = clock_timestamp(), decided_by = decider, decided_why = coalesce(decide.reason, '')
    from done d
    where (not decide.revert or d.is_sent) and h.team_id = d.team_id and coalesce(h.user_id, -1) = coalesce(d.user_id, -1) and h.field = d.field
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role, decided_why,
      batch, decision_id)
    select d.team_id, d.user_id, case when decide.approves then 'approve' else 'reject' end,
      jsonb_object_agg(d.field, d.base_value), jsonb_object_agg(d.field, d.shown_value),
      jsonb_object_agg(d.field, d.mirror_value), jsonb_object_agg(d.field, d.edit_id),
      coalesce(jsonb_object_agg(d.field, 'withdrawn') filter (where decide.revert and not d.is_sent), '{}'), clock_timestamp(),
      decider, session_user, coalesce(decide.reason, ''), lower(decide.batch), number
    from done d where d.user_id is not null group by d.team_id, d.user_id
  )
  select n.team_id, n.user_id, n.field, case when n.is_sent and n.outcome = 'rejected' then 'on its way' else n.outcome end,
    case when exists (select from done d where d.user_id is not null) then number end
  from named n order by n.user_id, n.field;
  perform set_config('musterd.writing', writing, true), set_config('musterd.run', run, true);
end
$$;
comment on function sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]) is 'Approves or rejects the edits of a batch: what sync.approve() and sync.reject() do.';

create function sync.decide_batch(batch text, approves boolean, only_ids bigint[], reason text, revert boolean, team bigint, only_edits bigint[])
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$#variable_conflict use_column
declare
  teams    bigint[];
  missing  text;
  stranger bigint;
  decider  constant text := sync.decider();
  number   constant bigint := sync.new_decision();
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
    insert into sync.changes (team_id, user_id, kind, closed_at, decided_by, decided_role, decided_why, batch, decision_id)
    select n.team_id, n.id, 'approve', clock_timestamp(), decider, session_user, coalesce(decide_batch.reason, ''),
      lower(decide_batch.batch), number
    from named n where decide_batch.approves and n.is_chosen and n.resource = 'users' order by n.id
  )
  select n.team_id, n.id, n.resource, case when decide_batch.approves then 'approved' else 'left' end,
    case when decide_batch.approves and missing = 'users' then number end
  from named n where n.is_chosen order by n.id;
end
$$;
comment on function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint, bigint[]) is 'Approves or rejects what waits under a name: missing rows, or else held fields. What sync.approve() and sync.reject() do.';

create function sync.approve(batch text, only_users bigint[] default null, reason text default null, team bigint default null, only_edits bigint[] default null)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide_batch(batch, true, only_users, reason, false, team, only_edits)
$$;
comment on function sync.approve(text, bigint[], text, bigint, bigint[]) is 'Lets the edits of a batch pass the limits, all of them, those of some users or single ones: once, and only as long as it is the same edit over what was seen of the service. Refused where the settings ask for four eyes and whoever decides edited one of them. Says of each row: approved; moved: it is not as it was held, and is left; on its way: it is being sent; asked, held: something else holds it; gone: the user has left. Of a batch of missing rows: agrees that they are gone, for as long as they are missing and the settings ask for the same; those that only_users leaves out wait on. user_id is the id of the row then, and field says what it is: users, tags or contact_fields. decision_id is the number of the decision, as in report.decisions; empty: nothing was decided, or nothing about users.';

create function sync.reject(batch text, only_users bigint[] default null, reason text default null, revert boolean default false, team bigint default null, only_edits bigint[] default null)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
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

-- What taking a decision back finds, by the fate of each of its edits:
--
-- | the edit                                     | approve, resolve | reject      |
-- |----------------------------------------------|------------------|-------------|
-- | waits, decided by this and nothing since     | undecided        | undecided   |
-- | is being sent                                | on its way       | on its way  |
-- | has arrived, or the service's value was taken | arrived         | moved       |
-- | was taken back by this                       | –                | given back  |
-- | anything else                                | moved            | moved       |
create function sync.undecide(decision bigint, reason text default null, only_shown boolean default false)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  number constant bigint := case when not undecide.only_shown then sync.new_decision() end;
  taken  record;
begin
  if number is not null then
    perform sync.require_approver();
  end if;
  select c.team_id, c.kind into taken from sync.changes c
  where c.decision_id = undecide.decision and sync.session_sees(c.team_id) order by c.kind = 'undo' limit 1;
  if not found then
    raise exception 'There is no decision %', undecide.decision
      using errcode = 'no_data_found', hint = 'report.decisions has those that were made.';
  end if;
  if taken.kind = 'undo' then
    raise exception 'Decision % took another one back', undecide.decision
      using errcode = 'invalid_parameter_value', hint = 'What is undecided by that is decided anew: report.held has it.';
  end if;
  if number is not null then
    perform from sync.held_fields h
    where h.team_id = taken.team_id
      and h.user_id = any (array(select c.user_id from sync.changes c where c.decision_id = undecide.decision))
    order by h.user_id, h.field for update;
  end if;
  return query
  with found as materialized (
    select c.team_id, c.user_id, f.field, c.batch, c.base -> f.field as base, c.old -> f.field as old, c.new -> f.field as new,
      c.edits -> f.field as edit,
      case
        when f.field is null then case when a.verdict = 'approved' then 'undecided' else 'moved' end
        when c.outcome ->> f.field = 'withdrawn' then 'given back'
        when exists (
          select from sync.changes d
          where d.team_id = c.team_id and d.user_id = c.user_id and d.change_id > c.change_id and d.decision_id is not null
            and d.edits -> f.field = c.edits -> f.field
        ) then 'moved'
        when e.edit_id is null then case when c.kind <> 'reject' and exists (
            select from sync.changes p
            where p.team_id = c.team_id and p.user_id = c.user_id and (
              p.kind = 'push' and p.edits -> f.field = c.edits -> f.field and p.outcome ->> f.field = 'confirmed'
              or c.kind = 'resolve' and p.kind = 'pull' and p.run_id = c.run_id)
          ) then 'arrived' else 'moved' end
        when sync.is_under_way(c.team_id, c.user_id, f.field) then 'on its way'
        when u.gone_at is null and case c.kind when 'reject' then h.reason = 'rejected' else h.decision is not null end then 'undecided'
        else 'moved'
      end as outcome
    from sync.changes c
    left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
    left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
    left join sync.edits e on e.team_id = c.team_id and e.user_id = c.user_id and e.field = f.field and e.ended_at is null
      and e.edit_id = (c.edits ->> f.field)::bigint
    left join sync.held_fields h on h.team_id = c.team_id and h.user_id = c.user_id and h.field = f.field and h.edit_id = e.edit_id
    left join sync.absences a on f.field is null and a.team_id = c.team_id and a.resource = 'users' and a.id = c.user_id
    where c.decision_id = undecide.decision and c.kind <> 'undo'
  ),
  done as (
    select * from found n where number is not null and n.outcome = 'undecided'
  ),
  -- What could not be sent before it was decided can be now, and waits all the same.
  freed as (
    update sync.held_fields h set
      reason = case h.reason when 'rejected' then coalesce(h.batch_reason, 'limit') when 'unsupported' then 'limit' else h.reason end,
      batch = coalesce(h.batch, d.batch), detail = 'the decision about it was taken back', decision = null,
      decided_at = clock_timestamp(), decided_by = null, decided_why = null
    from done d where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field
  ),
  missed as (
    update sync.absences a set verdict = 'left', verdict_scope = null, decided_at = clock_timestamp(), decided_by = sync.decider(),
      decided_role = session_user, decided_why = coalesce(undecide.reason, '')
    from done d where d.field is null and a.team_id = d.team_id and a.resource = 'users' and a.id = d.user_id
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, edits, closed_at, decided_by, decided_role, decided_why, batch,
      decision_id)
    select d.team_id, d.user_id, 'undo', coalesce(jsonb_object_agg(d.field, d.base) filter (where d.field is not null), '{}'),
      coalesce(jsonb_object_agg(d.field, d.old) filter (where d.field is not null), '{}'),
      coalesce(jsonb_object_agg(d.field, d.new) filter (where d.field is not null), '{}'),
      jsonb_object_agg(d.field, d.edit) filter (where d.field is not null), clock_timestamp(), sync.decider(), session_user,
      coalesce(undecide.reason, ''), max(d.batch), number
    from done d group by d.team_id, d.user_id
  )
  select n.team_id, n.user_id, n.field, n.outcome, number from found n order by n.user_id, n.field;
end
$$;
comment on function sync.undecide(bigint, text, boolean) is 'Takes a decision back, as far as nothing has become of it: what was approved and not sent waits undecided again, and so does what was rejected. Nothing is approved by that. With only_shown nothing is changed. Says of each row: undecided; on its way: it is being sent; arrived: both sides have it; given back: the rejection took the edit back; moved: it is another edit by now, or was decided again. What has arrived or was given back is set back by "musterd undo --decision".';
revoke execute on function sync.undecide(bigint, text, boolean) from public;
do $$
declare
  one text;
begin
  for one in select d.name from deciders d loop
    execute format('grant execute on function sync.undecide(bigint, text, boolean) to %s', one);
  end loop;
end
$$;

-- What became of each edit, in the words of sync.settled() where they fit.
create or replace view report.decisions with (security_invoker) as
select v.* from (
  select c.change_id, c.team_id, c.opened_at as decided_at, c.kind as decision, c.user_id, u.name, f.field,
         c.base -> f.field as base_value, c.new -> f.field as mirror_value, c.old -> f.field as service_value,
         mirror.field_text(c.base -> f.field) as base_text, mirror.field_text(c.new -> f.field) as mirror_text,
         mirror.field_text(c.old -> f.field) as service_text,
         c.decided_by, c.decided_role, c.decided_why, c.batch, c.run_id,
         c.decision_id, (c.edits ->> f.field)::bigint as edit_id,
         case
           when f.field is null then case when u.gone_at is not null then 'confirmed' when a.id is not null then 'waiting' else 'withdrawn' end
           when c.kind = 'resolve' and exists (
             select from sync.changes t where t.team_id = c.team_id and t.user_id = c.user_id and t.kind = 'pull' and t.run_id = c.run_id
           ) then 'confirmed'
           when o.ended_how = 'agreed' then 'confirmed'
           when o.edit_id is not null then 'withdrawn'
           when l.edit_id is null then null
           when p.outcome = 'unknown' then 'unknown'
           when h.reason is null or p.state = 'open' then 'waiting'
           when h.reason = 'refused' then 'refused'
           when c.kind in ('approve', 'resolve') then 'void'
           else 'held' end as state,
         case
           when o.ended_how = 'overruled' then 'the value of the service was taken in its place'
           when o.ended_how = 'replaced' then 'somebody has edited the field again'
           when o.ended_how = 'forgotten' then 'the user is in the team no longer'
           when o.ended_how = 'withdrawn' then 'it was taken back here'
           when p.outcome = 'unknown' then 'it was sent, and no answer came: a run reads it back'
           when p.state = 'open' then 'it is being sent'
           when h.reason is not null
             then h.reason || coalesce(': ' || nullif(h.detail, ''), '') || coalesce(' (batch ' || h.batch || ')', '') end as detail
  from sync.changes c
  left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
  left join sync.edits l on l.team_id = c.team_id and l.user_id = c.user_id and l.field = f.field and l.ended_at is null
    and l.edit_id = (c.edits ->> f.field)::bigint
  left join sync.edits o on o.team_id = c.team_id and o.edit_id = (c.edits ->> f.field)::bigint and o.ended_at is not null
  left join sync.held_fields h on h.team_id = l.team_id and h.user_id = l.user_id and h.field = l.field and h.decision is null
    and (h.edit_id = l.edit_id or h.reason = 'asked' and h.until > clock_timestamp())
  left join sync.absences a on f.field is null and a.team_id = c.team_id and a.resource = 'users' and a.id = c.user_id
    and a.verdict = 'approved'
  left join lateral (
    select s.state, s.outcome ->> f.field as outcome from sync.changes s
    where s.team_id = l.team_id and s.user_id = l.user_id and s.state = 'open' and s.kind = 'push'
      and (s.edits ->> f.field)::bigint = l.edit_id limit 1
  ) p on true
  where c.kind in ('approve', 'reject', 'resolve', 'undo')
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.decisions is 'What people decided about what was held, and what became of it: a row per field of a user (change_id, field).';
comment on column report.decisions.decision is 'approve: it may pass. reject: it is not sent. resolve: which value it is to have. undo: one of these was taken back, and it is undecided again.';
comment on column report.decisions.decision_id is 'Number of the decision: what was decided at once has the same. What "musterd undo --decision" is given.';
comment on column report.decisions.edit_id is 'The edit that it is about; empty: none, or it is from before edits had numbers.';
comment on column report.decisions.state is 'What became of the edit by now. confirmed: both sides have it. waiting: it is sent by the next run, or is being sent. unknown: it was sent, and not answered. refused: the service does not take it. void: what was approved is held again. held: it waits, or was rejected. withdrawn: it was taken back or edited again. Empty: nobody knows.';
comment on column report.decisions.detail is 'Why, in words.';

-- Whoever may read the view needs the right to the columns that it reads now.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v
    cross join lateral aclexplode(v.relacl) a
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where v.oid = 'report.decisions'::regclass
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
