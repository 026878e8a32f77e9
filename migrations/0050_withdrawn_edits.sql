-- An email or a role where both sides last agreed on none is an edit that has not reached the service: whoever made it may
-- take it back. Asked only where a value was emptied: a query in a condition is paid for by each row that is edited. As in
-- 0016 otherwise.
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
      if new.email is not null or not exists (
        select from sync.user_base b where b.team_id = new.team_id and b.id = new.id and b.email is null) then
        raise exception 'The email of user % can not be emptied', new.id
          using errcode = 'check_violation', hint = 'The service gives no way to remove an email address; set another one.';
      end if;
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
    if not exists (
      select from sync.user_base b where b.team_id = new.team_id and b.id = new.id and b.role_id is null) then
      raise exception 'The role of user % can not be emptied', new.id
        using errcode = 'check_violation', hint = 'Set another role_id.';
    end if;
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
