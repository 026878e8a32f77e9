-- Each update of users takes a number of a sequence, even if it is rolled back. So sync.settled() detects failed updates.
create or replace function mirror.note_half() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform nextval('sync.edits_edit_id_seq') where tg_argv[0] = 'none';
  perform set_config('musterd.halves', case when tg_argv[0] <> 'none' then concat(current_setting('musterd.halves', true), tg_argv[0]) end, true);
  return null;
end
$$;
comment on function mirror.note_half() is 'Records which halves of the name a statement sets.';

-- An email or role may be emptied only if base has it empty, so that this takes back an edit. The base is read only if a
-- value was emptied, because a query in a condition would run for each edited row.
create or replace function mirror.check_user_edit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- A limit, because each edit is stored several times. The service may send longer texts (src/model/longest-text.ts).
  longest     constant integer := 300;
  around      constant text := '^[\s\u00a0]+|[\s\u00a0]+$';
  named       text := coalesce(current_setting('musterd.halves', true), '');
  first_waits boolean;
  last_waits  boolean;
  waits       boolean;
  changes     boolean;
  is_held     boolean;
  country     text;
begin
  if (new.team_id, new.id, new.name, new.role, new.created_at, new.updated_at, new.user_created_at,
      new.user_updated_at, new.resolved, new.gone_at, new.raw)
     is distinct from
     (old.team_id, old.id, old.name, old.role, old.created_at, old.updated_at, old.user_created_at,
      old.user_updated_at, old.resolved, old.gone_at, old.raw) then
    raise exception 'Only first_name, last_name, name_split, email, phone and role_id of mirror.users can be edited'
      using errcode = 'check_violation',
            hint = 'The service cannot change other columns. To change a name, set first_name and last_name.';
  end if;

  new.first_name := coalesce(new.first_name, '');
  new.last_name := coalesce(new.last_name, '');
  -- A guessed split becomes known if both halves are set, each by this statement or by an earlier edit that still waits.
  -- If neither half changes, an edit or hold must be waiting. Else programs that always write all columns accept guesses.
  if named <> '' and new.name_split = 'guessed' then
    changes := (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name);
    select new.first_name <> b.first_name, new.last_name <> b.last_name into first_waits, last_waits
    from sync.user_base b where b.team_id = new.team_id and b.id = new.id and b.name <> '';
    waits := coalesce(first_waits or last_waits, false);
    is_held := not changes and not waits and exists (
      select from sync.held_fields h
      where h.team_id = new.team_id and h.user_id = new.id and h.reason = 'unsupported'
    );
    if (named like '%first%' or first_waits) and (named like '%last%' or last_waits) and (changes or waits)
       or is_held then
      new.name_split := 'known';
    end if;
  end if;
  if (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name) then
    if new.first_name <> old.first_name and length(new.first_name) > longest
       or new.last_name <> old.last_name and length(new.last_name) > longest then
      raise exception 'The first or last name of user % is longer than % characters', new.id, longest
        using errcode = 'check_violation', hint = 'Only names read from the service may be longer.';
    end if;
    if mirror.name_words(new.first_name || ' ' || new.last_name) = 0 then
      raise exception 'User % needs a first name or a last name', new.id
        using errcode = 'check_violation', hint = 'The service does not accept an empty name.';
    end if;
    if new.name_split = 'guessed' and mirror.name_words(old.name) > 2 then
      raise warning 'Which words of "%" are the first name is a guess, so this edit of one half waits', old.name
        using hint = 'Set first_name and last_name together, or set name_split = ''known''.';
    end if;
  end if;

  if new.email is distinct from old.email then
    new.email := regexp_replace(new.email, around, '', 'g');
    if coalesce(new.email, '') = '' then
      if new.email is not null or not exists (
        select from sync.user_base b where b.team_id = new.team_id and b.id = new.id and b.email is null) then
        raise exception 'The email of user % cannot be emptied', new.id
          using errcode = 'check_violation', hint = 'The service cannot remove an email address; set another address.';
      end if;
    end if;
    if length(new.email) > 320 then
      raise exception 'The email of user % is longer than 320 characters', new.id
        using errcode = 'check_violation', hint = 'No valid address is longer.';
    end if;
    if new.email !~ '^\S+@\S+$' then
      raise exception '"%" is not an email address', left(new.email, 100) using errcode = 'check_violation';
    end if;
  end if;

  if new.phone is distinct from old.phone then
    new.phone := nullif(regexp_replace(new.phone, around, '', 'g'), '');
    -- The country code is not checked if a command of musterd writes the phone, because the command has added the code.
    select t.phone_country into country from sync.teams t where t.team_id = new.team_id and current_setting('musterd.writing', true) is distinct from 'off';
    if new.phone is distinct from old.phone and (new.phone !~ '^\+?[1-9][0-9]{1,14}$' or new.phone !~ ('^(\+|' || country || ')')) then
      raise exception '"%" is not a phone number in E.164 form', left(new.phone, 100) using errcode = 'check_violation',
        hint = 'Write the country code and the number as digits alone, such as 15550100.' || coalesce(' Digits without a plus sign begin with ' || country || ' here (phones.country of the settings).', '');
    end if;
  end if;

  if new.role_id is null and old.role_id is not null then
    if not exists (select from sync.user_base b where b.team_id = new.team_id and b.id = new.id and b.role_id is null) then
      raise exception 'The role of user % cannot be emptied', new.id
        using errcode = 'check_violation', hint = 'Set another role_id.';
    end if;
  end if;

  if (new.name_split, {columns new.COLUMN}) is distinct from (old.name_split, {columns old.COLUMN}) then
    new.edited_at := clock_timestamp();
    new.edited_by := session_user;
  else
    new.edited_at := old.edited_at;
    new.edited_by := old.edited_by;
  end if;
  return new;
end
$$;
comment on function mirror.check_user_edit() is 'Refuses edits of a user that could never reach the service, and adds time and editor to all other edits.';

create or replace function mirror.refuse_edit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform nextval('sync.edits_edit_id_seq');
  raise exception '% on %.% is not possible: %', tg_op, tg_table_schema, tg_table_name, coalesce(tg_argv[1], 'the service gives no way to do the same')
    using errcode = 'feature_not_supported', hint = tg_argv[0];
end
$$;
comment on function mirror.refuse_edit() is 'Refuses statements that have no counterpart on the service.';

create or replace function mirror.words(name text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select array_remove(regexp_split_to_array(normalize(coalesce(name, '')),
    '[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+'), '')
$$;
comment on function mirror.words(text) is 'The words of a name, in NFC.';

create or replace function mirror.split_name(name text) returns jsonb
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('first', array_to_string(w.words[:greatest(cardinality(w.words) - 1, 1)], ' '),
    'last', case when cardinality(w.words) > 1 then w.words[cardinality(w.words)] else '' end)
  from (select mirror.words(name) as words) w
$$;
comment on function mirror.split_name(text) is 'The halves of a name that the service joins: the last word is the last name.';

create or replace function mirror.name_words(name text) returns integer
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select cardinality(mirror.words(name))
$$;
comment on function mirror.name_words(text) is 'How many words a name has; 0 if it has only white space.';

-- Transition tables have no statistics, and sync.edits grows while it is read. A nested loop over two transition tables, or
-- a scan of sync.edits for each row, would take seconds for 10,000 rows. So rows are looked up by key, and edits that end
-- are looked up by ctid. Edits that have not ended are found by ended_how, because by ended_at Postgres would choose a slow
-- index that looks cheap. The function runs as its owner, because editors cannot write to the schema sync.
create or replace function mirror.note_edits() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_nestloop = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  unknown     record;
  xid         constant xid8 := pg_current_xact_id();
  editor      constant text := session_user;
  application constant text := nullif(current_setting('application_name'), '');
  actor       constant text := sync.actor();
  -- Other levels may not see a push under way. With these, an edit that is taken back lasts until the next run ends it.
  sees_pushes constant boolean := current_setting('transaction_isolation') = 'read committed';
  names       constant text[] := array_remove(array[sync.person(editor), sync.person(actor)], null);
begin
  with changed as materialized (
    select n.team_id, n.id as user_id, o.name_split as old_split, n.name_split, b.id is not null as is_known,
      {columns o.COLUMN as old_COLUMN}, {columns n.COLUMN as new_COLUMN}, {columns b.COLUMN as base_COLUMN}
    from edited n
    join unedited o on o.team_id = n.team_id and o.id = n.id
    left join lateral (
      select s.id, {columns s.COLUMN} from sync.user_base s where s.team_id = n.team_id and s.id = n.id offset 0
    ) b on true
    where (n.name_split, {columns n.COLUMN}) is distinct from (o.name_split, {columns o.COLUMN})
  ),
  touched as (
    {selects select c.team_id, c.user_id, FIELD as field, case FIELD when 'name' then c.old_split end as split,
      VALUE(c.old_) as old_value, VALUE(c.new_) as new_value, (COLUMNS(c.new_)) is not distinct from (COLUMNS(c.base_)) as is_agreed,
      c.is_known and (COLUMNS(c.old_)) is distinct from (COLUMNS(c.base_)) as was_other
    from changed c where (COLUMNS(c.new_)) is distinct from (COLUMNS(c.old_))}
    union all
    select c.team_id, c.user_id, 'name_split', null, to_jsonb(c.old_split), to_jsonb(c.name_split), false, false
    from changed c where c.name_split is distinct from c.old_split
  ),
  judged as materialized (
    select t.*, e.place, e.old_split,
      -- If the old value is not the recorded value, it was written while the triggers were off: '' is its unknown author.
      e.authors || case when case when e.place is null then t.was_other else t.old_value is distinct from e.new_value end
        then array[''] end as authors,
      t.is_agreed and sees_pushes and not exists (
        select from sync.changes c -- as sync.is_under_way(), which would be called for each row
        where c.team_id = t.team_id and c.user_id = t.user_id and c.state = 'open' and c.new ? t.field
          and (coalesce(c.outcome ->> t.field, 'unknown') = 'unknown' or c.closed_at is not null)
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
    where h.team_id = w.team_id and h.user_id = w.user_id and h.field = w.field and h.edit_id <= w.edit_id and coalesce(h.until <= clock_timestamp(), true)
  ),
  noted as (
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
    where (select count(*) from withdrawn) + (select count(*) from replaced) >= 0 -- the old edits must end before the new ones are inserted
    returning team_id, user_id, field, edit_id, new_value, ended_at
  )
  -- Holds phones whose country an import did not know, because an approver has to agree to them.
  insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, detail)
  select n.team_id, n.user_id, n.field, n.edit_id, 'limit', to_jsonb(c.base_phone), n.new_value, to_jsonb(c.base_phone), to_jsonb(c.base_phone), u.why
  from noted n
  join changed c on c.team_id = n.team_id and c.user_id = n.user_id
  join jsonb_each_text(nullif(current_setting('musterd.unsure', true), '')::jsonb) u (id, why) on u.id = n.user_id::text
  where n.field = 'phone' and n.ended_at is null and current_setting('musterd.unsure', true) <> ''
  on conflict (team_id, user_id, field) do update set (edit_id, reason, base_value, mirror_value, service_value, shown_value, detail, alone, batch, decision)
    = (excluded.edit_id, 'limit', excluded.base_value, excluded.mirror_value, excluded.service_value, excluded.shown_value, excluded.detail, false, null, null);

  -- The session calls sync.settled() after the commit, which reads this setting. A rollback also undoes the setting.
  perform set_config('musterd.last_edit', concat_ws(' ', pg_current_xact_id(), nextval('sync.edits_edit_id_seq')), false);

  for unknown in
    select n.team_id, string_agg(distinct n.role_id::text, ', ') as ids, k.known
    from edited n
    join unedited o on o.team_id = n.team_id and o.id = n.id and o.role_id is distinct from n.role_id
    join (select r.team_id, array_agg(r.role_id) as roles, string_agg(r.role_id || coalesce(' (' || r.name || ')', ''), ', ' order by r.role_id) as known
      from mirror.roles r where r.gone_at is null group by r.team_id) k on k.team_id = n.team_id and n.role_id <> all (k.roles)
    group by n.team_id, k.known
  loop
    raise warning 'No user of team % has the role %: the service may not know it', unknown.team_id, unknown.ids
      using hint = 'Roles of the users: ' || unknown.known || '.';
  end loop;
  -- A listening daemon receives this on commit.
  perform pg_notify('musterd_edits', t.edit_key::text)
  from sync.teams t where t.team_id in (select e.team_id from edited e);
  return null;
end
$$;
comment on function mirror.note_edits() is 'Records each field that a statement edited, and ends earlier edits that the statement took back or replaced: see sync.edits. Notifies a listening daemon.';

create or replace function sync.is_under_way(team bigint, users bigint, field text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from sync.changes c
    where c.team_id = is_under_way.team and c.user_id = is_under_way.users and c.state = 'open' and c.new ? is_under_way.field
      and (coalesce(c.outcome ->> is_under_way.field, 'unknown') = 'unknown' or c.closed_at is not null))
$$;
comment on function sync.is_under_way(bigint,bigint,text) is 'True if a push of this field is open, and its outcome is unknown or not written to the mirror yet.';

create or replace function sync.end_edits(team bigint, users bigint[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with ended as (
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'agreed'
    from mirror.users u
    join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    cross join lateral (values {fields (FIELD, VALUE(u.), VALUE(b.))}) as f (field, mirror_value, base_value)
    where e.team_id = end_edits.team and e.user_id = any (end_edits.users) and e.ended_at is null
      and u.team_id = e.team_id and u.id = e.user_id and f.field = e.field and f.mirror_value is not distinct from f.base_value
      and not sync.is_under_way(e.team_id, e.user_id, e.field)
    returning e.team_id, e.user_id, e.field, e.edit_id
  )
  delete from sync.held_fields h using ended d
  where h.team_id = d.team_id and h.user_id = d.user_id and h.field = d.field and h.edit_id = d.edit_id and coalesce(h.until <= clock_timestamp(), true)
$$;
comment on function sync.end_edits(bigint,bigint[]) is 'Ends the edits of these users on which both sides agree, with their holds and decisions.';

-- Rows are looked up by key, for the reasons given at mirror.note_edits().
create or replace function sync.note_agreed() returns trigger
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
comment on function sync.note_agreed() is 'Ends the edits whose value the base now has, after the base was changed.';

-- Also records an edit that was made while the triggers were off: such an edit has no record until it is held or sent.
create or replace function sync.find_edit(team bigint, id bigint, of_field text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  known sync.edits;
  was   jsonb;
  now   jsonb;
begin
  select v.base_value, v.mirror_value into was, now
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values {fields (FIELD, VALUE(b.), VALUE(u.))}) as v (field, base_value, mirror_value)
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
comment on function sync.find_edit(bigint,bigint,text) is 'The edit of this field that has not ended. If it was made while the triggers were off, it is recorded now, without an author. NULL: there is no edit, because mirror and base agree.';

-- Editors get this function instead of the right to delete rows, because a role that may delete from a table, or update,
-- truncate or maintain it as a whole, can also lock the table against all other sessions for any length of time.
create or replace function mirror.forget_lookups(team bigint, addresses text[]) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with forgotten as (
    delete from mirror.user_lookups l
    where l.team_id = forget_lookups.team and sync.session_sees(l.team_id)
      and (l.email = any (forget_lookups.addresses) or l.phone = any (forget_lookups.addresses))
    returning true
  )
  select count(*) from forgotten
$$;
comment on function mirror.forget_lookups(bigint,text[]) is 'Removes these email addresses and phone numbers of a team from mirror.user_lookups, and returns the number of removed rows.';

-- Limits the disk space that the editors of one team can fill for all teams. Transactions that add rows at the same time do
-- not see each other's rows, so together they can exceed the limit.
create or replace function mirror.bound_lookups() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  most constant int := 200000;
  team bigint;
begin
  for team in select distinct a.team_id from added a loop
    perform from mirror.user_lookups l where l.team_id = team offset most limit 1;
    if found then
      raise exception 'Team % would have more than 200,000 addresses in mirror.user_lookups', team
        using errcode = 'program_limit_exceeded', hint = 'Use mirror.forget_lookups() to remove addresses that nobody needs.';
    end if;
  end loop;
  return null;
end
$$;
comment on function mirror.bound_lookups() is 'Refuses to add more addresses than a team may have.';

create or replace trigger bound_lookups after insert on mirror.user_lookups
referencing new table as added for each statement execute function mirror.bound_lookups();
comment on trigger bound_lookups on mirror.user_lookups is 'A team has at most 200,000 rows.';

create or replace trigger a_no_half before update on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('none');
comment on trigger a_no_half on mirror.users is 'Clears the record of which halves of a name the previous statement set.';

create or replace trigger b_first_half before update of first_name on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('first');
comment on trigger b_first_half on mirror.users is 'Records that a statement sets the first name.';

create or replace trigger c_last_half before update of last_name on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.note_half('last');
comment on trigger c_last_half on mirror.users is 'Records that a statement sets the last name.';

create or replace trigger check_user_edit before update on mirror.users
  for each row when (not mirror.is_musterd()) execute function mirror.check_user_edit();
comment on trigger check_user_edit on mirror.users is 'Refuses edits that could never reach the service.';

create or replace trigger refuse_insert_or_delete before insert or delete on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Users are created and removed in the service''s web app; the next run brings them here. To edit one: update mirror.users set … where id = ….');

create or replace trigger refuse_truncate before truncate on mirror.users
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Users are created and removed in the service''s web app.');

create or replace trigger users_note_edits after update on mirror.users
referencing old table as unedited new table as edited
for each statement when (not mirror.is_musterd()) execute function mirror.note_edits();
comment on trigger users_note_edits on mirror.users is 'Records each edit.';

create or replace trigger base_ends_edits after update on sync.user_base
referencing new table as agreed for each statement execute function sync.note_agreed();
comment on trigger base_ends_edits on sync.user_base is 'Ends the edits that both sides agree on.';

create or replace trigger new_base_ends_edits after insert on sync.user_base
referencing new table as agreed for each statement execute function sync.note_agreed();
comment on trigger new_base_ends_edits on sync.user_base is 'Ends the edits of users who come back, if both sides agree on them.';

-- Tables that follow the service are read-only.
do $$
declare
  place text;
  what  text;
  instead text;
  why   text;
begin
  for place, instead, why in
    select t, case t when 'tags' then ': "musterd tag create <name>" makes one, at once' else '' end,
      case t when 'tags' then ', ''it follows the service, and musterd tag create makes a tag''' else '' end from mirror.listed_tables() t
    union all values ('contact_counts', '', ''), ('teams', '', ''), ('roles', ': a user gets another one by role_id of mirror.users', '')
  loop
    what := upper(left(place, 1)) || replace(substr(place, 2), '_', ' ');
    execute format('create or replace trigger refuse_edit before insert or update or delete on mirror.%I
      for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit(%L%s)', place, what || ' are read-only here' || instead || '.', why);
    execute format('create or replace trigger refuse_truncate before truncate on mirror.%I
      for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit(%L)', place, what || ' are read-only here.');
  end loop;
end
$$;
