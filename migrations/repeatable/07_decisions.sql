-- Decides about the edits or the missing rows of a batch, but only about those that have not changed since they were held.
create or replace function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint, only_edits bigint[])
returns setof sync.decided_edit
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  hash     constant text := lower(decide.batch);
  verb     constant text := case when decide.approves then 'approve' else 'reject' end;
  decider  constant text := sync.decider();
  number   constant bigint := sync.new_decision();
  teams    bigint[];
  missing  text;
  stranger text;
  seen     jsonb;
  own      bigint[];
begin
  perform sync.require_approver();
  -- Waits for a run that is writing these rows, because the run may move some of them to another batch.
  perform from sync.absences a
  where a.batch = hash and (decide.team is null or a.team_id = decide.team) and sync.session_sees(a.team_id)
  order by a.team_id, a.resource, a.id for update;
  select array_agg(distinct w.team_id), min(w.resource) into teams, missing
  from (
    select h.team_id, null as resource from sync.held_fields h where h.batch = hash and h.decision is distinct from 'rejected'
    union all select a.team_id, a.resource from sync.absences a where a.batch = hash
  ) w
  where (decide.team is null or w.team_id = decide.team) and sync.session_sees(w.team_id);
  if teams is null then
    raise exception 'There is no held batch %', decide.batch
      using errcode = 'no_data_found', hint = 'Run "musterd status", or select from report.held and report.missing, to see the batches that wait.';
  end if;
  if cardinality(teams) > 1 then
    raise exception 'Batch % exists in % teams', decide.batch, cardinality(teams)
      using errcode = 'invalid_parameter_value', hint = 'Name the team, such as team => 41.';
  end if;
  select o.what into stranger
  from (
    select 'User ' || u.id as what, u.id, null::bigint as edit_id from unnest(decide.only_users) as u (id)
    union all select 'Edit ' || e.edit_id, null, e.edit_id from unnest(decide.only_edits) as e (edit_id)
  ) o
  where not exists (
    select from sync.held_fields h
    where h.team_id = teams[1] and h.batch = hash and h.decision is distinct from 'rejected' and (h.user_id = o.id or h.edit_id = o.edit_id)
  ) and not exists (select from sync.absences a where a.team_id = teams[1] and a.batch = hash and a.id = o.id)
  limit 1;
  if stranger is not null then
    raise exception '% is not in batch %', stranger, decide.batch using errcode = 'invalid_parameter_value';
  end if;

  if missing is not null then
    return query
    with named as materialized (
      select a.team_id, a.resource, a.id, decide.only_users is null or a.id = any (decide.only_users) as is_chosen
      from sync.absences a where a.team_id = teams[1] and a.batch = hash
    ),
    written as (
      update sync.absences a set
        verdict = case when n.is_chosen then 'approved' else 'left' end, batch = case when not n.is_chosen then a.batch end,
        detail = case when not n.is_chosen then a.detail end, withheld_at = case when not n.is_chosen then a.withheld_at end,
        decided_at = clock_timestamp(), decided_by = decider, decided_role = session_user, decided_why = coalesce(decide.reason, '')
      from named n
      where decide.approves and (a.team_id, a.resource, a.id) = (n.team_id, n.resource, n.id)
    ),
    recorded as (
      insert into sync.changes (team_id, user_id, kind, closed_at, decided_by, decided_role, decided_why, batch, decision_id)
      select n.team_id, n.id, 'approve', clock_timestamp(), decider, session_user, coalesce(decide.reason, ''), hash, number
      from named n where decide.approves and n.is_chosen and n.resource = 'users' order by n.id
    )
    select null::bigint, n.id, n.resource, case when decide.approves then 'waiting' else 'held' end, null::text,
      case when decide.approves and missing = 'users' then number end, case when decide.approves then 'approved' else 'left' end
    from named n where n.is_chosen order by n.id;
    return;
  end if;

  -- Wakes a listening daemon, because edits may be sent now. The update also makes a second decision wait for the first.
  update sync.due d set mark = null from sync.teams t where t.team_id = teams[1] and d.team = t.team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = teams[1];
  select coalesce(jsonb_agg(s.row), '[]') into seen
  from sync.held_fields h
  cross join lateral jsonb_build_object('user_id', h.user_id, 'field', h.field, 'edit_id', coalesce(h.edit_id, 0),
    'base', h.base_value, 'mirror', h.mirror_value, 'service', h.shown_value) s (row)
  where h.team_id = teams[1] and h.batch = hash and h.decision is distinct from 'rejected'
    and (decide.only_users is null or h.user_id = any (decide.only_users))
    and (decide.only_edits is null or h.edit_id = any (decide.only_edits));
  if decide.approves then
    select array_agg(distinct d.user_id order by d.user_id) into own
    from sync.decide_edits(verb, teams[1], seen, decide.reason, hash, only_shown => true) d where d.outcome = 'own';
  end if;
  if own is not null then
    raise exception '% edited, or may have edited, % of these users: %', decider, cardinality(own),
      array_to_string(own[1:10], ', ') || case when cardinality(own) > 10 then ', …' else '' end
      using errcode = 'invalid_parameter_value',
            hint = 'Another person must approve them (push.fourEyes). To approve only the other users, name them: only_users, or --only.';
  end if;
  return query select d.* from sync.decide_edits(verb, teams[1], seen, decide.reason, hash, decide.revert, number) d;
end
$$;
comment on function sync.decide(text,boolean,bigint[],text,boolean,bigint,bigint[]) is 'Approves or rejects the edits or the missing rows of a batch. sync.approve() and sync.reject() call it.';

create or replace function sync.approve(batch text, reason text default null, only_users bigint[] default null, only_edits bigint[] default null, team bigint default null)
returns setof sync.decided_edit
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide(batch, true, only_users, reason, false, team, only_edits)
$$;
comment on function sync.approve(text,text,bigint[],bigint[],bigint) is 'Lets the edits of a batch pass the limit or the review that holds them: all edits, those of only_users, or only_edits. An approval counts once, and only as long as the edit and the service''s value are as they were seen. It does not decide conflicts. It fails if the settings ask for four eyes and the person who decides made one of these edits. Returns for each edit its state now and the number of the decision, as in report.decisions, and the outcome: approved; moved: it is not as it was when it was held, and nothing was decided; ended: the edit has ended; on its way: it is being sent; asked, held: something else holds it; gone: the user has left. For a batch of missing rows, it confirms that they are gone, as long as they are missing and the settings ask for the same; rows that only_users leaves out continue to wait. user_id is then the id of the row, and field is users or the table of a listing.';

create or replace function sync.reject(batch text, reason text default null, revert boolean default false, only_users bigint[] default null,
  only_edits bigint[] default null, team bigint default null)
returns setof sync.decided_edit
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide(batch, false, only_users, reason, revert, team, only_edits)
$$;
comment on function sync.reject(text,text,boolean,bigint[],bigint[],bigint) is 'Decides that edits of a batch are not sent, whatever holds them: all edits, those of only_users, or only_edits. A rejection lasts as long as its edit. With revert, the mirror is set back to the values on which both sides last agreed. Returns what sync.approve() returns, also with these outcomes: rejected; on its way: it is being sent, and the outcome of the push shows what happened; left: there is nothing to reject, as with missing rows, which continue to wait until they are approved.';

create or replace function sync.withdraw(batch text default null, reason text default null)
returns setof sync.decided_edit
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select a.* from (
    select e.team_id, jsonb_agg(jsonb_build_object('user_id', e.user_id, 'field', e.field, 'edit_id', e.edit_id, 'mirror', e.new_value,
      'base', v.value, 'service', case when h.field is null then v.value else h.shown_value end)) as seen
    from sync.edits e
    left join sync.user_base b on b.team_id = e.team_id and b.id = e.user_id
    left join lateral (values {fields (FIELD, VALUE(b.))}) v (field, value) on v.field = e.field
    left join sync.held_fields h on h.team_id = e.team_id and h.user_id = e.user_id and h.field = e.field and h.edit_id = e.edit_id
    where e.ended_at is null and e.edited_by = session_user and sync.person(e.actor) is not distinct from sync.person(sync.actor())
      and (withdraw.batch is null or h.batch = lower(withdraw.batch)) and sync.session_sees(e.team_id)
    group by e.team_id
  ) t
  cross join lateral sync.decide_edits('withdraw', t.team_id, t.seen, reason, lower(withdraw.batch), true, sync.new_decision()) a
$$;
comment on function sync.withdraw(text,text) is 'Takes back the caller''s own edits that have not been sent, or those of them in a batch: the mirror is set back to the values on which both sides last agreed. The caller is the login and, if the session names one, the person for whom it acts (musterd.actor). Returns what sync.reject() returns.';

create or replace function sync.resolve(team_id bigint, user_id bigint, field text, take text, value text default null, reason text default null,
  edit_id bigint default null, seen_service text default null, part_of bigint default null)
returns setof sync.decided_edit
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing constant text := coalesce(current_setting('musterd.writing', true), '');
  as_run  constant text := coalesce(current_setting('musterd.run', true), '');
  -- The number of the decision: part_of if this transaction has made that decision, otherwise a new number.
  number  constant bigint := coalesce((select c.decision_id from sync.changes c
    where c.decision_id = resolve.part_of and c.kind = 'resolve' and c.xmin = pg_current_xact_id()::xid limit 1), sync.new_decision());
  -- The typed value in the form of sync.edits. A typed name has a bar between its halves, or mirror.split_name() splits it.
  given   constant jsonb := case when resolve.take <> 'value' then null
    when resolve.field = 'name' and resolve.value like '%|%' then jsonb_build_object(
      'first', btrim(split_part(resolve.value, '|', 1)), 'last', btrim(substr(resolve.value, strpos(resolve.value, '|') + 1)))
    when resolve.field = 'name' then mirror.split_name(resolve.value)
    else coalesce(case resolve.field when 'role_id' then to_jsonb(resolve.value::bigint) else to_jsonb(nullif(btrim(resolve.value), '')) end, 'null') end;
  h       sync.held_fields;
  agreed  sync.user_base;
  split   jsonb;
  now_at  jsonb;
  side    text := resolve.take;
  shown   jsonb;
  seen    jsonb;
  found   sync.decided_edit;
  waits   boolean := false;
begin
  perform sync.require_approver();
  if side not in ('mirror', 'service', 'value') or side is null then
    raise exception '"%" is not mirror, service or value', side using errcode = 'invalid_parameter_value';
  end if;
  -- A typed value is an edit by the person who decides. So this person needs the right to edit the field.
  if side = 'value' and not has_column_privilege(session_user, 'mirror.users', case resolve.field when 'name' then 'first_name' else resolve.field end, 'UPDATE') then
    raise exception '% may not edit %', session_user, resolve.field
      using errcode = 'insufficient_privilege', hint = 'An administrator grants the role musterd_editor, or musterd_role_editor for roles.';
  end if;
  -- Locks the rows in the order in which a run locks them, so that the two cannot deadlock.
  perform from mirror.users u where u.team_id = resolve.team_id and u.id = resolve.user_id and sync.session_sees(u.team_id) for update;
  select o.* into h from sync.held_fields o
  where o.team_id = resolve.team_id and o.user_id = resolve.user_id and o.field = resolve.field and sync.session_sees(o.team_id) for update;
  if h.field is null then
    raise exception 'The % of user % is not held', resolve.field, resolve.user_id
      using errcode = 'no_data_found', hint = 'Run "musterd held", or select from report.held, to see held fields. Edit other fields in mirror.users.';
  end if;
  select b.* into agreed from sync.user_base b where b.team_id = h.team_id and b.id = h.user_id;
  -- An empty shown value counts if the sides were compared, or the service showed a value before. Else base's value counts.
  shown := nullif(h.shown_value, 'null');
  if shown is null and h.reason not in ('conflict', 'limit', 'review') and coalesce(h.service_value, 'null') = 'null' then
    shown := to_jsonb(agreed) -> h.field;
  end if;
  split := case when h.field = 'name' and mirror.words(shown #>> '{}') <> mirror.words(agreed.first_name || ' ' || agreed.last_name)
    then mirror.split_name(shown #>> '{}') end;
  agreed := jsonb_populate_record(agreed, case when h.field <> 'name' then jsonb_build_object(h.field, nullif(shown, '""')) else jsonb_strip_nulls(jsonb_build_object(
    'name', coalesce(shown, '""'), 'first_name', split -> 'first', 'last_name', split -> 'last')) end);
  now_at := case h.field when 'name' then jsonb_build_object('first', agreed.first_name, 'last', agreed.last_name) else coalesce(to_jsonb(agreed) -> h.field, 'null') end;
  side := case when side <> 'value' then side when given = coalesce(h.mirror_value, 'null') then 'mirror' when given = now_at then 'service' else side end;
  -- If the person saw another value of the service, edit 0 is named. It does not exist, so the decision has no effect.
  seen := jsonb_build_array(jsonb_build_object('user_id', h.user_id, 'field', h.field, 'base', h.base_value, 'mirror', h.mirror_value,
    'service', shown, 'sends', side = 'mirror', 'edited', side = 'value',
    'edit_id', case when resolve.seen_service <> coalesce(h.shown_value #>> '{}', '') then 0 else coalesce(resolve.edit_id, h.edit_id) end));
  select d.* into found from sync.decide_edits('resolve', h.team_id, seen, resolve.reason, revert => side = 'service', only_shown => true) d;
  if found.outcome <> 'resolved' then
    return next found;
    return;
  end if;
  -- Makes the triggers check the typed value and record who typed it, whatever the session has set.
  perform set_config('musterd.writing', '', true), set_config('musterd.run', '', true);
  -- The base gets the service's value. Not needed if an existing edit is sent over a value that the service has shown.
  if side <> 'mirror' or h.edit_id is null or shown is null then
    seen := case side when 'mirror' then jsonb_set(seen, '{0,base}', now_at) else seen end;
    -- The split of a name from the service is a guess, because the service shows the joined name only.
    update sync.edits e set old_split = 'guessed'
    where split is not null and e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null;
    update sync.user_base b set name = agreed.name, {columns COLUMN = agreed.COLUMN}, agreed_at = clock_timestamp()
    where b.team_id = h.team_id and b.id = h.user_id;
  end if;
  update mirror.users u set name_split = 'known', first_name = coalesce(given ->> 'first', u.first_name), last_name = coalesce(given ->> 'last', u.last_name)
  where h.field = 'name' and (side = 'value' or side = 'mirror' and u.name_split = 'guessed') and u.team_id = h.team_id and u.id = h.user_id;
  if side = 'value' then
    -- The typed value is held, too, if a limit on the whole run or a review held the old value, or four eyes are required.
    waits := h.reason in ('limit', 'review') and not h.alone and h.decision is distinct from 'rejected'
      or coalesce((select t.four_eyes from sync.teams t where t.team_id = h.team_id), false);
    delete from sync.held_fields o where not waits and o.team_id = h.team_id and o.user_id = h.user_id and o.field = h.field;
    update mirror.users u set (email, phone, role_id) = (select p.email, p.phone, p.role_id from jsonb_populate_record(u, jsonb_build_object(h.field, given)) p)
    where h.field <> 'name' and u.team_id = h.team_id and u.id = h.user_id;
    update sync.held_fields o set reason = case o.reason when 'review' then o.reason else 'limit' end, alone = false, decision = null, batch = null,
      detail = 'a person entered this value in a decision about the field', mirror_value = given, edit_id = sync.find_edit(o.team_id, o.user_id, o.field),
      base_value = now_at, service_value = shown, shown_value = shown
    where waits and o.team_id = h.team_id and o.user_id = h.user_id and o.field = h.field;
    seen := jsonb_set(jsonb_set(seen, '{0,mirror}', given), '{0,passes}', 'false');
  end if;
  update sync.due d set mark = null from sync.teams t where t.team_id = h.team_id and d.team = t.team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = h.team_id;
  return query
  select d.edit_id, d.user_id, d.field, case when waits then 'held' else d.state end,
    case when waits then 'a person must approve the entered value' else d.detail end, d.decision_id, d.outcome
  from sync.decide_edits('resolve', h.team_id, seen, resolve.reason, h.batch, side = 'service', number) d;
  perform set_config('musterd.writing', writing, true), set_config('musterd.run', as_run, true);
end
$$;
comment on function sync.resolve(bigint,bigint,text,text,text,text,bigint,text,bigint) is 'Decides about one held field, whatever holds it. take: mirror, the mirror''s value is sent; service, the mirror gets the service''s value; value, both sides get the given value, which is an edit by the person who decides and needs the right to edit. edit_id: the edit that is meant; by default, the edit that is held now. seen_service: the service''s value that the person saw; by default, the value that a run last saw. part_of: the number of a decision of this function in the same transaction, of which this is a part. Returns what sync.approve() returns, and the outcome resolved.';

-- Fails while a run is under way, and lets no run begin before the commit. Cancels a decision that let a held edit pass.
create or replace function sync.hold(team_id bigint, user_id bigint, until timestamptz, reason text default null, only_fields text[] default null)
returns table (field text, held_before text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  found_team constant text := (select t.team from sync.teams t where t.team_id = hold.team_id and sync.session_sees(t.team_id));
begin
  perform sync.require_approver(anybody => true), set_config('idle_in_transaction_session_timeout', '10s', true);
  if hold.until not between clock_timestamp() and clock_timestamp() + interval '100 years' then
    raise exception 'A hold must end in the future and within 100 years, not at %', hold.until using errcode = 'invalid_parameter_value';
  end if;
  if found_team is null or not coalesce(only_fields <@ array[{fields FIELD}], true) or not exists (
    select from mirror.users u where u.team_id = hold.team_id and u.id = hold.user_id and (hold.until is null or u.gone_at is null)) then
    raise exception 'User % is not in team %, or a field is unknown; the fields are %', hold.user_id, hold.team_id, array_to_string(array[{fields FIELD}], ', ') using errcode = 'no_data_found';
  end if;
  insert into sync.leases as l (team, lease_id, host, pid, process, taken_at, expires_at)
  values (found_team, gen_random_uuid(), '', pg_backend_pid(), '', clock_timestamp(), clock_timestamp() + interval '1 min')
  on conflict (team) do update set lease_id = excluded.lease_id, expires_at = excluded.expires_at where l.expires_at <= clock_timestamp();
  if not found then
    raise exception 'A run of team "%" is under way', found_team using errcode = 'object_in_use', hint = 'Call sync.hold() again in a moment.';
  end if;
  return query
  with ended as (
    update sync.held_fields h set until = null
    where hold.until is null and h.team_id = hold.team_id and h.user_id = hold.user_id and (h.reason = 'asked' or h.until > clock_timestamp())
      and (only_fields is null or h.field = any (only_fields))
    returning h.field
  ), held as (
    insert into sync.held_fields as h (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, until, asked_by, asked_why)
    select u.team_id, u.id, f.field, 'asked', f.base_value, f.mirror_value, s.shown, s.shown, hold.until, sync.decider(), coalesce(hold.reason, '')
    from mirror.users u
    left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    cross join lateral (values {fields (FIELD, VALUE(b.), VALUE(u.))}) as f (field, base_value, mirror_value)
    cross join lateral (select case f.field when 'name' then to_jsonb(b.name) else f.base_value end as shown) s
    where hold.until is not null and u.team_id = hold.team_id and u.id = hold.user_id and (only_fields is null or f.field = any (only_fields))
    on conflict (team_id, user_id, field) do update set until = excluded.until, asked_by = excluded.asked_by, asked_why = excluded.asked_why,
      decision = case when h.decision = 'rejected' then h.decision end,
      detail = case when h.decision in ('approved', 'spent') then 'the decision about it was taken back' else h.detail end,
      reason = case when h.decision in ('approved', 'spent') and h.reason = 'unsupported' then 'limit' else h.reason end
    returning h.field, nullif(sync.held_because(h.reason, h.decision, null), 'asked') as before
  )
  select e.field, null from ended e union all select h.field, h.before from held h;
  delete from sync.held_fields h where hold.until is null and h.team_id = hold.team_id and h.user_id = hold.user_id and h.reason = 'asked' and h.until is null;
  delete from sync.leases l where l.team = found_team;
  update sync.due d set mark = null where d.team = found_team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team = found_team;
end
$$;
comment on function sync.hold(bigint,bigint,timestamp with time zone,text,text[]) is 'Holds all four fields of a user, or only_fields, on both sides until that time, even if they are held already. With NULL, it ends such holds, and what held a field before holds it again. Returns the fields, and what else holds each of them. Fails with object_in_use while a run is under way; no run begins before its transaction ends.';

create or replace function sync.held_because(reason text, decision text, until timestamptz) returns text
language sql stable parallel safe
return case when until > clock_timestamp() then 'asked' when decision = 'rejected' then decision else reason end;
comment on function sync.held_because(text,text,timestamp with time zone) is 'Why a field is held, as in report.held. asked: a person asked to hold it, and that time is not over. rejected: a person rejected the edit. Otherwise the reason of the hold.';

-- Makes all decisions about edits. The outcome depends on the edit now, and on the values that the person who decides saw:
--
-- | the edit                                          | approve    | resolve    | reject         |
-- |---------------------------------------------------|------------|------------|----------------|
-- | is of a user who has left                         | gone       | gone       | gone           |
-- | is of a field that a person asked to hold         | asked      | asked      | asked          |
-- | is being sent                                     | on its way | on its way | on its way (†) |
-- | was rejected                                      | held       | ·          | held (§)       |
-- | is held for another reason than a limit or review | held       | ·          | rejected       |
-- | has ended, and the field has no other edit        | ended      | ended      | ended          |
-- | was replaced by another edit, or is not on record | moved      | moved      | moved          |
-- | has not ended; base or service has changed since  | moved      | ·          | rejected       |
-- | is or may be the decider's own, with four eyes    | own        | own (‡)    | ·              |
-- | has not ended; nothing has changed since          | approved   | resolved   | rejected       |
--
-- † If the edit does not arrive, it is rejected: requests that have not been sent leave it out, and it is not sent again.
--   The mirror is not set back while another edit of the field is being sent, because that edit may arrive.
-- ‡ Only if the mirror's value was chosen. § The author of the edit can withdraw it nevertheless.
--
-- seen has a row for each edit: user_id, field, edit_id (by default the edit with this value), base, mirror and service.
-- sends: false if the mirror's value was not chosen. passes: false if the caller has carried out the decision already, so
-- that it is only recorded. edited: true if the person who decides gave the field a value that neither side had.
create or replace function sync.decide_edits(verb text, team bigint, seen jsonb, reason text, batch text default null, revert boolean default false,
  number bigint default null, waits text default 'limit', only_shown boolean default false)
returns setof sync.decided_edit
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing   constant text := coalesce(current_setting('musterd.writing', true), '');
  as_run    constant text := coalesce(current_setting('musterd.run', true), '');
  decider   constant text := sync.decider();
  done_word constant text := case decide_edits.verb when 'approve' then 'approved' when 'resolve' then 'resolved' else 'rejected' end;
  mine      constant bigint := case when not only_shown then coalesce(decide_edits.number, sync.new_decision()) end;
begin
  if not only_shown then
    perform sync.require_approver(anybody => decide_edits.verb = 'withdraw');
    -- Locks the rows in the order in which a run locks them: users, then held fields.
    if decide_edits.revert then
      perform from mirror.users u
      where u.team_id = decide_edits.team and u.id in (select (s ->> 'user_id')::bigint from jsonb_array_elements(decide_edits.seen) s)
      order by u.id for update;
    end if;
    perform from sync.held_fields h
    where h.team_id = decide_edits.team and (h.user_id, h.field) in (
      select s.user_id, s.field from jsonb_to_recordset(decide_edits.seen) as s (user_id bigint, field text))
    order by h.user_id, h.field for update;
    -- A value that is set back was valid before, so no trigger has to check it. It is not recorded as part of a run.
    perform set_config('musterd.writing', 'on', true), set_config('musterd.run', '', true);
  end if;
  return query
  with judged as materialized (
    select s.user_id, s.field, s.edit_id as named, s.base, s.mirror, s.service, s.passes, x.edit_id, l.old_split, s.edited, x.is_sent,
      x.is_there, h.reason, h.detail, h.decision, h.batch, h.alone, h.place as hold_place, u.place as user_place, case
        when not coalesce(s.passes, true) then done_word
        when u.id is null or u.gone_at is not null then 'gone'
        when h.until > clock_timestamp() then 'asked'
        when x.is_sent and (decide_edits.verb <> 'reject' or x.edit_id is not null) then 'on its way'
        when x.is_there and (decide_edits.verb in ('approve', 'reject') and h.decision = 'rejected'
          or decide_edits.verb = 'approve' and h.decision is null
            and (h.reason not in ('limit', 'review') or case when h.alone then h.batch is distinct from decide_edits.batch else h.batch = decide_edits.batch and h.shown_value is distinct from h.service_value end)) then 'held'
        when s.edit_id is not null and x.edit_id is null then case when l.edit_id is null then 'ended' else 'moved' end
        when v.mirror_value is distinct from s.mirror then 'moved'
        when b.id is null and (decide_edits.revert or decide_edits.verb <> 'reject') then 'moved'
        when decide_edits.verb in ('reject', 'withdraw') then 'rejected'
        when decide_edits.verb = 'approve' and (v.base_value is distinct from s.base
          or x.is_there and h.batch = decide_edits.batch and h.service_value is distinct from h.shown_value) then 'moved'
        when decide_edits.verb = 'approve' and v.mirror_value is not distinct from v.base_value then 'ended'
        when coalesce(s.sends, true) and (select t.four_eyes from sync.teams t where t.team_id = decide_edits.team)
          and sync.is_own(case when x.edit_id is null then '{""}' else l.authors end) then 'own'
        else done_word
      end as outcome
    from jsonb_to_recordset(decide_edits.seen) as s (user_id bigint, field text, edit_id bigint, base jsonb, mirror jsonb, service jsonb,
      sends boolean, passes boolean, edited boolean)
    left join lateral (select *, o.ctid as place from mirror.users o where o.team_id = decide_edits.team and o.id = s.user_id offset 0) u on true
    left join lateral (select * from sync.user_base o where o.team_id = decide_edits.team and o.id = s.user_id offset 0) b on true
    left join lateral (
      select *, o.ctid as place from sync.held_fields o where o.team_id = decide_edits.team and o.user_id = s.user_id and o.field = s.field offset 0
    ) h on true
    left join lateral (
      select * from sync.edits o where o.team_id = decide_edits.team and o.user_id = s.user_id and o.field = s.field and o.ended_at is null offset 0
    ) l on true
    left join lateral (values {fields (FIELD, VALUE(u.), VALUE(b.))}) as v (field, mirror_value, base_value) on v.field = s.field
    cross join lateral (
      select case when case when s.edit_id is null then l.new_value is not distinct from s.mirror else l.edit_id = s.edit_id end
        then l.edit_id end as edit_id
    ) m
    cross join lateral (
      select m.edit_id, h.field is not null and (decide_edits.verb = 'resolve' or h.edit_id = coalesce(s.edit_id, m.edit_id)) as is_there,
        exists (
          select from sync.changes c
          where c.team_id = decide_edits.team and c.user_id = s.user_id and c.state = 'open'
            and (decide_edits.revert and c.new ? s.field or (c.edits ->> s.field)::bigint = coalesce(s.edit_id, m.edit_id))
            and (coalesce(c.outcome ->> s.field, 'unknown') = 'unknown' or c.closed_at is not null)
        ) as is_sent
    ) x
  ),
  done as materialized (
    select j.*, coalesce(case when coalesce(j.passes, true) then j.edit_id end, sync.find_edit(decide_edits.team, j.user_id, j.field),
      nullif(j.named, 0)) as edit
    from judged j
    where not only_shown and (j.outcome = done_word or decide_edits.verb = 'reject' and j.outcome = 'on its way')
      and not (decide_edits.verb = 'approve' and j.is_there and j.decision is not distinct from 'approved' and j.batch is not distinct from decide_edits.batch)
  ),
  given as materialized (
    select d.* from done d where decide_edits.revert and not d.is_sent
  ),
  -- Rows are found by key or place: without statistics, Postgres would join by comparing each row with each.
  withdrawn as (
    update mirror.users u set
      {columns COLUMN = case when FIELD = any (r.fields) then b.COLUMN else u.COLUMN end},
      name_split = case when 'name' = any (r.fields) then coalesce(r.split, 'guessed') else u.name_split end,
      edited_at = clock_timestamp(), edited_by = session_user
    from (
      select g.user_id, g.user_place, array_agg(g.field) as fields, max(g.old_split) filter (where g.field = 'name') as split from given g group by g.user_id, g.user_place
    ) r
    cross join lateral (select * from sync.user_base o where o.team_id = decide_edits.team and o.id = r.user_id offset 0) b
    where u.ctid = r.user_place
  ),
  ended as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
    where e.ended_at is null and e.edit_id = any (array(select g.edit from given g))
  ),
  freed as (
    delete from sync.held_fields h where h.ctid = any (array(select g.hold_place from given g))
  ),
  written as (
    insert into sync.held_fields as h (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value,
      detail, batch, decision, alone)
    select decide_edits.team, d.user_id, d.field, d.edit, case when d.is_there then d.reason else decide_edits.waits end,
      d.base, d.mirror, d.service, d.service,
      case when decide_edits.verb = 'reject' then coalesce(decide_edits.reason, '') when d.is_there then d.detail else 'confirmed by its editor' end,
      case decide_edits.verb when 'approve' then decide_edits.batch else d.batch end, case decide_edits.verb when 'reject' then done_word else 'approved' end,
      d.is_there and d.alone
    from done d
    where coalesce(d.passes, true) and (d.is_sent or not decide_edits.revert)
    on conflict (team_id, user_id, field) do update set edit_id = excluded.edit_id, reason = excluded.reason,
      base_value = excluded.base_value, mirror_value = excluded.mirror_value, service_value = excluded.service_value,
      shown_value = excluded.shown_value, detail = excluded.detail, batch = excluded.batch, decision = excluded.decision, alone = excluded.alone,
      until = null
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role,
      decided_why, batch, decision_id)
    select decide_edits.team, d.user_id, case decide_edits.verb when 'withdraw' then 'reject' else decide_edits.verb end, jsonb_object_agg(d.field, d.base), jsonb_object_agg(d.field, d.service),
      jsonb_object_agg(d.field, d.mirror), jsonb_strip_nulls(jsonb_object_agg(d.field, d.edit)),
      coalesce(jsonb_object_agg(d.field, case when d.edited then 'edited' else 'withdrawn' end)
        filter (where d.edited or decide_edits.revert and not d.is_sent), '{}'), clock_timestamp(),
      decider, session_user, coalesce(decide_edits.reason, ''), decide_edits.batch, mine
    from done d group by d.user_id
  )
  select nullif(j.named, 0), j.user_id, j.field,
    case when decide_edits.revert and j.outcome in ('rejected', 'resolved') or j.outcome = 'moved' and j.named <> 0 and j.edit_id is null then 'ended' else w.state end, w.detail,
    case when exists (select from done) then mine end, j.outcome
  from judged j
  join (values ('approved', 'waiting', null), ('resolved', 'waiting', null), ('rejected', 'rejected', null), ('on its way', 'sending', 'the push reports its outcome'),
    ('moved', 'held', 'it has changed since it was held'), ('ended', 'ended', 'it is no longer an edit'), ('asked', 'held', 'it is held on request'),
    ('held', 'held', 'it is held for another reason'), ('gone', 'held', 'the user has left'),
    ('own', 'held', 'somebody else has to approve it')) w (outcome, state, detail) on w.outcome = j.outcome
  order by j.user_id, j.field;
  if not only_shown then
    perform set_config('musterd.writing', writing, true), set_config('musterd.run', as_run, true);
  end if;
end
$$;
comment on function sync.decide_edits(text,bigint,jsonb,text,text,boolean,bigint,text,boolean) is 'Approves, rejects or resolves edits as they were seen, or with only_shown returns the outcomes without deciding. sync.approve(), sync.reject() and the commands that decide call it.';
