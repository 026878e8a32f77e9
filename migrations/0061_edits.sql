-- An edit has an identity: one field of one user that the mirror has other than the base, from the statement that made it
-- so until both agree again. A decision is about an edit, and about what was seen of the service for it.

-- Two spellings of one person are one: NFKC, upper and lower case alike, one space, nothing invisible (which Unicode calls
-- Default_Ignorable_Code_Point, and control characters). The letters are folded as ICU folds them, whatever the database's
-- own locale is; lower once more at the beginning, because the capital sharp s is its own upper case.
do $$
begin
  execute format($body$
    create function sync.person(name text) returns text
    language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $sql$
      select nullif(btrim(regexp_replace(
        normalize(lower(upper(lower(normalize(regexp_replace(person.name, '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]', '', 'g'), NFKC) %1$s) %1$s) %1$s), NFKC),
        '\s+', ' ', 'g')), '')
    $sql$ $body$,
    case when exists (select from pg_collation where collname = 'und-x-icu') then 'collate "und-x-icu"' else '' end);
end
$$;
comment on function sync.person(text) is 'The one form in which names of people are compared: NFKC, without case, with single spaces and without invisible characters. NULL: no name.';
grant execute on function sync.person(text) to public;

-- The record by user and statement becomes one by edit.
drop function sync.own_edits(bigint, bigint[]);
drop function sync.last_edits(bigint, bigint[]);
drop trigger users_note_edits on mirror.users;
alter view sync.edits rename to old_edits;

create table sync.edits (
  edit_id     bigint generated always as identity,
  xid         xid8 not null,
  team_id     bigint not null,
  user_id     bigint not null,
  field       text not null check (field in ('name', 'name_split', 'email', 'phone', 'role_id')),
  old_value   jsonb,
  new_value   jsonb,
  old_split   text,
  edited_at   timestamptz not null,
  edited_by   text,
  application text,
  actor       text,
  authors     text[] not null,
  ended_at    timestamptz,
  ended_how   text check (ended_how in ('agreed', 'overruled', 'withdrawn', 'replaced', 'forgotten')),
  check ((ended_at is null) = (ended_how is null)),
  primary key (team_id, xid, edit_id)
);
-- One more index and no third: each of them is paid for by whoever edits ten thousand users in one statement.
create unique index edits_that_last on sync.edits (team_id, user_id, field) where ended_at is null;
comment on table sync.edits is 'Edits of mirror.users, a row each. An edit is one field of one user that the mirror has other than both sides last agreed on: it lasts from the statement that made it so until they agree again.';
comment on index sync.edits_that_last is 'The edit of a field that lasts: there is one at most.';
comment on column sync.edits.edit_id is 'Number of the edit.';
comment on column sync.edits.xid is 'The transaction of the edit: whether a snapshot saw it is known by this, and not by a time.';
comment on column sync.edits.team_id is 'The team.';
comment on column sync.edits.user_id is 'The service''s id of the user.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess, which is recorded and ends at once; email, phone, role_id.';
comment on column sync.edits.old_value is 'The value before; NULL: none.';
comment on column sync.edits.new_value is 'The value after; NULL: none.';
comment on column sync.edits.old_split is 'Of a name: what name_split was before this edit and those that it replaced.';
comment on column sync.edits.edited_at is 'When the statement edited the user.';
comment on column sync.edits.edited_by is 'The role that was connected; NULL: nobody knows, the edit was made past the triggers and found by a run.';
comment on column sync.edits.application is 'What the connection called itself (application_name).';
comment on column sync.edits.actor is 'For whom it was done, where the transaction says so: set_config(''musterd.actor'', …, true).';
comment on column sync.edits.authors is 'Who made it and those that it replaced since both sides agreed, as sync.person() writes names. An empty name: nobody knows.';
comment on column sync.edits.ended_at is 'When it ended; NULL: it lasts.';
comment on column sync.edits.ended_how is 'agreed: both sides have the same. overruled: both sides have the service''s value instead. withdrawn: somebody took it back here. replaced: the next edit of the field took its place. forgotten: the user is nowhere any more.';
alter table sync.edits enable row level security;
create policy seen_teams on sync.edits
  using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
comment on policy seen_teams on sync.edits is 'A role sees and writes the rows of its teams: see mirror.team_roles.';

-- What was recorded so far. The last edit of a field lasts if the mirror has its value, and the base another one.
create temporary table unagreed on commit drop as
select u.team_id, u.id as user_id, f.field, f.base_value, f.mirror_value, u.edited_at
from mirror.users u
join sync.user_base b on b.team_id = u.team_id and b.id = u.id
cross join lateral (values
  ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name), jsonb_build_object('first', u.first_name, 'last', u.last_name)),
  ('email', to_jsonb(b.email), to_jsonb(u.email)),
  ('phone', to_jsonb(b.phone), to_jsonb(u.phone)),
  ('role_id', to_jsonb(b.role_id), to_jsonb(u.role_id))
) as f (field, base_value, mirror_value)
where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
    is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
  and f.base_value is distinct from f.mirror_value;

insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, edited_at, edited_by, application, actor,
  authors, ended_at, ended_how)
select o.xid, o.team_id, o.user_id, o.field, o.old_value, o.new_value, o.edited_at, o.edited_by, o.application, o.actor,
  case when o.lasts then (
    select array_agg(distinct p.name)
    from (
      select e.edit_id, e.edited_by, e.actor, max(e.edit_id) filter (where e.old_value is not distinct from o.base_value) over () as first_id
      from sync.old_edits e where e.team_id = o.team_id and e.user_id = o.user_id and e.field = o.field
    ) e
    cross join lateral (values (sync.person(e.edited_by)), (sync.person(e.actor))) as p (name)
    where p.name is not null and e.edit_id >= coalesce(e.first_id, 0)
  ) else array_remove(array[sync.person(o.edited_by), sync.person(o.actor)], null) end,
  case when not o.lasts then o.edited_at end, case when not o.lasts then 'replaced' end
from (
  select e.*, n.base_value,
    n.user_id is not null and e.new_value is not distinct from n.mirror_value
      and row_number() over (partition by e.team_id, e.user_id, e.field order by e.edit_id desc) = 1 as lasts
  from sync.old_edits e
  left join unagreed n on n.team_id = e.team_id and n.user_id = e.user_id and n.field = e.field
) o
order by o.edit_id, o.field;
insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, edited_at, authors)
select pg_current_xact_id(), n.team_id, n.user_id, n.field, n.base_value, n.mirror_value, coalesce(n.edited_at, now()), '{""}'
from unagreed n
where not exists (
  select from sync.edits e where e.team_id = n.team_id and e.user_id = n.user_id and e.field = n.field and e.ended_at is null);
drop view sync.old_edits;
drop table sync.user_edits;

-- What is held, decided and under way is about these edits.
alter table sync.held_fields add column edit_id bigint, add column seen_version timestamptz;
comment on column sync.held_fields.edit_id is 'The edit that is held; NULL: none, as where a person asked to hold a field, or the service alone has moved.';
comment on column sync.held_fields.seen_version is 'The later of the service''s two versions of the user (updated_at, user_updated_at), as the run saw them that stopped it; NULL: those of the user''s row.';
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it cannot be sent. gone: the user has left. limit: the guard stopped it, alone or in a batch. review: a person wants to see it first. asked: a person asked for it. rejected: a person decided that the edit is not sent; that lasts as long as the edit does, whatever the service does.';
comment on column sync.held_fields.batch is 'What was stopped together: first 12 hex digits of the SHA-256 of its edits, and of what was seen of the service. It stays with the edit for as long as nobody has decided, whatever else holds the field meanwhile; another edit of the field does not inherit it.';
comment on column sync.held_fields.decision is 'approved: the edit passes the limits on a whole run. resolved: it passes those on single fields too. For this edit alone, and as long as the service is as it was seen.';
comment on column sync.held_fields.until is 'A hold that a person asked for ends then, and not before.';
update sync.held_fields h set edit_id = e.edit_id
from sync.edits e
where e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null
  and e.new_value is not distinct from h.mirror_value;
do $$
declare
  undecided bigint;
begin
  update sync.held_fields set decision = null, until = null where decision is not null and until <= clock_timestamp();
  update sync.held_fields set decision = null, until = null where decision is not null and user_id is not null and edit_id is null;
  get diagnostics undecided = row_count;
  update sync.held_fields set until = null where decision is not null;
  if undecided > 0 then
    raise notice '% decisions were about values that are no edits any more: these fields are undecided again', undecided;
  end if;
end
$$;
alter table sync.changes add column edits jsonb;
comment on column sync.changes.edits is 'By field of a push, an approval or a rejection: the edit that it is about. In sync.edits.edit_id.';
update sync.changes c set edits = (
  select jsonb_object_agg(e.field, e.edit_id) from sync.edits e
  where e.team_id = c.team_id and e.user_id = c.user_id and e.ended_at is null
    and c.new ? e.field and nullif(c.new -> e.field, 'null') is not distinct from e.new_value)
where c.state = 'open';

-- Who edits, and who decides.
create or replace function sync.deciding_names() returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when s.actor is null then array[session_user::text]
    when has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then array[s.actor]
    else array[session_user::text, s.actor]
  end
  from (select nullif(btrim(current_setting('musterd.actor', true)), '') as actor) s
$$;

-- Whether an edit was made by whoever decides now. Of an edit without an author only they may say so who cannot have made
-- it. A role whose name is not in the form in which names are compared could be taken for another.
create function sync.is_own(authors text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when session_user::text is distinct from sync.person(session_user::text) then true
    when '' = any (is_own.authors) and has_any_column_privilege(session_user, 'mirror.users', 'UPDATE') then true
    else is_own.authors && (select array_agg(sync.person(n.name)) from unnest(sync.deciding_names()) as n (name))
  end
$$;
comment on function sync.is_own(text[]) is 'Whether whoever decides now is among these authors of an edit, or might be.';

-- A push is under way with this field of the user.
create function sync.is_under_way(team bigint, users bigint, field text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from sync.changes c
    where c.team_id = is_under_way.team and c.user_id = is_under_way.users and c.state = 'open' and c.new ? is_under_way.field
      and coalesce(c.outcome ->> is_under_way.field, 'unknown') = 'unknown')
$$;
comment on function sync.is_under_way(bigint, bigint, text) is 'Whether it is not known yet what became of a push of this field.';

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
  actor       constant text := nullif(current_setting('musterd.actor', true), '');
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
    where h.team_id = w.team_id and h.user_id = w.user_id and h.field = w.field and h.edit_id = w.edit_id and h.reason <> 'asked'
  )
  insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, old_split, edited_at, edited_by, application, actor,
    authors, ended_at, ended_how)
  select xid, j.team_id, j.user_id, j.field, j.old_value, j.new_value, coalesce(j.old_split, j.split),
    clock_timestamp(), editor, application, actor,
    case when j.authors is null then names when j.authors @> names then j.authors
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
comment on function mirror.note_edits() is 'Records what a statement edited, and ends the edits that it took back or replaced: see sync.edits.';
create trigger users_note_edits after update on mirror.users
referencing old table as unedited new table as edited
for each statement when (not mirror.is_musterd()) execute function mirror.note_edits();
comment on trigger users_note_edits on mirror.users is 'Keeps each edit.';

-- What an edit of a name leaves for the check of its row is taken back where there is something: a setting is as dear as a
-- row of sync.edits, and is paid for by each row that is edited.
do $$
declare
  body constant text := pg_get_functiondef('mirror.check_user_edit()'::regprocedure);
  line constant text := E'  perform set_config(''musterd.halves'', '''', true);\n';
begin
  execute replace(body, line, E'  if named <> '''' then\n  ' || line || E'  end if;\n');
end
$$;

-- The edits of these users that both sides agree on by now, and what was held or decided of them.
create function sync.end_edits(team bigint, users bigint[]) returns void
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
  where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field and h.edit_id = d.edit_id and h.reason <> 'asked'
$$;
comment on function sync.end_edits(bigint, bigint[]) is 'Ends the edits of these users that both sides agree on, and what was held or decided of them.';

-- As in mirror.note_edits(): what is asked for each row is asked by its key.
create function sync.note_agreed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  one record;
begin
  for one in
    select a.team_id, array_agg(distinct a.id) as users from agreed a
    cross join lateral (
      select from sync.edits l where l.team_id = a.team_id and l.user_id = a.id and l.ended_at is null offset 0
    ) e
    group by a.team_id
  loop
    perform sync.end_edits(one.team_id, one.users);
  end loop;
  return null;
end
$$;
comment on function sync.note_agreed() is 'Ends the edits that both sides agree on once the base has moved.';
create trigger base_ends_edits after update on sync.user_base
referencing new table as agreed for each statement execute function sync.note_agreed();
create trigger new_base_ends_edits after insert on sync.user_base
referencing new table as agreed for each statement execute function sync.note_agreed();
comment on trigger base_ends_edits on sync.user_base is 'Ends the edits that both sides agree on.';
comment on trigger new_base_ends_edits on sync.user_base is 'Ends the edits of whoever comes back, if both sides agree on them.';
revoke execute on function sync.note_agreed(), mirror.note_edits() from public;

-- What made an edit while the triggers were off has no record: it is found by who holds or sends it.
create function sync.find_edit(team bigint, id bigint, of_field text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  known sync.edits;
  was   jsonb;
  now   jsonb;
begin
  select v.base_value, v.mirror_value into was, now
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values
    ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name), jsonb_build_object('first', u.first_name, 'last', u.last_name)),
    ('email', to_jsonb(b.email), to_jsonb(u.email)),
    ('phone', to_jsonb(b.phone), to_jsonb(u.phone)),
    ('role_id', to_jsonb(b.role_id), to_jsonb(u.role_id))
  ) as v (field, base_value, mirror_value)
  where u.team_id = find_edit.team and u.id = find_edit.id and v.field = of_field;
  select e.* into known from sync.edits e
  where e.team_id = find_edit.team and e.user_id = find_edit.id and e.field = of_field and e.ended_at is null;
  if known.edit_id is not null and known.new_value is not distinct from now then
    return known.edit_id;
  end if;
  if known.edit_id is not null then
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'replaced'
    where e.team_id = find_edit.team and e.user_id = find_edit.id and e.field = of_field and e.ended_at is null;
  end if;
  if now is not distinct from was then
    return null;
  end if;
  insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, old_split, edited_at, authors)
  values (pg_current_xact_id(), find_edit.team, find_edit.id, of_field, case when known.edit_id is null then was else known.new_value end,
    now, known.old_split, clock_timestamp(), array_remove(known.authors, '') || '{""}')
  returning edit_id into known.edit_id;
  return known.edit_id;
end
$$;
comment on function sync.find_edit(bigint, bigint, text) is 'The edit of this field that lasts; recorded now, without an author, if it was made past the triggers. NULL: both sides agree.';
