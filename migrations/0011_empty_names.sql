-- A name of nothing but white space is no name, whatever kind of white space it is. These are the characters
-- at which src/model/name.ts cuts a name into words; what [[:space:]] stands for depends on the locale of the
-- database, and seldom has the no-break spaces in it.

create function mirror.name_words(name text) returns integer
language sql immutable strict parallel safe as $$
  select count(*)::integer
  from regexp_split_to_table(name,
    '[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+') as w (word)
  where word <> ''
$$;
comment on function mirror.name_words(text) is 'How many words a name has; 0 for one of nothing but white space.';

create or replace function mirror.check_user_edit() returns trigger
language plpgsql as $$
declare
  halves boolean := current_setting('musterd.halves', true) like '%first%last%';
begin
  perform set_config('musterd.halves', '', true);
  if current_setting('musterd.writing', true) = 'on' then
    return new;
  end if;

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
  if halves and (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name) then
    new.name_split := 'known';
  end if;
  if (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name) then
    if mirror.name_words(new.first_name || ' ' || new.last_name) = 0 then
      raise exception 'User % needs a first name or a last name', new.id
        using errcode = 'check_violation', hint = 'The service does not take an empty name.';
    end if;
    if new.name_split = 'guessed' and mirror.name_words(old.name) > 2 then
      raise warning 'Which words of "%" are the first name is a guess, so this edit of one half waits', old.name
        using hint = 'Set first_name and last_name together, or set name_split = ''known''.';
    end if;
  end if;

  if new.email is distinct from old.email and btrim(coalesce(new.email, '')) = '' then
    raise exception 'The email of user % can not be emptied', new.id
      using errcode = 'check_violation', hint = 'The service gives no way to remove an email address; set another one.';
  end if;
  if new.email is distinct from old.email and new.email !~ '^\S+@\S+$' then
    raise exception '"%" is not an email address', new.email using errcode = 'check_violation';
  end if;

  if new.phone is distinct from old.phone then
    new.phone := nullif(btrim(new.phone), '');
  end if;
  if new.phone is distinct from old.phone and new.phone !~ '^\+?[1-9][0-9]{1,14}$' then
    raise exception '"%" is not a phone number in E.164 form', new.phone
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
comment on function mirror.check_user_edit() is 'Refuses edits of a user that could never reach the service, and stamps the others.';
