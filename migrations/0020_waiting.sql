-- One table of waiting: what the guard stopped is a held field like any other, in a batch, and a decision stands on
-- the row that it is about. The stored plans go.

alter table sync.held_fields drop constraint held_fields_pkey;
alter table sync.held_fields alter column user_id drop not null;
alter table sync.held_fields add constraint held_fields_key unique nulls not distinct (team_id, user_id, field);
comment on column sync.held_fields.user_id is 'The user; NULL: the field of all users, of whom too many no longer have it.';

alter table sync.held_fields drop constraint held_fields_reason_check;
update sync.held_fields set reason = 'limit' where reason = 'brake';
alter table sync.held_fields add constraint held_fields_reason_check
  check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'limit', 'review', 'asked', 'rejected'));
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it cannot be sent. gone: the user has left. limit: the guard stopped it, alone or in a batch. review: a person wants to see it first. asked: a person asked for it. rejected: a person decided that it is not sent; that stands until the mirror''s value changes, whatever the service does.';

alter table sync.held_fields
  add column batch       text,
  add column told_at     timestamptz,
  add column decision    text check (decision in ('approved', 'resolved')),
  add column decided_at  timestamptz,
  add column decided_by  text,
  add column decided_why text;
create index held_fields_by_batch on sync.held_fields (batch) where batch is not null;
comment on index sync.held_fields_by_batch is 'What a person names who approves or rejects.';
comment on column sync.held_fields.batch is 'What was stopped together: first 12 hex digits of the SHA-256 of its rows, values and bases. It stays with the row for as long as nobody has decided, whatever else holds the field meanwhile.';
comment on column sync.held_fields.told_at is 'Of a batch: when people were last told of it (exit code 4). They are told again after a day.';
comment on column sync.held_fields.decision is 'approved: the field passes the limits on a whole run. resolved: it passes those on single fields too. Once, with these values of mirror, base and service, and until "until".';
comment on column sync.held_fields.decided_at is 'When a person approved or rejected it.';
comment on column sync.held_fields.decided_by is 'Who did: the role that was connected.';
comment on column sync.held_fields.decided_why is 'The reason that was given.';
comment on column sync.held_fields.until is 'A hold that a person asked for ends then, and not before; an approval counts until then.';
update sync.held_fields set decided_at = since, decided_why = detail where reason = 'rejected';

alter table sync.changes alter column run_id drop not null;
alter table sync.changes drop constraint changes_kind_check;
alter table sync.changes add constraint changes_kind_check check (kind in
  ('adopt', 'pull', 'push', 'settle', 'hold', 'tombstone', 'forget', 'approve', 'reject', 'resolve'));
alter table sync.changes add column decided_by text, add column decided_why text;
comment on column sync.changes.run_id is 'The run that moved them; NULL: a person decided, outside of any run.';
comment on column sync.changes.kind is 'adopt: first sight. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s.';
comment on column sync.changes.decided_by is 'Who decided: the role that was connected.';
comment on column sync.changes.decided_why is 'The reason that was given.';

-- What the plans held. A row is a user and a field; `service` was left out where it was the base's value.
create table sync.planned as
select p.plan_id, p.team_id, p.run_id, p.state, p.reasons, p.made_at, p.expires_at, p.decided_at, p.decided_by,
       p.decided_why, p.passes_brakes, w.user_id, f.key as field, w.base -> f.key as base_value, f.value as mirror_value,
       case when w.service ? f.key then w.service -> f.key
            when f.key = 'name' then to_jsonb(btrim(concat(w.base -> 'name' ->> 'first', ' ', w.base -> 'name' ->> 'last')))
            else w.base -> f.key end as service_value,
       -- Rows that were only kept in mind had no hash of their own.
       coalesce(nullif(p.hash, ''),
                (select r.hash from sync.plans r where r.team_id = p.team_id and r.state = 'refused'),
                substr(encode(sha256(convert_to(p.changes::text, 'UTF8')), 'hex'), 1, 12)) as batch,
       case f.key when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                  when 'email' then to_jsonb(u.email)
                  when 'phone' then to_jsonb(u.phone)
                  when 'role_id' then to_jsonb(u.role_id) end as mirror_now
from sync.plans p
cross join lateral jsonb_to_recordset(p.changes) as w (user_id bigint, base jsonb, service jsonb, patch jsonb)
cross join lateral jsonb_each(w.patch) f
left join mirror.users u on u.team_id = p.team_id and u.id = w.user_id;
-- A value that is not there is NULL in a held field, and was null in a plan.
update sync.planned set base_value = nullif(base_value, 'null'), mirror_value = nullif(mirror_value, 'null'),
  service_value = nullif(service_value, 'null');

-- What waits goes on waiting. A field that is held for another reason meanwhile waits again when that ends:
-- with the values of its batch where a person asked for the hold, for nobody has agreed to others.
insert into sync.held_fields as h
  (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, since, run_id, batch, told_at)
select distinct on (team_id, user_id, field) team_id, user_id, field, 'limit', base_value, mirror_value, service_value,
  service_value, array_to_string(reasons, '; '), made_at, run_id, batch,
  case state when 'refused' then expires_at - interval '24 hours' else clock_timestamp() end
from sync.planned where state in ('refused', 'kept')
order by team_id, user_id, field, state desc
on conflict (team_id, user_id, field) do update set batch = excluded.batch, told_at = excluded.told_at,
  base_value = case h.reason when 'asked' then excluded.base_value else h.base_value end,
  mirror_value = case h.reason when 'asked' then excluded.mirror_value else h.mirror_value end,
  service_value = case h.reason when 'asked' then excluded.service_value else h.service_value end
  where h.reason not in ('gone', 'rejected')
    and (h.reason <> 'limit' or h.mirror_value is not distinct from excluded.mirror_value);

-- So does what many users no longer have, and what a person said of that.
insert into sync.held_fields
  (team_id, field, reason, detail, since, run_id, batch, told_at, decision, decided_at, decided_by, decided_why, until)
select distinct on (p.team_id, f.field) p.team_id, f.field, 'limit', array_to_string(p.reasons, '; '), p.made_at, p.run_id,
  p.hash, case p.state when 'refused' then p.expires_at - interval '24 hours' end,
  case p.state when 'approved' then 'approved' end, p.decided_at, p.decided_by, p.decided_why,
  case p.state when 'approved' then 'infinity'::timestamptz end
from sync.plans p cross join lateral unnest(p.lacking) as f (field)
where p.state = 'refused' or p.state = 'approved' and p.expires_at = 'infinity'
order by p.team_id, f.field, p.plan_id desc;

-- What was approved, has not arrived since, and still stands in the mirror may pass for the rest of its day.
insert into sync.held_fields as h
  (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, since, run_id, batch,
   told_at, decision, decided_at, decided_by, decided_why, until)
select distinct on (p.team_id, p.user_id, p.field) p.team_id, p.user_id, p.field, 'limit', p.base_value, p.mirror_value,
  p.service_value, p.service_value, array_to_string(p.reasons, '; '), p.made_at, p.run_id,
  case when not p.passes_brakes then p.batch end, p.made_at,
  case when p.passes_brakes then 'resolved' else 'approved' end, p.decided_at, p.decided_by, p.decided_why, p.expires_at
from sync.planned p
where p.state = 'approved' and p.expires_at > clock_timestamp() and p.mirror_value is not distinct from p.mirror_now
  and not exists (
    select from sync.changes c
    where c.team_id = p.team_id and c.user_id = p.user_id and c.opened_at >= p.decided_at
      and (c.kind = 'push' and c.outcome ->> p.field = 'confirmed' and nullif(c.new -> p.field, 'null') is not distinct from p.mirror_value
        or c.kind = 'settle' and c.old ? p.field and nullif(c.old -> p.field, 'null') is not distinct from p.mirror_value)
  )
order by p.team_id, p.user_id, p.field, p.plan_id desc
on conflict (team_id, user_id, field) do update set base_value = excluded.base_value,
  mirror_value = excluded.mirror_value, service_value = excluded.service_value, shown_value = excluded.shown_value,
  batch = excluded.batch, decision = excluded.decision, decided_at = excluded.decided_at,
  decided_by = excluded.decided_by, decided_why = excluded.decided_why, until = excluded.until
  where h.reason = 'limit' and h.batch is not null and h.mirror_value is distinct from excluded.mirror_value;

-- Every approval, used or not, with who gave it and why.
insert into sync.changes (team_id, user_id, kind, base, old, new, opened_at, closed_at, decided_by, decided_why)
select team_id, user_id, case when reasons = array['resolved'] then 'resolve' else 'approve' end,
  jsonb_object_agg(field, base_value), jsonb_object_agg(field, service_value), jsonb_object_agg(field, mirror_value),
  decided_at, decided_at, decided_by, decided_why
from sync.planned where decided_at is not null
group by plan_id, team_id, user_id, reasons, decided_at, decided_by, decided_why
order by plan_id, user_id;

create or replace view report.pending with (security_barrier) as
select v.* from (
  select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
         case when w.field is not null and not w.is_refused then 'held'
              when u.gone_at is not null then 'gone'
              when not u.resolved then 'unresolved'
              when c.change_id is not null then 'sent'
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
    from sync.held_fields h where h.decision is null or h.until <= clock_timestamp()
  ) w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  left join sync.changes c on c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.pending.state is 'waiting: the next run sends it. refused: it is held in a batch until somebody approves or rejects that. sent: its outcome is not known yet. held: it is held for another reason. unresolved: no lookup answers for the user. gone: the user has left.';

create or replace view report.held with (security_barrier) as
select v.* from (
  select h.team_id, h.user_id, u.name, h.field, h.reason, h.base_value,
         case when u.id is not null then
           case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                        when 'email' then to_jsonb(u.email)
                        when 'phone' then to_jsonb(u.phone)
                        when 'role_id' then to_jsonb(u.role_id) end
         end as mirror_value,
         h.shown_value as service_value,
         h.detail || case when h.batch is not null and h.reason in ('limit', 'review') and h.shown_value is distinct from h.service_value
                          then '; the service has changed it since' else '' end as detail,
         h.since, h.run_id, h.until,
         h.mirror_value as mirror_value_then, h.service_value as service_value_then, h.batch,
         h.decided_at, h.decided_by, h.decided_why
  from sync.held_fields h
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  where h.decision is null or h.until <= clock_timestamp()
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.held is 'Fields that wait for a person, with the values of both sides, now and when the hold began. What was approved waits for nobody, and is not here.';
comment on column report.held.user_id is 'The service''s id of the user; empty: the field of all users, of whom too many no longer have it.';
comment on column report.held.reason is 'Why it is held: conflict, refused, ineffective, unsupported, gone, limit, review, asked or rejected.';
comment on column report.held.batch is 'What was stopped together: what "musterd approve" and sync.approve() are given. Empty: each field is decided by itself ("musterd resolve").';
comment on column report.held.decided_at is 'When a person rejected it.';
comment on column report.held.decided_by is 'Who did.';
comment on column report.held.decided_why is 'The reason that was given.';

create or replace view report.changes with (security_barrier) as
select v.* from (
  select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field as base_value,
         c.old -> f.field as old_value, c.new -> f.field as new_value,
         case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
         c.request_id, c.opened_at, c.closed_at, c.decided_by, c.decided_why
  from sync.changes c
  left join lateral (select jsonb_object_keys(c.new) as field union select jsonb_object_keys(c.old)) as f on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.changes.run_id is 'The run that moved it; empty where a person decided outside of any run.';
comment on column report.changes.kind is 'adopt, pull, push, settle, hold, tombstone or forget; approve, reject or resolve: a person decided.';
comment on column report.changes.decided_by is 'Who decided.';
comment on column report.changes.decided_why is 'The reason that was given.';
comment on column sync.runs.waiting is 'What waited for a person when it ended: held fields, and users in a batch.';
comment on column report.runs.waiting is 'What waited for a person when it ended: held fields, and users in a batch.';

drop table sync.planned, sync.plans;

-- Who decides is asked by the session's role: what runs as the owner, and what somebody else's function calls, is
-- nobody's decision. Musterd itself may, and whoever is a member of musterd_approver.
create function sync.require_approver() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if pg_trigger_depth() > 0 then
    raise exception 'A trigger decides nothing' using errcode = 'insufficient_privilege';
  end if;
  if not coalesce(pg_has_role(session_user, to_regrole('musterd_approver')::oid, 'USAGE'), false)
     and not has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then
    raise exception '% may not decide about what is held', session_user
      using errcode = 'insufficient_privilege', hint = 'An administrator grants the role musterd_approver.';
  end if;
end
$$;
comment on function sync.require_approver() is 'Refuses a session whose role is no member of musterd_approver.';

create function sync.session_sees(team bigint) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from mirror.team_roles r
    where (r.all_teams or r.team_id = team)
      and (r.role_name = 'public' or pg_has_role(session_user, to_regrole(quote_ident(r.role_name))::oid, 'USAGE'))
  ) or exists (
    select from pg_class c join pg_roles s on s.rolname = session_user
    where c.oid = 'mirror.team_roles'::regclass and (s.rolbypassrls or pg_has_role(session_user, c.relowner, 'USAGE'))
  )
$$;
comment on function sync.session_sees(bigint) is 'Whether the session''s role sees the team, whoever runs the function that asks: see mirror.team_roles.';

-- One statement for both. Neither does anything to a row that is not named: another batch, another user, a team that
-- the session does not see. What has moved since it was held was never shown, and is left.
create function sync.decide(batch text, approves boolean, only_users bigint[], reason text, revert boolean, team bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  writing  text := coalesce(current_setting('musterd.writing', true), '');
  teams    bigint[];
  stranger bigint;
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
      decided_at = clock_timestamp(), decided_by = session_user, decided_why = coalesce(decide.reason, '')
    from done d
    where not decide.revert and h.team_id = d.team_id and coalesce(h.user_id, -1) = coalesce(d.user_id, -1) and h.field = d.field
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, base, old, new, closed_at, decided_by, decided_why)
    select d.team_id, d.user_id, case when decide.approves then 'approve' else 'reject' end,
      jsonb_object_agg(d.field, d.base_value), jsonb_object_agg(d.field, d.shown_value),
      jsonb_object_agg(d.field, d.mirror_value), clock_timestamp(), session_user, coalesce(decide.reason, '')
    from done d where d.user_id is not null group by d.team_id, d.user_id
  )
  select n.team_id, n.user_id, n.field, n.outcome from named n order by n.user_id, n.field;
  perform set_config('musterd.writing', writing, true);
end
$$;
comment on function sync.decide(text, boolean, bigint[], text, boolean, bigint) is 'Approves or rejects the fields of a batch: what sync.approve() and sync.reject() do.';

create function sync.approve(batch text, only_users bigint[] default null, reason text default null, team bigint default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide(batch, true, only_users, reason, false, team)
$$;
comment on function sync.approve(text, bigint[], text, bigint) is 'Lets the fields of a batch pass the limits, all of them or those of some users: once, within a day, with the values of mirror, base and service that were held. Says of each row: approved; moved: it is not as it was held, and is left; asked, held: something else holds it; gone: the user has left.';

create function sync.reject(batch text, only_users bigint[] default null, reason text default null, revert boolean default false, team bigint default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide(batch, false, only_users, reason, revert, team)
$$;
comment on function sync.reject(text, bigint[], text, boolean, bigint) is 'Decides that the fields of a batch are not sent, all of them or those of some users, until somebody edits them again. With revert the mirror is given back what both sides last agreed on. Says of each row: rejected; left: nothing is to be rejected; and what sync.approve() says.';

revoke execute on function sync.require_approver(), sync.session_sees(bigint),
  sync.decide(text, boolean, bigint[], text, boolean, bigint), sync.approve(text, bigint[], text, bigint),
  sync.reject(text, bigint[], text, boolean, bigint) from public;

do $$
begin
  if not exists (select from pg_roles where rolname = 'musterd_approver') then
    create role musterd_approver nologin;
  end if;
exception
  when insufficient_privilege then
    raise notice 'musterd_approver was not created: this role may not create roles';
  when duplicate_object or unique_violation then
    null; -- another database of this server was migrated in the same moment
end
$$;

do $$
declare
  worker text;
begin
  if exists (select from pg_roles where rolname = 'musterd_approver') then
    grant usage on schema mirror, report, sync to musterd_approver;
    grant select on mirror.teams, mirror.users, mirror.tags, mirror.contact_fields, mirror.contact_counts to musterd_approver;
    grant select on all tables in schema report to musterd_approver;
    grant select (team_id, email, phone, added_at) on mirror.user_lookups to musterd_approver;
    grant execute on function sync.approve(text, bigint[], text, bigint),
      sync.reject(text, bigint[], text, boolean, bigint) to musterd_approver;
  end if;
  -- A role of its own for the daemon, as docs/operations.md makes it, decides with its commands as before.
  for worker in
    select a.grantee::regrole::text from pg_class c, aclexplode(c.relacl) a
    where c.oid = 'sync.held_fields'::regclass and a.privilege_type = 'UPDATE' and a.grantee not in (0, c.relowner)
  loop
    execute format('grant execute on function sync.approve(text, bigint[], text, bigint),
      sync.reject(text, bigint[], text, boolean, bigint) to %s', worker);
  end loop;
end
$$;
