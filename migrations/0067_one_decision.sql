-- One function decides about edits, whoever asks. And a held field has a column for each thing: why it waits (reason), what a
-- person decided (decision), and until when somebody asked to hold it (until), which lies over the other two and leaves them
-- as they were. Who decided stands in the ledger alone.

-- Who rejected an edit is found there by the edit.
update sync.changes c set edits = coalesce(c.edits, '{}') || n.edits
from (
  select r.change_id, jsonb_object_agg(h.field, h.edit_id) as edits
  from sync.held_fields h
  cross join lateral (
    select max(k.change_id) as change_id from sync.changes k
    where k.team_id = h.team_id and k.user_id = h.user_id and k.kind = 'reject' and k.new ? h.field
  ) r
  where h.reason = 'rejected' and h.edit_id is not null group by r.change_id
) n
where c.change_id = n.change_id;
alter table sync.changes drop constraint changes_user_check,
  add constraint changes_user_check check (user_id is not null or kind in ('place', 'approve'));
comment on column sync.changes.user_id is 'The user whose fields moved; NULL: it is about the mirror itself, or a person approved that many users lack a field.';
insert into sync.changes (team_id, user_id, kind, base, old, new, edits, opened_at, closed_at, decided_by, decided_why, batch, decision_id)
select h.team_id, h.user_id, case when h.user_id is null then 'approve' else 'reject' end, jsonb_build_object(h.field, h.base_value),
  jsonb_build_object(h.field, h.shown_value), jsonb_build_object(h.field, h.mirror_value),
  jsonb_strip_nulls(jsonb_build_object(h.field, h.edit_id)), h.decided_at, h.decided_at, h.decided_by, h.decided_why, h.batch,
  sync.new_decision()
from sync.held_fields h
where h.decided_at is not null and case when h.user_id is null then h.decision is not null else h.reason = 'rejected' and not exists (
  select from sync.changes c
  where c.team_id = h.team_id and c.user_id = h.user_id and c.kind = 'reject' and (c.edits ->> h.field)::bigint = h.edit_id) end;
insert into sync.learned (team, topic, value, learned_at)
select t.team, 'refusal told', '{}', max(h.told_at) from sync.held_fields h join sync.teams t using (team_id)
where h.told_at is not null group by t.team;
alter table sync.held_fields drop constraint held_fields_reason_check, drop constraint held_fields_decision_check,
  add column asked_by text, add column asked_why text;
update sync.held_fields h set
  asked_why = case when h.reason = 'asked' then h.detail end,
  detail = case when h.reason <> 'asked' then h.detail when h.batch is null then '' else 'was held on request for a while' end,
  decision = case when h.reason = 'rejected' then h.reason when h.decision = 'resolved' or h.reason <> 'limit' or h.batch is not null
    then replace(h.decision, 'resolved', 'approved') end,
  reason = case when h.reason = 'rejected' or h.reason = 'asked' and h.batch is not null then coalesce(h.batch_reason, 'limit') else h.reason end;

-- Why a field is held, as it is told.
create function sync.held_because(reason text, decision text, until timestamptz) returns text
language sql stable parallel safe
return case when until > clock_timestamp() then 'asked' when decision = 'rejected' then decision else reason end;
comment on function sync.held_because(text, text, timestamptz) is 'Why a field is held, as report.held tells it: that somebody asked to hold the field for a while, that a person rejected the edit, or else what held it.';
grant execute on function sync.held_because(text, text, timestamptz) to public;

-- With what comes back, and who asked; a hold that is over and leaves nothing is not there any more.
create or replace view report.held with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.reason, v.base_value, v.mirror_value, v.service_value,
  case when v.reason = 'asked' then coalesce(v.asked_why, '') else v.detail end
    || case when v.batch is not null and v.reason in ('limit', 'review') and v.service_value is distinct from v.service_value_then
            then '; the service has changed it since' else '' end as detail,
  v.since, v.run_id, case when v.reason = 'asked' then v.until end as until, v.mirror_value_then, v.service_value_then,
  v.batch, v.decided_at, v.decided_by, v.decided_why,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
  mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
  mirror.field_text(v.service_value_then) as service_text_then, v.edit_id, v.name as user_name,
  case when v.reason = 'asked' then nullif(v.beneath, 'asked') end as held_before, case when v.reason = 'asked' then v.asked_by end as asked_by
from (
  select h.team_id, h.user_id, u.name, h.field, sync.held_because(h.reason, h.decision, h.until) as reason, h.base_value,
    case when u.id is not null then
      case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                   when 'email' then to_jsonb(u.email)
                   when 'phone' then to_jsonb(u.phone)
                   when 'role_id' then to_jsonb(u.role_id) end
    end as mirror_value,
    h.shown_value as service_value, h.detail, h.since, h.run_id, h.until, h.asked_by, h.asked_why,
    sync.held_because(h.reason, h.decision, null) as beneath, h.mirror_value as mirror_value_then, h.service_value as service_value_then,
    case when h.decision is null then h.batch end as batch, c.closed_at as decided_at, c.decided_by, c.decided_why, h.edit_id
  from sync.held_fields h
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  left join lateral (
    select r.closed_at, r.decided_by, r.decided_why from sync.changes r
    where (h.decision = 'rejected' or h.shown_value is distinct from h.service_value)
      and r.team_id = h.team_id and r.user_id = h.user_id and r.decision_id is not null and (r.edits ->> h.field)::bigint = h.edit_id
    order by r.change_id desc limit 1
  ) c on true
  where h.decision is distinct from 'approved' and not (h.reason = 'asked' and h.until <= clock_timestamp())
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.held.held_before is 'Where a person asked for the hold: why the field was held before, and will be again when that is over; empty: it was not.';
comment on column report.held.asked_by is 'Who asked for the hold; empty: nobody, or it is not known.';

create or replace view report.pending with (security_invoker) as
select v.*, mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text, v.name as user_name from (
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
    select h.team_id, h.user_id, h.field, r.reason, h.batch is not null and r.reason in ('limit', 'review') as is_refused
    from sync.held_fields h cross join lateral (select sync.held_because(h.reason, h.decision, h.until)) r (reason)
    where h.decision is distinct from 'approved'
  ) w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());

comment on column report.held.decided_at is 'When a person rejected it, or approved it before the service changed it.';
alter table sync.held_fields
  drop column batch_reason, drop column told_at, drop column decided_at, drop column decided_by, drop column decided_why,
  add constraint held_fields_reason_check check (reason in
    ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'limit', 'review', 'asked')),
  add constraint held_fields_decision_check check (decision in ('approved', 'rejected')),
  add constraint asker_has_at_most_300_characters check (char_length(asked_by) <= 300);
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it cannot be sent. gone: the user has left. limit: the guard stopped it, alone or in a batch. review: a person wants to see it first. asked: somebody asked for it, and nothing else holds it.';
comment on column sync.held_fields.batch is 'What was stopped together: first 12 hex digits of the SHA-256 of its edits, and of what was seen of the service. It stays with the edit, whatever else holds the field meanwhile and whatever is decided about it; another edit of the field does not inherit it.';
comment on column sync.held_fields.until is 'Somebody asked to hold the field until then, whatever else holds it, which comes back afterwards.';
comment on column sync.held_fields.asked_by is 'Who asked for that; NULL: not known. Without meaning where nobody asks for it.';
comment on column sync.held_fields.asked_why is 'Why, in words. Without meaning where nobody asks for it.';
comment on column sync.held_fields.decision is 'approved: the edit passes what held it: the limits on a whole run if it is in a batch, else those on single fields too. For this edit alone, and as long as the service is as it was seen. rejected: it is not sent for as long as this edit lasts, whatever the service does. Who decided, and why, is in sync.changes. NULL: nobody has decided.';

-- What people decided about what waits, and what became of it.
create or replace view report.decisions with (security_invoker) as
select v.*, v.name as user_name from (
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
           when r.reason is null or p.state = 'open' then 'waiting'
           when r.reason = 'refused' then 'refused'
           when c.kind in ('approve', 'resolve') then 'void'
           else 'held' end as state,
         case
           when o.ended_how = 'overruled' then 'the value of the service was taken in its place'
           when o.ended_how = 'replaced' then 'somebody has edited the field again'
           when o.ended_how = 'forgotten' then 'the user is in the team no longer'
           when o.ended_how = 'withdrawn' then 'it was taken back here'
           when p.outcome = 'unknown' then 'it was sent, and no answer came: a run reads it back'
           when p.state = 'open' then 'it is being sent'
           when r.reason is not null then r.reason || coalesce(': ' || nullif(case r.reason when 'asked' then h.asked_why else h.detail end, ''), '')
             || coalesce(' (batch ' || case when h.decision is null then h.batch end || ')', '') end as detail
  from sync.changes c
  left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
  left join sync.edits l on l.team_id = c.team_id and l.user_id = c.user_id and l.field = f.field and l.ended_at is null
    and l.edit_id = (c.edits ->> f.field)::bigint
  left join sync.edits o on o.team_id = c.team_id and o.edit_id = (c.edits ->> f.field)::bigint and o.ended_at is not null
  left join sync.held_fields h on h.team_id = l.team_id and h.user_id = l.user_id and h.field = l.field
    and h.decision is distinct from 'approved' and (h.edit_id = l.edit_id or h.until > clock_timestamp())
  left join lateral (select sync.held_because(h.reason, h.decision, h.until)) r (reason) on true
  left join sync.absences a on f.field is null and a.team_id = c.team_id and a.resource = 'users' and a.id = c.user_id
    and a.verdict = 'approved'
  left join lateral (
    select s.state, s.outcome ->> f.field as outcome from sync.changes s
    where s.team_id = l.team_id and s.user_id = l.user_id and s.state = 'open' and s.kind = 'push'
      and (s.edits ->> f.field)::bigint = l.edit_id limit 1
  ) p on true
  where c.kind in ('approve', 'reject', 'resolve', 'undo') and c.user_id is not null
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());

-- Whoever edits pays for one index: an edit that lasts is found by its user, and has its place in the others when it ends.
alter table sync.edits drop constraint edits_pkey;
create index edits_over_by_transaction on sync.edits (xid) where ended_at is not null;
comment on index sync.edits_over_by_transaction is 'What became of the edits of a transaction.';

-- Which halves of a name a statement sets is the same for all its rows, and is noted once. As in 0061, a setting is as dear as
-- a row of sync.edits.
drop trigger a_first_half on mirror.users;
drop trigger b_last_half on mirror.users;
create or replace function mirror.note_half() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('musterd.halves', case when tg_argv[0] <> 'none' then concat(current_setting('musterd.halves', true), tg_argv[0]) end, true);
  return null;
end
$$;
create trigger a_no_half before update on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('none');
create trigger b_first_half before update of first_name on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('first');
create trigger c_last_half before update of last_name on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('last');
comment on trigger a_no_half on mirror.users is 'Forgets which halves of a name the statement before set.';
comment on trigger b_first_half on mirror.users is 'Notes that a statement sets the first name.';
comment on trigger c_last_half on mirror.users is 'Notes that a statement sets the last name.';
do $$
declare
  body constant text := pg_get_functiondef('mirror.check_user_edit()'::regprocedure);
begin
  execute replace(body, E'  if named <> '''' then\n    perform set_config(''musterd.halves'', '''', true);\n  end if;\n', '');
end
$$;

-- Transition tables have no statistics, and sync.edits grows while it is read: a nested loop over two of the former, or a
-- scan of the latter for each row, would take seconds for 10,000 rows. What has a key is looked up by it, and what ends is
-- found by its place; that it has not ended is asked of ended_how, since a look through the index of those that last would
-- seem cheaper while there are few. Runs as its owner, since editors may write nothing of sync.
create or replace function mirror.note_edits() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_nestloop = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  unknown     record;
  xid         constant xid8 := pg_current_xact_id();
  editor      constant text := session_user;
  application constant text := nullif(current_setting('application_name'), '');
  actor       constant text := sync.actor();
  names       constant text[] := array_remove(array[sync.person(editor), sync.person(actor)], null);
begin
  with changed as materialized (
    select n.team_id, n.id as user_id, o.name_split as old_split, n.name_split,
      o.first_name as old_first, n.first_name, b.first_name as base_first, o.last_name as old_last, n.last_name, b.last_name as base_last,
      o.email as old_email, n.email, b.email as base_email, o.phone as old_phone, n.phone, b.phone as base_phone,
      o.role_id as old_role, n.role_id, b.role_id as base_role, b.id is not null as is_known
    from edited n
    join unedited o on o.team_id = n.team_id and o.id = n.id
    left join lateral (
      select s.id, s.first_name, s.last_name, s.email, s.phone, s.role_id from sync.user_base s
      where s.team_id = n.team_id and s.id = n.id offset 0
    ) b on true
    where (n.first_name, n.last_name, n.name_split, n.email, n.phone, n.role_id)
      is distinct from (o.first_name, o.last_name, o.name_split, o.email, o.phone, o.role_id)
  ),
  touched as (
    select c.team_id, c.user_id, 'name' as field, c.old_split as split,
      jsonb_build_object('first', c.old_first, 'last', c.old_last) as old_value,
      jsonb_build_object('first', c.first_name, 'last', c.last_name) as new_value,
      (c.first_name, c.last_name) is not distinct from (c.base_first, c.base_last) as is_agreed,
      c.is_known and (c.old_first, c.old_last) is distinct from (c.base_first, c.base_last) as was_other
    from changed c where (c.first_name, c.last_name) is distinct from (c.old_first, c.old_last)
    union all
    select c.team_id, c.user_id, 'name_split', null, to_jsonb(c.old_split), to_jsonb(c.name_split), false, false
    from changed c where c.name_split is distinct from c.old_split
    union all
    select c.team_id, c.user_id, 'email', null, to_jsonb(c.old_email), to_jsonb(c.email), c.email is not distinct from c.base_email,
      c.is_known and c.old_email is distinct from c.base_email
    from changed c where c.email is distinct from c.old_email
    union all
    select c.team_id, c.user_id, 'phone', null, to_jsonb(c.old_phone), to_jsonb(c.phone), c.phone is not distinct from c.base_phone,
      c.is_known and c.old_phone is distinct from c.base_phone
    from changed c where c.phone is distinct from c.old_phone
    union all
    select c.team_id, c.user_id, 'role_id', null, to_jsonb(c.old_role), to_jsonb(c.role_id), c.role_id is not distinct from c.base_role,
      c.is_known and c.old_role is distinct from c.base_role
    from changed c where c.role_id is distinct from c.old_role
  ),
  judged as materialized (
    select t.*, e.place, e.old_split,
      -- What the statement found is nobody's that is on record: it was made past the triggers.
      e.authors || case when case when e.place is null then t.was_other else t.old_value is distinct from e.new_value end
        then array[''] end as authors,
      t.is_agreed and not exists (
        select from sync.changes c -- as sync.is_under_way(), which would be called for each row
        where c.team_id = t.team_id and c.user_id = t.user_id and c.state = 'open' and c.new ? t.field
          and coalesce(c.outcome ->> t.field, 'unknown') = 'unknown'
      ) as is_withdrawn
    from touched t
    left join lateral (
      select l.ctid as place, l.new_value, l.authors, l.old_split from sync.edits l
      where l.team_id = t.team_id and l.user_id = t.user_id and l.field = t.field and l.ended_at is null offset 0
    ) e on true
  ),
  withdrawn as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
    where e.ctid = any (array(select j.place from judged j where j.is_withdrawn and j.place is not null)) and e.ended_how is null
    returning e.team_id, e.user_id, e.field, e.edit_id
  ),
  replaced as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'replaced'
    where e.ctid = any (array(select j.place from judged j where not j.is_withdrawn and j.place is not null)) and e.ended_how is null
    returning true
  ),
  freed as (
    delete from sync.held_fields h using withdrawn w
    where h.team_id = w.team_id and h.user_id = w.user_id and h.field = w.field and h.edit_id = w.edit_id and h.until is null
  )
  insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, old_split, edited_at, edited_by, application, actor,
    authors, ended_at, ended_how)
  select xid, j.team_id, j.user_id, j.field, j.old_value, j.new_value, coalesce(j.old_split, j.split),
    clock_timestamp(), editor, application, actor,
    case when j.authors is null then names when cardinality(j.authors) >= 32 then
        (names || ''::text || array(select a.name from unnest(j.authors) a (name) where a.name <> '' and a.name <> all (names)))[1:32]
      when j.authors @> names then j.authors
      else array(select distinct unnest(j.authors || names)) end,
    case when j.field = 'name_split' or j.is_withdrawn then clock_timestamp() end,
    case when j.field = 'name_split' then 'replaced' when j.is_withdrawn then 'withdrawn' end
  from judged j
  where (select count(*) from withdrawn) + (select count(*) from replaced) >= 0; -- first the end of one, then the beginning of the next

  -- For sync.settled(), which the session calls after the commit; a rollback takes it back.
  perform set_config('musterd.last_edit', pg_current_xact_id()::text, false);

  if exists (select n.team_id, n.role_id from edited n where n.role_id is not null
             except select r.team_id, r.role_id from mirror.roles r where r.gone_at is null) then
    for unknown in
      select n.team_id, string_agg(distinct n.role_id::text, ', ') as ids,
        (select string_agg(r.role_id || coalesce(' (' || r.name || ')', ''), ', ' order by r.role_id)
         from mirror.roles r where r.team_id = n.team_id and r.gone_at is null) as known
      from edited n
      join unedited o on o.team_id = n.team_id and o.id = n.id
      where n.role_id is distinct from o.role_id
        and (n.team_id, n.role_id) not in (select r.team_id, r.role_id from mirror.roles r where r.gone_at is null)
      group by n.team_id
    loop
      continue when unknown.known is null;
      raise warning 'Nobody in team % has the role %: the service may not know it', unknown.team_id, unknown.ids
        using hint = 'Roles that somebody has: ' || unknown.known || '.';
    end loop;
  end if;
  return null;
end
$$;

-- The edits of these users that both sides agree on by now, and what was held or decided of them.
create or replace function sync.end_edits(team bigint, users bigint[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with ended as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'agreed'
    from mirror.users u
    join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where e.team_id = end_edits.team and e.user_id = any (end_edits.users) and e.ended_at is null
      and u.team_id = e.team_id and u.id = e.user_id
      and case e.field
        when 'name' then (u.first_name, u.last_name) is not distinct from (b.first_name, b.last_name)
        when 'email' then u.email is not distinct from b.email
        when 'phone' then u.phone is not distinct from b.phone
        else u.role_id is not distinct from b.role_id end
      and not sync.is_under_way(e.team_id, e.user_id, e.field)
    returning e.team_id, e.user_id, e.field, e.edit_id
  )
  delete from sync.held_fields h using ended d
  where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field and h.edit_id = d.edit_id and h.until is null
$$;

-- What became of the edits of a transaction by now. Of several edits of one field the last counts.
create or replace function sync.edit_states(of_xid xid8)
returns table (user_id bigint, field text, state text, detail text, request_id text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select e.user_id, e.field,
    case
      when e.ended_how = 'agreed' then 'confirmed'
      when e.ended_at is not null then 'withdrawn'
      when h.reason = 'refused' then 'refused'
      when h.reason is not null then 'held'
      when p.outcome = 'unknown' then 'unknown'
      else 'waiting' end,
    case
      when e.ended_how = 'agreed' then null
      when e.ended_how = 'overruled' then 'the value of the service was taken in its place'
      when e.ended_how = 'replaced' then 'somebody has edited the field again'
      when e.ended_how = 'forgotten' then 'the user is in the team no longer'
      when e.ended_at is not null then 'it was taken back here'
      when h.reason is not null then h.reason || coalesce(': ' || nullif(h.detail, ''), '') || coalesce(' (batch ' || h.batch || ')', '')
      when p.outcome = 'unknown' then 'it was sent, and no answer came: a run reads it back'
      when p.change_id is not null then 'it is being sent'
      when u.gone_at is not null then 'the user has left the team'
      when not u.resolved then 'no lookup of the service answers for the user'
      when l.expires_at > clock_timestamp() then 'a run is under way'
      when r.next_at > clock_timestamp() + interval '1 s'
        then 'the rate limit of the service lets the next request leave in ' || ceil(extract(epoch from r.next_at - clock_timestamp())) || ' s'
      when not exists (
        select from pg_stat_activity a where a.datname = current_database() and a.application_name like 'musterd listen%')
        then 'no daemon listens here: the next run sends it'
      else 'the daemon sends it in a moment' end,
    coalesce(p.request_id, case when h.reason = 'refused' then (
      select c.request_id from sync.changes c
      where c.team_id = e.team_id and c.user_id = e.user_id and c.kind = 'push' and (c.edits ->> e.field)::bigint = e.edit_id
      order by c.change_id desc limit 1) end)
  from (
    select distinct on (s.team_id, s.user_id, s.field) s.*
    from (select t.team_id from sync.teams t where sync.session_sees(t.team_id)) t
    cross join lateral (
      select * from sync.edits l where l.team_id = t.team_id and l.ended_at is null and l.xid = edit_states.of_xid
      union all
      select * from sync.edits o where o.team_id = t.team_id and o.ended_at is not null and o.xid = edit_states.of_xid
    ) s
    where s.field <> 'name_split'
    order by s.team_id, s.user_id, s.field, s.edit_id desc
  ) e
  left join mirror.users u on u.team_id = e.team_id and u.id = e.user_id
  left join sync.teams t on t.team_id = e.team_id
  left join sync.leases l on l.team = t.team
  left join sync.rate_limits r on r.team = t.team
  left join report.held h on h.team_id = e.team_id and h.user_id = e.user_id and h.field = e.field
    and e.ended_at is null and (h.edit_id = e.edit_id or h.until > clock_timestamp())
  left join lateral (
    select c.change_id, c.request_id, case when c.state = 'open' then c.outcome ->> e.field end as outcome
    from sync.changes c
    where c.team_id = e.team_id and c.user_id = e.user_id and c.kind = 'push' and (c.edits ->> e.field)::bigint = e.edit_id
      and (c.state = 'open' or e.ended_how = 'agreed' and c.outcome ->> e.field = 'confirmed')
    order by c.change_id desc limit 1
  ) p on true
  order by e.user_id, e.field
$$;
-- The one function that decides. What it finds of each edit, as it is now and as whoever decides has seen it:
--
-- | the edit                                          | approve    | resolve    | reject         |
-- |---------------------------------------------------|------------|------------|----------------|
-- | is of a user who has left                         | gone       | gone       | gone           |
-- | is held on request                                | asked      | asked      | asked          |
-- | is being sent                                     | on its way | on its way | on its way (†) |
-- | was rejected, or is held for no batch is about it | held       | ·          | held           |
-- | has ended, and the field has no other             | ended      | ended      | ended          |
-- | is another one by now, or is not on record        | moved      | moved      | moved          |
-- | lasts, and base or service is not as it was seen  | moved      | ·          | rejected       |
-- | is of whoever decides, or may be, with four eyes  | own        | own (‡)    | ·              |
-- | lasts, and all is as it was seen                  | approved   | resolved   | rejected       |
--
-- † and is rejected if it does not arrive: no part of a request that has not left carries it, and it is not sent again. Nor is
--   the mirror given back as long as another edit of the field is being sent: it may arrive.
-- ‡ where it is the mirror's value that is to win.
--
-- seen has a row for each edit: user_id, field, edit_id (none: whichever has this value), base, mirror and service; sends:
-- false, where the service is to get another value; passes: false, where that is carried out already, and only written down;
-- edited: whoever decides gave the field another value than that of either side.
create function sync.decide_edits(verb text, team bigint, seen jsonb, reason text, batch text default null, revert boolean default false,
  run bigint default null, number bigint default null, waits text default 'limit', only_shown boolean default false)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
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
    perform sync.require_approver();
    -- In the order in which a run locks: users, then held fields.
    if decide_edits.revert then
      perform from mirror.users u
      where u.team_id = decide_edits.team and u.id in (select (s ->> 'user_id')::bigint from jsonb_array_elements(decide_edits.seen) s)
      order by u.id for update;
    end if;
    perform from sync.held_fields h
    where h.team_id = decide_edits.team and (h.user_id, h.field) in (
      select s.user_id, s.field from jsonb_to_recordset(decide_edits.seen) as s (user_id bigint, field text))
    order by h.user_id, h.field for update;
    -- What is given back is as it was before: no trigger has to let it pass. No run does it, whatever the session says.
    perform set_config('musterd.writing', 'on', true), set_config('musterd.run', '', true);
  end if;
  return query
  with judged as materialized (
    select s.user_id, s.field, s.edit_id as named, s.base, s.mirror, s.service, s.passes, x.edit_id, l.old_split, s.edited, x.is_sent,
      x.is_there, h.reason, h.detail, h.decision, h.batch, case
        when s.user_id is null then case decide_edits.verb when 'approve' then 'approved' else 'left' end
        when not coalesce(s.passes, true) then done_word
        when u.id is null or u.gone_at is not null then 'gone'
        when h.until > clock_timestamp() then 'asked'
        when x.is_sent and (decide_edits.verb <> 'reject' or x.edit_id is not null) then 'on its way'
        when decide_edits.verb <> 'resolve' and x.is_there
          and (h.decision = 'rejected' or h.decision is null and (h.batch is null or h.reason not in ('limit', 'review'))) then 'held'
        when s.edit_id is not null and x.edit_id is null then case when l.edit_id is null then 'ended' else 'moved' end
        when v.mirror_value is distinct from s.mirror then 'moved'
        when b.id is null and (decide_edits.revert or decide_edits.verb <> 'reject') then 'moved'
        when decide_edits.verb = 'reject' then 'rejected'
        when decide_edits.verb = 'approve' and (v.base_value is distinct from s.base
          or x.is_there and h.batch = decide_edits.batch and h.service_value is distinct from h.shown_value) then 'moved'
        when decide_edits.verb = 'approve' and v.mirror_value is not distinct from v.base_value then 'ended'
        when coalesce(s.sends, true) and (select t.four_eyes from sync.teams t where t.team_id = decide_edits.team)
          and sync.is_own(case when x.edit_id is null then '{""}' else l.authors end) then 'own'
        else done_word
      end as outcome
    from jsonb_to_recordset(decide_edits.seen) as s (user_id bigint, field text, edit_id bigint, base jsonb, mirror jsonb, service jsonb,
      sends boolean, passes boolean, edited boolean)
    left join lateral (select * from mirror.users o where o.team_id = decide_edits.team and o.id = s.user_id offset 0) u on true
    left join lateral (select * from sync.user_base o where o.team_id = decide_edits.team and o.id = s.user_id offset 0) b on true
    left join lateral (
      select * from sync.held_fields o where o.team_id = decide_edits.team and o.user_id = s.user_id and o.field = s.field
      union all
      select * from sync.held_fields o where o.team_id = decide_edits.team and o.user_id is null and s.user_id is null and o.field = s.field
    ) h on true
    left join lateral (
      select * from sync.edits o where o.team_id = decide_edits.team and o.user_id = s.user_id and o.field = s.field and o.ended_at is null offset 0
    ) l on true
    left join lateral (values
      ('name', jsonb_build_object('first', u.first_name, 'last', u.last_name), jsonb_build_object('first', b.first_name, 'last', b.last_name)),
      ('email', to_jsonb(u.email), to_jsonb(b.email)),
      ('phone', to_jsonb(u.phone), to_jsonb(b.phone)),
      ('role_id', to_jsonb(u.role_id), to_jsonb(b.role_id))
    ) as v (field, mirror_value, base_value) on v.field = s.field
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
            and coalesce(c.outcome ->> s.field, 'unknown') = 'unknown'
        ) as is_sent
    ) x
  ),
  done as materialized (
    select j.*, case when j.user_id is not null
        then coalesce(case when coalesce(j.passes, true) then j.edit_id end, sync.find_edit(decide_edits.team, j.user_id, j.field), nullif(j.named, 0)) end as edit
    from judged j
    where not only_shown and (j.outcome = done_word or decide_edits.verb = 'reject' and j.outcome = 'on its way')
      and not (decide_edits.verb = 'approve' and j.is_there and j.decision is not distinct from 'approved' and j.batch is not distinct from decide_edits.batch)
  ),
  given as materialized (
    select d.* from done d where decide_edits.revert and not d.is_sent
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
      select g.user_id, array_agg(g.field) as fields, max(g.old_split) filter (where g.field = 'name') as split from given g group by g.user_id
    ) r, sync.user_base b
    where u.team_id = decide_edits.team and u.id = r.user_id and b.team_id = u.team_id and b.id = u.id
  ),
  ended as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn' from given g
    where e.team_id = decide_edits.team and e.user_id = g.user_id and e.field = g.field and e.ended_at is null and e.edit_id = g.edit
  ),
  freed as (
    delete from sync.held_fields h using given g
    where h.team_id = decide_edits.team and h.user_id = g.user_id and h.field = g.field
  ),
  written as (
    insert into sync.held_fields as h (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value,
      detail, batch, decision)
    select decide_edits.team, d.user_id, d.field, d.edit, case when d.is_there or d.user_id is null then d.reason else decide_edits.waits end,
      d.base, d.mirror, d.service, d.service,
      case when decide_edits.verb = 'reject' then coalesce(decide_edits.reason, '') when d.is_there then d.detail else 'confirmed by who edited it' end,
      case decide_edits.verb when 'approve' then decide_edits.batch else d.batch end, case decide_edits.verb when 'reject' then done_word else 'approved' end
    from done d
    where coalesce(d.passes, true) and (d.is_sent or not decide_edits.revert)
    on conflict (team_id, user_id, field) do update set edit_id = excluded.edit_id, reason = excluded.reason,
      base_value = excluded.base_value, mirror_value = excluded.mirror_value, service_value = excluded.service_value,
      shown_value = excluded.shown_value, detail = excluded.detail, batch = excluded.batch, decision = excluded.decision, until = null,
      seen_version = case when h.edit_id is not distinct from excluded.edit_id then h.seen_version end
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role,
      decided_why, batch, decision_id)
    select decide_edits.team, d.user_id, decide_edits.run, decide_edits.verb, jsonb_object_agg(d.field, d.base), jsonb_object_agg(d.field, d.service),
      jsonb_object_agg(d.field, d.mirror), jsonb_strip_nulls(jsonb_object_agg(d.field, d.edit)),
      coalesce(jsonb_object_agg(d.field, case when d.edited then 'edited' else 'withdrawn' end)
        filter (where d.edited or decide_edits.revert and not d.is_sent), '{}'), clock_timestamp(),
      decider, session_user, coalesce(decide_edits.reason, ''), decide_edits.batch, case when d.user_id is not null then mine end
    from done d group by d.user_id
  )
  select decide_edits.team, j.user_id, j.field, j.outcome, case when exists (select from done d where d.user_id is not null) then mine end
  from judged j order by j.user_id, j.field;
  if not only_shown then
    perform set_config('musterd.writing', writing, true), set_config('musterd.run', as_run, true);
  end if;
end
$$;
comment on function sync.decide_edits(text, bigint, jsonb, text, text, boolean, bigint, bigint, text, boolean) is 'Approves, rejects or resolves edits as they were seen, or with only_shown says what would become of that: what sync.approve(), sync.reject() and the commands that decide do.';
comment on function sync.approve(text, bigint[], text, bigint, bigint[]) is 'Lets the edits of a batch pass the limits, all of them, those of some users or single ones: once, and only as long as it is the same edit over what was seen of the service. Refused where the settings ask for four eyes and whoever decides edited one of them. Says of each row: approved; moved: it is not as it was held, and is left; ended: it is no edit any more; on its way: it is being sent; asked, held: something else holds it; gone: the user has left. Of a batch of missing rows: agrees that they are gone, for as long as they are missing and the settings ask for the same; those that only_users leaves out wait on. user_id is the id of the row then, and field says what it is: users, tags or contact_fields. decision_id is the number of the decision, as in report.decisions; empty: nothing was decided, or nothing about users.';
revoke execute on function sync.decide_edits(text, bigint, jsonb, text, text, boolean, bigint, bigint, text, boolean) from public;

-- What is held in a batch: as it was held there.
create or replace function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint, only_edits bigint[])
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  hash     constant text := lower(decide.batch);
  verb     constant text := case when decide.approves then 'approve' else 'reject' end;
  teams    bigint[];
  stranger text;
  seen     jsonb;
  own      bigint[];
begin
  perform sync.require_approver();
  select array_agg(distinct h.team_id) into teams
  from sync.held_fields h
  where h.batch = hash and h.decision is distinct from 'rejected' and (decide.team is null or h.team_id = decide.team)
    and sync.session_sees(h.team_id);
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
    where h.team_id = teams[1] and h.batch = hash and h.decision is distinct from 'rejected' and (h.user_id = o.id or h.edit_id = o.edit_id)
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
    where u.team_id = teams[1] and u.id in (select h.user_id from sync.held_fields h where h.team_id = teams[1] and h.batch = hash)
    order by u.id for update;
  end if;
  perform from sync.held_fields h where h.team_id = teams[1] and h.batch = hash order by h.user_id, h.field for update;
  select coalesce(jsonb_agg(jsonb_build_object('user_id', h.user_id, 'field', h.field, 'edit_id', coalesce(h.edit_id, 0),
    'base', h.base_value, 'mirror', h.mirror_value, 'service', h.shown_value)), '[]') into seen
  from sync.held_fields h
  where h.team_id = teams[1] and h.batch = hash and h.decision is distinct from 'rejected'
    and (decide.only_users is null or h.user_id = any (decide.only_users))
    and (decide.only_edits is null or h.edit_id = any (decide.only_edits));
  if decide.approves then
    select array_agg(distinct d.user_id order by d.user_id) into own
    from sync.decide_edits(verb, teams[1], seen, decide.reason, hash, only_shown => true) d where d.outcome = 'own';
  end if;
  if own is not null then
    raise exception '% edited what is to be approved, or may have, of % users: %', sync.decider(), cardinality(own),
      array_to_string(own[1:10], ', ') || case when cardinality(own) > 10 then ', …' else '' end
      using errcode = 'invalid_parameter_value',
            hint = 'Somebody else has to approve them (push.fourEyes). What others edited can be approved by itself: only_users, or --only.';
  end if;
  return query select * from sync.decide_edits(verb, teams[1], seen, decide.reason, hash, decide.revert);
end
$$;
comment on function sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]) is 'Approves or rejects the edits of a batch as they are held in it: what sync.approve() and sync.reject() do.';

-- What taking a decision back finds, by the fate of each of its edits:
--
-- | the edit                                     | approve, resolve | reject      |
-- |----------------------------------------------|------------------|-------------|
-- | waits, decided by this and nothing since     | undecided        | undecided   |
-- | is being sent                                | on its way       | on its way  |
-- | has arrived, or the service's value was taken | arrived         | moved       |
-- | was taken back by this                       | –                | given back  |
-- | anything else                                | moved            | moved       |
create or replace function sync.undecide(decision bigint, reason text default null, only_shown boolean default false)
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
        when exists (
          select from sync.changes p
          where p.team_id = c.team_id and p.user_id = c.user_id and p.state = 'open' and p.edits -> f.field = c.edits -> f.field
            and coalesce(p.outcome ->> f.field, 'unknown') = 'unknown'
        ) then 'on its way'
        when u.gone_at is null and h.decision = case c.kind when 'reject' then 'rejected' else 'approved' end then 'undecided'
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
      reason = case h.reason when 'unsupported' then 'limit' else h.reason end,
      batch = coalesce(h.batch, d.batch), detail = 'the decision about it was taken back', decision = null
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

-- A role of its own for the daemon decides in the name of people. And whoever may read these views needs the right to what
-- they read now.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant execute on function sync.decide_edits(text, bigint, jsonb, text, text, boolean, bigint, bigint, text, boolean) to %s',
      a.grantee::regrole)
    from pg_class c, aclexplode(c.relacl) a
    where c.oid = 'sync.held_fields'::regclass and a.privilege_type = 'UPDATE' and a.grantee not in (0, c.relowner)
    union all
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v
    cross join lateral aclexplode(v.relacl) a
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where v.oid = any (array['report.held', 'report.pending', 'report.decisions']::regclass[])
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
