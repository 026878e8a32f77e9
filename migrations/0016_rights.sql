-- Who is believed to be musterd, what an editor can not do, and where names in functions are looked up.
--
-- Names: every function looks them up in pg_catalog alone. A name without a schema is looked up along the
-- search_path of the session, and a function of public that fits a call better than Postgres's own, such as
-- public.concat(text, text), would run in its place: in musterd's own updates, with the rights of the owner.
-- Views, policies and bodies of "begin atomic" are bound when they are made, and need no path of their own.

alter function mirror.name_words(text) set search_path = pg_catalog, pg_temp;

-- Anybody can set musterd.writing. It counts for those who can write the bookkeeping: the owner of the tables, and
-- the role of a daemon. Whoever may write down what both sides agreed on needs no trigger to pass. The triggers ask
-- this in their conditions, which run with the rights of whoever writes, and cost musterd no call of a function.
create function mirror.is_musterd() returns boolean
language sql stable parallel safe
begin atomic
  select current_setting('musterd.writing', true) is not distinct from 'on'
    and has_table_privilege('sync.user_base'::regclass, 'update');
end;
comment on function mirror.is_musterd() is 'Whether this is a transaction of musterd: it says so, and its role may write the bookkeeping.';
grant execute on function mirror.is_musterd() to public;

create or replace function mirror.note_half() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('musterd.halves', concat(current_setting('musterd.halves', true), tg_argv[0]), true);
  return new;
end
$$;

-- Reads the bookkeeping, which editors may not: so it runs as its owner, and nobody else may hang it on a table.
create or replace function mirror.check_user_edit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  longest     constant integer := 262144; -- src/model/longest-text.ts
  named       text := coalesce(current_setting('musterd.halves', true), '');
  first_waits boolean;
  last_waits  boolean;
  waits       boolean;
  changes     boolean;
  is_held     boolean;
begin
  perform set_config('musterd.halves', '', true);

  if (new.team_id, new.id, new.name, new.role, new.created_at, new.updated_at, new.user_created_at,
      new.user_updated_at, new.resolved, new.gone_at, new.raw)
     is distinct from
     (old.team_id, old.id, old.name, old.role, old.created_at, old.updated_at, old.user_created_at,
      old.user_updated_at, old.resolved, old.gone_at, old.raw) then
    raise exception 'Only first_name, last_name, name_split, email, phone and role_id of mirror.users can be edited'
      using errcode = 'check_violation',
            hint = 'The service gives no way to change the other columns. To change a name, set first_name and last_name.';
  end if;

  new.first_name := coalesce(new.first_name, '');
  new.last_name := coalesce(new.last_name, '');
  -- Both halves are set: each is named by this statement, or was changed by an edit that still waits. A statement
  -- that changes no name counts if something waits for it. A program that always writes all columns accepts nothing.
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
    if length(new.first_name) + 1 + length(new.last_name) > longest then
      raise exception 'The name of user % is longer than % characters', new.id, longest
        using errcode = 'check_violation', hint = 'No run could read it back from the service.';
    end if;
    if mirror.name_words(new.first_name || ' ' || new.last_name) = 0 then
      raise exception 'User % needs a first name or a last name', new.id
        using errcode = 'check_violation', hint = 'The service does not take an empty name.';
    end if;
    if new.name_split = 'guessed' and mirror.name_words(old.name) > 2 then
      raise warning 'Which words of "%" are the first name is a guess, so this edit of one half waits', old.name
        using hint = 'Set first_name and last_name together, or set name_split = ''known''.';
    end if;
  end if;

  if new.email is distinct from old.email then
    if btrim(coalesce(new.email, '')) = '' then
      raise exception 'The email of user % can not be emptied', new.id
        using errcode = 'check_violation', hint = 'The service gives no way to remove an email address; set another one.';
    end if;
    if length(new.email) > longest then
      raise exception 'The email of user % is longer than % characters', new.id, longest
        using errcode = 'check_violation', hint = 'No run could read it back from the service.';
    end if;
    if new.email !~ '^\S+@\S+$' then
      raise exception '"%" is not an email address', left(new.email, 100) using errcode = 'check_violation';
    end if;
  end if;

  if new.phone is distinct from old.phone then
    new.phone := nullif(btrim(new.phone), '');
  end if;
  if new.phone is distinct from old.phone and new.phone !~ '^\+?[1-9][0-9]{1,14}$' then
    raise exception '"%" is not a phone number in E.164 form', left(new.phone, 100)
      using errcode = 'check_violation', hint = 'Write the country code and the number as digits alone, such as 15550100.';
  end if;

  if new.role_id is null and old.role_id is not null then
    raise exception 'The role of user % can not be emptied', new.id
      using errcode = 'check_violation', hint = 'Set another role_id.';
  end if;

  if (new.first_name, new.last_name, new.name_split, new.email, new.phone, new.role_id)
     is distinct from (old.first_name, old.last_name, old.name_split, old.email, old.phone, old.role_id) then
    new.edited_at := clock_timestamp();
    new.edited_by := session_user;
  else
    new.edited_at := old.edited_at;
    new.edited_by := old.edited_by;
  end if;
  return new;
end
$$;
revoke execute on function mirror.check_user_edit() from public;

create or replace trigger a_first_half before update of first_name on mirror.users
  for each row when (not mirror.is_musterd()) execute function mirror.note_half('first');
create or replace trigger b_last_half before update of last_name on mirror.users
  for each row when (not mirror.is_musterd()) execute function mirror.note_half('last');
create or replace trigger check_user_edit before update on mirror.users
  for each row when (not mirror.is_musterd()) execute function mirror.check_user_edit();

create or replace function mirror.refuse_edit() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception '% on %.% is not possible: the service gives no way to do the same', tg_op, tg_table_schema, tg_table_name
    using errcode = 'feature_not_supported', hint = tg_argv[0];
end
$$;

-- Asked once a statement: what is refused is refused whatever the rows.
drop trigger refuse_insert_or_delete on mirror.users;
create trigger refuse_insert_or_delete before insert or delete on mirror.users
  for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Users are created and removed in the service''s web app; the next run brings them here.');
create or replace trigger refuse_truncate before truncate on mirror.users
  for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Users are created and removed in the service''s web app.');
do $$
declare
  place text;
  what  text;
begin
  for place, what in values ('tags', 'Tags'), ('contact_fields', 'Contact fields'), ('teams', 'Teams'), ('contact_counts', 'Contact counts') loop
    execute format('drop trigger refuse_edit on mirror.%I', place);
    execute format('create trigger refuse_edit before insert or update or delete on mirror.%I
      for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit(%L)', place, what || ' are read-only here.');
    execute format('create or replace trigger refuse_truncate before truncate on mirror.%I
      for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit(%L)', place, what || ' are read-only here.');
  end loop;
end
$$;

-- Anybody who may connect can listen. So a notification names a team by a random key, which nobody can read but
-- who may read the bookkeeping of that team.
alter table sync.teams add column edit_key uuid not null unique default gen_random_uuid();
comment on column sync.teams.edit_key is 'What the team is called in notifications of edits (musterd_edits), so that they tell others nothing of it.';

create or replace function mirror.tell_of_edits() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('musterd_edits', t.edit_key::text)
  from sync.teams t where t.team_id in (select e.team_id from edited e);
  return null;
end
$$;
revoke execute on function mirror.tell_of_edits() from public;

drop trigger users_tell_of_edits on mirror.users;
create trigger users_tell_of_edits after update on mirror.users
referencing new table as edited
for each statement when (not mirror.is_musterd()) execute function mirror.tell_of_edits();

-- Changing a phone number should not imply making administrators: roles have a right of their own.
do $$
begin
  if not exists (select from pg_roles where rolname = 'musterd_role_editor') then
    create role musterd_role_editor nologin;
  end if;
exception
  when insufficient_privilege then
    raise notice 'musterd_role_editor was not created: this role may not create roles';
  when duplicate_object or unique_violation then
    null; -- another database of this server was migrated in the same moment
end
$$;

do $$
begin
  if exists (select from pg_roles where rolname = 'musterd_role_editor') then
    grant usage on schema mirror, report to musterd_role_editor;
    grant select on all tables in schema mirror, report to musterd_role_editor;
    grant update (role_id) on mirror.users to musterd_role_editor;
  end if;
  if exists (select from pg_roles where rolname = 'musterd_editor') then
    revoke update (role_id) on mirror.users from musterd_editor;
  end if;
end
$$;

-- The number of a lookup counts those of all teams, so people do without it.
do $$
declare
  person text;
begin
  for person in select rolname from pg_roles where rolname in ('musterd_reader', 'musterd_editor', 'musterd_role_editor') loop
    execute format('revoke select, insert on mirror.user_lookups from %I', person);
    execute format('grant select (team_id, email, phone, added_at) on mirror.user_lookups to %I', person);
  end loop;
  if exists (select from pg_roles where rolname = 'musterd_editor') then
    grant insert (team_id, email, phone) on mirror.user_lookups to musterd_editor;
  end if;
end
$$;
comment on column mirror.users.role_id is 'The service''s id of the user''s role. Writable, with a right of its own (musterd_role_editor).';
